//! `agents context`: modes, who decides them, and who shares what.

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::{
    agent_support::Stage,
    support::{error, timeless},
};

fn stage() -> Stage {
    let stage = Stage::openai([Reply::text("fine"), Reply::text("good")]);
    stage.agent(
        "writer",
        "---\nkind: agent\nname: writer\ntitle: Writer\ncontextGroup: docs\n\
         contextFilter:\n  agents: [editor]\n  roles: [user, assistant]\n---\nWrite.\n",
    );
    stage.agent(
        "editor",
        "---\nkind: agent\nname: editor\ntitle: Editor\ncontextGroup: docs\n---\nEdit.\n",
    );
    stage
        .agent("spy", "---\nkind: agent\nname: spy\ntitle: Spy\npublishResult: none\n---\nLook.\n");
    stage
}

/// Cuts out what differs from run to run.
fn steady(text: &str) -> String {
    let line = |line: &str| match line.split_once(", 20") {
        Some((before, after)) => {
            format!("{before}, TIME{}\n", &after["26-01-01 00:00:00Z".len()..])
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

// M-26, M-31, M-32: the seed's words first, then why.
#[test]
fn reports_where_a_mode_comes_from() {
    let stage = stage();
    stage.settings(&json!({ "agents": {
        "defaultContextMode": "shared", "defaultModel": "openai/gpt-4o",
    } }));
    stage.text(&["agents", "run", "bug-fixer", "hello"]);
    stage.text(&["agents", "context", "bug-fixer", "--mode", "isolated"]);
    let mut shown = String::new();
    for agent in ["bug-fixer", "code-reviewer", "spy", "writer"] {
        shown.push_str(&steady(&stage.text(&["agents", "context", agent])));
        shown.push_str("────\n");
    }
    insta::assert_snapshot!(shown);
    let object = timeless(stage.json(&["agents", "context", "bug-fixer"]));
    assert_eq!(object["mode"], "isolated");
    assert_eq!(object["decidedBy"], "session override");
    assert_eq!(object["originalMode"], "shared");
    assert_eq!(object["sessionOverride"], "isolated");
    assert_eq!(object["said"].as_array().unwrap().len(), 4);
    assert_eq!(object["lastRun"]["mode"], "shared");
    assert_eq!(object["runs"], json!([]));
}

// M-22: settings of Gemini CLI are read, the user's and the project's.
#[test]
fn settings_of_gemini_are_read() {
    for (folder, layer) in [("home/.gemini", "user settings"), (".gemini", "project settings")] {
        let stage = stage();
        let folder = stage.sandbox.path().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let settings = r#"{"agents":{"defaultContextMode":"shared"}}"#;
        std::fs::write(folder.join("settings.json"), settings).unwrap();
        let object = stage.json(&["agents", "context", "spy"]);
        assert_eq!(object["mode"], "shared", "{object}");
        let decided = object["decidedBy"].as_str().unwrap();
        assert!(decided.starts_with(layer), "{decided}");
    }
}

// M-27: the override is the session's and touches no file; reading a mode makes nothing.
#[test]
fn reading_makes_nothing_and_switching_touches_no_file() {
    let stage = stage();
    let (before, files) = (stage.sandbox.state(), stage.sandbox.files());
    for args in [&["bug-fixer"][..], &["--all"], &["--graph"]] {
        stage.text(&[&["agents", "context"], args].concat());
    }
    assert_eq!(stage.sandbox.state(), before);
    let file = stage.sandbox.path().join(".gemini/agents/bug-fixer.md");
    let text = std::fs::read(&file).unwrap();
    stage.text(&["agents", "context", "bug-fixer", "--mode", "isolated"]);
    assert_eq!(std::fs::read(&file).unwrap(), text);
    assert_eq!(stage.sandbox.files(), files);
    // It is an edit, so it can be taken back.
    stage.sandbox.json(&["undo"]);
    assert_eq!(stage.json(&["agents", "context", "bug-fixer"])["sessionOverride"], Value::Null);
    assert_eq!(
        stage.refused(&["agents", "context", "bug-fixer", "--mode", "both"]),
        error("invalid", "unknown context mode 'both'")
    );
    assert_eq!(stage.run(&["agents", "context"]).code, 2);
}

// M-28, M-41.
#[test]
fn all_modes_at_once() {
    let stage = stage();
    stage.text(&["agents", "context", "code-reviewer", "--mode", "shared"]);
    insta::assert_snapshot!(stage.text(&["agents", "context", "--all"]));
    let list = stage.json(&["agents", "context", "--all"]);
    assert_eq!(list["next"], Value::Null);
    let modes: Vec<String> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["agent"].as_str().unwrap(), it["mode"].as_str().unwrap()))
        .collect();
    let expected = [
        "bug-fixer shared",
        "code-reviewer shared",
        "editor shared",
        "spy isolated",
        "writer shared",
    ];
    assert_eq!(modes, expected);
}

// M-40: who shares what, drawn; the same every time.
#[test]
fn sharing_is_drawn() {
    let stage = stage();
    stage.text(&["agents", "run", "code-reviewer", "look"]);
    stage.text(&["agents", "run", "editor", "write"]);
    let drawn = stage.text(&["agents", "context", "--graph"]);
    assert_eq!(drawn, stage.text(&["agents", "context", "--graph"]));
    assert_eq!(drawn, stage.text(&["agents", "context", "--all", "--graph"]));
    insta::assert_snapshot!(drawn);
    let graph = stage.json(&["agents", "context", "--graph"]);
    assert_eq!(
        graph["histories"][0],
        json!({
            "kind": "main", "label": "Main Session", "segment": "usr", "pages": 1,
            "agents": [
                { "name": "bug-fixer", "mode": "shared", "relation": "shares" },
                { "name": "code-reviewer", "mode": "isolated", "relation": "publishes" },
            ],
        })
    );
}

// Asking for a forbidden shared context is an error; a file that does runs isolated.
#[test]
fn a_forbidden_shared_context_is_refused_or_runs_isolated() {
    let stage = stage();
    stage.text(&["agents", "context", "spy", "--mode", "shared"]);
    stage.settings(&json!({ "agents": {
        "allowSharedContext": false, "defaultModel": "openai/gpt-4o",
    } }));
    let before = stage.sandbox.state();
    let denied = [
        &["agents", "run", "code-reviewer", "--context", "shared", "look"][..],
        &["agents", "run", "spy", "look"],
        &["agents", "context", "bug-fixer", "--mode", "shared"],
        &["agents", "context", "spy"],
    ];
    for args in denied {
        let (kind, message) = stage.refused(args);
        assert_eq!(kind, "permission-denied", "{args:?}: {message}");
        assert!(message.contains("agents.allowSharedContext is false in project settings"));
    }
    assert_eq!(stage.sandbox.state(), before);
    assert_eq!(stage.requests().len(), 0);
    let ran = stage.run(&["agents", "run", "bug-fixer", "look"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("but shared contexts are forbidden by "), "{}", ran.err);
    assert!(ran.err.lines().last().unwrap().starts_with("bug-fixer · isolated · "));
    let shown = stage.run(&["agents", "context", "bug-fixer"]);
    assert!(
        shown
            .out
            .contains("isolated (shared contexts are forbidden here)\nOriginal Mode: shared\n")
    );
    // A refused agent is told of and hides no other.
    let listed = stage.run(&["agents", "list"]);
    assert!(listed.out.contains("spy") && listed.out.contains("refused"), "{}", listed.out);
    assert!(listed.err.contains("agent 'spy' cannot run shared"), "{}", listed.err);
    stage.text(&["agents", "context", "spy", "--mode", "default"]);
    stage.text(&["agents", "context", "spy"]);
}

#[test]
fn what_there_is_not() {
    let stage = stage();
    let ran = stage.run(&["agents", "context", "bug-fixr"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    // M-18
    assert_eq!(
        ran.err,
        "error: Agent 'bug-fixr' not found\n\
         hint: did you mean 'bug-fixer'? `contexture agents list` shows all agents\n"
    );
    let none = ["--session", "none", "agents", "context", "bug-fixer"];
    assert!(stage.text(&none).contains("Context Mode: shared\n"));
    let (kind, message) = stage.refused(&[&none[..], &["--mode", "isolated"]].concat());
    assert_eq!((kind.as_str(), message.as_str()), ("not-found", "session 'none' not found"));
}
