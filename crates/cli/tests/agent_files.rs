//! `agents list`, `show`, `validate` and `create`.

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::{agent_support::Stage, support::error};

fn stage() -> Stage {
    let stage = Stage::openai([]);
    let folder = stage.sandbox.path().join(".claude/agents");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("tester.md"),
        "---\nname: tester\ndescription: Runs tests\ntools: Read, Bash\nmodel: sonnet\nmood: calm\n---\nTest.\n",
    )
    .unwrap();
    stage.agent(
        "bad",
        "---\nkind: agent\nname: bad\ntitle: Bad\ncontextMode: sharde\ntols:\n  allow: [grep]\n---\nx\n",
    );
    stage.agent("worse", "---\nname: [\n---\n");
    stage.agent(
        "writer",
        "---\nkind: agent\nname: writer\ntitle: Writer\ndescription: Writes docs\nmodel: haiku\n\
         contextGroup: docs\ncontextFilter:\n  agents: [user, bug-fixer]\n  maxAge: 7d\n\
         tools:\n  deny: [write_file]\nmaxTurns: 7\ntemperature: 0.2\nversion: 1.2.3\nmood: calm\n---\n\
         Write well.\n\nAnd short.\n",
    );
    stage
}

// M-41: one bad file hides nothing but itself.
#[test]
fn the_list() {
    let stage = stage();
    stage.text(&["agents", "context", "bug-fixer", "--mode", "isolated"]);
    let ran = stage.run(&["agents", "list"]);
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!(format!("{}────\n{}", ran.out, ran.err));
    let ran = stage.run(&["--json", "agents", "list"]);
    let list: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(list["next"], Value::Null);
    assert_eq!(
        list["items"][0],
        json!({
            "name": "bug-fixer",
            "title": "Bug Fixer",
            "description": "",
            "mode": "isolated",
            "modeDecidedBy": "session override",
            "model": "openai/gpt-4o",
            "modelDecidedBy": "project settings .contexture/settings.json",
            "dialect": "contexture",
            "scope": "project",
            "file": ".gemini/agents/bug-fixer.md",
        })
    );
    // It needs no session.
    let ran = stage.run(&["--session", "none", "agents", "list"]);
    assert!(ran.code == 0 && ran.out.contains("shared (agent file)"), "{}", ran.out);
}

// M-09
#[test]
fn everything_a_file_says() {
    let stage = stage();
    let shown = stage.text(&["agents", "show", "writer"]);
    let steady: Vec<&str> = shown
        .lines()
        .filter(|line| !line.starts_with("created ") && !line.starts_with("changed "))
        .collect();
    insta::assert_snapshot!(steady.join("\n"));
    let object = stage.json(&["agents", "show", "writer"]);
    assert_eq!(object["kind"], "agent");
    assert_eq!(object["contextGroup"], "docs");
    assert_eq!(object["contextFilter"]["agents"], json!(["user", "bug-fixer"]));
    assert_eq!(object["contextFilter"]["maxAgeSeconds"], 604_800);
    assert_eq!(object["tools"]["deny"], json!(["write_file"]));
    assert_eq!(object["extra"]["mood"], "\"calm\"");
    assert_eq!(object["resolvedMode"], "shared");
    assert_eq!(object["systemPrompt"].as_str().unwrap().trim(), "Write well.\n\nAnd short.");
    assert_eq!(
        stage.refused(&["agents", "show", "writr"]),
        error("not-found", "Agent 'writr' not found")
    );
}

// M-33: errors apart from warnings, with the line and what to do.
#[test]
fn files_are_checked() {
    let stage = stage();
    let ran = stage.run(&["agents", "validate"]);
    assert_eq!(ran.code, 1);
    insta::assert_snapshot!(format!("{}────\n{}", ran.out, ran.err));
    let ran = stage.run(&["--json", "agents", "validate"]);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &report["ok"]), (1, &json!(false)));
    let first = &report["errors"][0];
    assert_eq!(first["file"], ".gemini/agents/bad.md");
    assert_eq!((&first["severity"], &first["line"]), (&json!("error"), &json!(5)));
    assert!(report["warnings"].as_array().unwrap().iter().all(|it| it["severity"] == "warning"));

    // Those that are named, as agents or as files.
    assert_eq!(stage.run(&["agents", "validate", "bug-fixer"]).code, 0);
    assert_eq!(stage.run(&["agents", "validate", "bug-fixer", "bad"]).code, 1);
    assert_eq!(stage.run(&["agents", "validate", ".gemini/agents/worse.md"]).code, 1);
    let named = stage.json(&["agents", "validate", "bug-fixer", ".gemini/agents/code-reviewer.md"]);
    assert_eq!(named, json!({ "ok": true, "errors": [], "warnings": [] }));
    let (kind, message) = stage.refused(&["agents", "show", "bad"]);
    assert_eq!(kind, "invalid");
    assert!(message.starts_with("the file of agent 'bad' is broken: "), "{message}");
    assert_eq!(stage.refused(&["agents", "validate", "bug-fixr"]).0, "not-found");
    assert_eq!(stage.refused(&["agents", "validate", "none/x.md"]).0, "not-found");
}

#[test]
fn what_is_made_can_be_read_and_run() {
    let stage = Stage::openai([Reply::text("hello")]);
    let args = [
        "agents",
        "create",
        "doc_writer",
        "--title",
        "Doc: Writer",
        "--description",
        "写文档 #1",
        "--model",
        "openai/gpt-4o",
        "--context",
        "shared",
        "--group",
        "docs",
        "--tool",
        "read_file",
        "--tool",
        "grep",
        "--deny",
        "edit_file",
    ];
    assert_eq!(
        stage.text(&args),
        "created agent doc_writer in .contexture/agents/doc_writer.md\n\
         write its prompt below the second ---, then run it:\n  contexture agents run doc_writer 'what to do'\n"
    );
    assert_eq!(stage.json(&["agents", "validate", "doc_writer"])["warnings"], json!([]));
    let shown = stage.json(&["agents", "show", "doc_writer"]);
    for (field, value) in [
        ("title", json!("Doc: Writer")),
        ("description", json!("写文档 #1")),
        ("model", json!("openai/gpt-4o")),
        ("contextMode", json!("shared")),
        ("contextGroup", json!("docs")),
        ("tools", json!({ "allow": ["read_file", "grep"], "deny": ["edit_file"] })),
        ("scope", json!("project")),
    ] {
        assert_eq!(shown[field], value, "{field}");
    }
    assert_eq!(stage.text(&["agents", "run", "doc_writer", "hi"]), "hello\n");
    assert_eq!(stage.refused(&args).0, "conflict");
    for name in ["Doc", "all", "a--b", "../x"] {
        assert_eq!(stage.refused(&["agents", "create", name]).0, "invalid", "{name}");
    }
    assert_eq!(stage.refused(&["agents", "create", "x", "--context", "both"]).0, "invalid");
}

// A tool that there is not is refused with those that there are.
#[test]
fn tools_that_are_asked_for_must_exist() {
    let stage = Stage::openai([]);
    let tool = |flag: &str, name: &str| stage.run(&["agents", "create", "x", flag, name]);
    for flag in ["--tool", "--deny"] {
        let ran = tool(flag, "nosuch");
        assert_eq!(ran.code, 1);
        assert!(ran.err.contains("error: there is no tool 'nosuch'\n"), "{}", ran.err);
        let hint = "hint: the tools are read_file, write_file, edit_file, grep, list_files, ";
        assert!(ran.err.contains(hint) && ran.err.contains("get_page"), "{}", ran.err);
        assert!(ran.err.contains("mcp__SERVER__TOOL"), "{}", ran.err);
        let ran = tool(flag, "read_fil");
        assert!(ran.err.contains("did you mean 'read_file'? the tools are "), "{}", ran.err);
    }
    assert!(!stage.sandbox.path().join(".contexture/agents/x.md").exists());
    for (at, name) in ["*", "mcp__notes", "mcp__notes__add", "find_page", "Read"].iter().enumerate()
    {
        let ran = stage.run(&["agents", "create", &format!("x{at}"), "--tool", name]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.err);
    }
}

#[test]
fn an_agent_for_all_projects() {
    let stage = Stage::openai([Reply::text("yes")]);
    let made = stage.json(&["agents", "create", "helper", "--user"]);
    assert_eq!(made["scope"], "global");
    assert_eq!(made["file"], "home/.config/contexture/agents/helper.md");
    assert_eq!(stage.json(&["agents", "show", "helper"])["scope"], "global");
    // The project's come first, and that is said.
    let ran = stage.run(&["agents", "create", "bug-fixer", "--user"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains(
        "another file for agent 'bug-fixer' is used instead: .gemini/agents/bug-fixer.md"
    ));
    // What comes with the project and takes the place of the user's own is told.
    let told = "warning: the project's agent 'bug-fixer' replaces yours: ";
    let listed = stage.run(&["agents", "list"]);
    assert!(listed.err.contains(told), "{}", listed.err);
    let ran = stage.run(&["agents", "run", "bug-fixer", "look"]);
    assert!(ran.code == 0 && ran.err.contains(told), "{}", ran.err);
    let ran = Stage::openai([]).sandbox.run(&["agents", "create", "helper", "--user"]);
    assert_eq!(ran.code, 1, "no home, no place");
}

// What may be a key in an address is not for the screen.
#[test]
fn a_servers_address_is_shown_without_its_secrets() {
    let stage = Stage::openai([]);
    std::fs::create_dir_all(stage.sandbox.path().join(".claude/agents")).unwrap();
    stage.sandbox.write(
        ".claude/agents/far.md",
        "---\nname: far\ndescription: Goes far.\nmcpServers:\n  - far:\n      type: http\n      url: https://me:s3cret@far.example/mcp?apiKey=s3cret\n---\nGo.\n",
    );
    let shown = stage.text(&["agents", "show", "far"]);
    assert!(shown.contains("far (https://far.example/mcp)"), "{shown}");
    assert!(!stage.text(&["--json", "agents", "show", "far"]).contains("s3cret"));
}
