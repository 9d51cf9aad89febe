use proptest::prelude::*;

use super::*;

fn reviewer() -> NewAgent {
    NewAgent { name: "code-reviewer".to_owned(), ..NewAgent::default() }
}

// M-08, M-09: what is made is what a file of ours looks like.
#[test]
fn a_new_file_says_what_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let agents = folder.path().join(".contexture/agents");
    let agent = NewAgent {
        title: "Reviewer: \"strict\"".to_owned(),
        description: "Reads code.\nSays what is wrong.".to_owned(),
        model: Some("anthropic/claude-sonnet-4-5".to_owned()),
        context_mode: Some(ContextMode::Shared),
        group: Some("quality".to_owned()),
        tools: ToolRules {
            allow: Some(vec!["read_file".to_owned(), "mcp__git__*".to_owned()]),
            deny: vec!["write_file".to_owned()],
        },
        system_prompt: "Be kind.\n---\nBe exact.".to_owned(),
        ..reviewer()
    };
    let path = create(&agent, &agents).unwrap();
    assert_eq!(path, agents.join("code-reviewer.md"));
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap(), @r#"
    ---
    kind: agent
    name: code-reviewer
    title: "Reviewer: \"strict\""
    description: "Reads code.\nSays what is wrong."
    model: anthropic/claude-sonnet-4-5
    contextMode: shared
    contextGroup: quality
    tools:
      allow: [read_file, "mcp__git__*"]
      deny: [write_file]
    ---

    Be kind.
    ---
    Be exact.
    "#);
    let parsed = super::super::read(&path, Scope::Project);
    assert_eq!(parsed.problems, []);
    let definition = parsed.definition.unwrap();
    assert_eq!(definition.title, agent.title);
    assert_eq!(definition.description, agent.description);
    assert_eq!(definition.system_prompt, agent.system_prompt);
    assert_eq!(definition.context_group.as_deref(), Some("quality"));
    let names: Vec<_> =
        fs::read_dir(&agents).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["code-reviewer.md"]);
}

#[test]
fn nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = create(&reviewer(), folder.path()).unwrap();
    let before = fs::read_to_string(&path).unwrap();
    let again = NewAgent { title: "Other".to_owned(), ..reviewer() };
    let error = create(&again, folder.path()).unwrap_err();
    assert!(matches!(error, AgentsError::Conflict { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_no_file_can_hold_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(300);
    for agent in [
        NewAgent { name: "../evil".to_owned(), ..NewAgent::default() },
        NewAgent { name: "system".to_owned(), ..NewAgent::default() },
        NewAgent { name: "Code Reviewer".to_owned(), ..NewAgent::default() },
        NewAgent { title: "two\nlines".to_owned(), ..reviewer() },
        NewAgent { title: long, ..reviewer() },
        NewAgent { group: Some("No Group".to_owned()), ..reviewer() },
        NewAgent {
            tools: ToolRules { allow: Some(vec!["WebFetch".to_owned()]), deny: Vec::new() },
            ..reviewer()
        },
    ] {
        assert!(create(&agent, folder.path()).is_err(), "{agent:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

proptest! {
    // Whatever the texts, the file is read back without complaint and says the same.
    #[test]
    fn every_text_comes_back(
        title in "[^\\p{C}]{1,40}|[-:#'\"\\[\\]{}&*!|>%@`, ?a\u{2028}\u{feff}]{1,12}|yes|null|1\\.0|~",
        description in "(?s).{0,60}",
        prompt in "(?s).{0,60}",
    ) {
        let agent = NewAgent { title: title.clone(), description: description.clone(), system_prompt: prompt, ..reviewer() };
        if let Ok(title) = title.parse::<PageName>() {
            let (text, definition) = agent.text().unwrap();
            prop_assert_eq!(&definition.title, title.as_str(), "{}", text);
            prop_assert_eq!(&definition.description, description.trim(), "{}", text);
        }
    }
}
