//! `--as`: an agent with a file has the view of its mode.

use std::fs;

use contexture_testkit::provider::Reply;
use serde_json::json;

use crate::{agent_support::Stage, support::error};

fn stage() -> Stage {
    let stage = Stage::openai([]);
    stage.agent(
        "writer",
        "---\nkind: agent\nname: writer\ntitle: Writer\ncontextGroup: docs\n---\nWrite.\n",
    );
    let sandbox = &stage.sandbox;
    sandbox.json(&["turn", "add", "--user", "in the main session"]);
    for segment in ["agent-code-reviewer", "group-docs"] {
        sandbox.json(&["segment", "add", segment, "--kind", "custom", "--permission", "1"]);
        sandbox.json(&["turn", "add", "--segment", segment, "--user", "elsewhere"]);
    }
    stage
}

// M-01, M-02: what an agent's mode does not mount does not exist for it.
#[test]
fn the_view_is_the_one_of_the_mode() {
    let stage = stage();
    let before = stage.sandbox.state();
    let segments = |agent: &str| -> Vec<String> {
        let list = stage.sandbox.json(&["--as", agent, "segment", "list"]);
        let id = |it: &serde_json::Value| it["id"].as_str().unwrap().to_owned();
        list["items"].as_array().unwrap().iter().map(id).collect()
    };
    assert_eq!(segments("code-reviewer"), ["sys", "agent-code-reviewer"]);
    assert_eq!(segments("bug-fixer"), ["sys", "usr"]);
    assert_eq!(segments("writer"), ["sys", "group-docs"]);
    assert_eq!(segments("nobody"), ["sys", "usr"]);
    assert_eq!(
        stage.sandbox.refused(&["--as", "code-reviewer", "page", "show", "usr-1"]).0,
        "not-found"
    );
    assert_eq!(stage.sandbox.state(), before, "reading made something");
}

#[test]
fn turns_go_where_the_mode_writes() {
    let stage = stage();
    let add = |agent: &str| stage.sandbox.json(&["--as", agent, "turn", "add", "--user", "more"]);
    assert_eq!(add("code-reviewer"), json!({ "pages": ["agent-code-reviewer-2"] }));
    assert_eq!(add("writer"), json!({ "pages": ["group-docs-2"] }));
    assert_eq!(add("bug-fixer"), json!({ "pages": ["usr-2"] }));
}

// M-27: the session's override is the mode, here too.
#[test]
fn an_override_changes_the_view() {
    let stage = stage();
    stage.text(&["agents", "context", "code-reviewer", "--mode", "shared"]);
    let list = stage.sandbox.indices(&["--as", "code-reviewer", "page", "find", "main"]);
    assert_eq!(list, ["usr-1"]);
    stage.settings(&json!({ "agents": { "allowSharedContext": false } }));
    let (kind, message) = stage.sandbox.refused(&["--as", "code-reviewer", "page", "list"]);
    assert_eq!(kind, "permission-denied", "{message}");
}

#[test]
fn only_broken_files_that_matter_are_in_the_way() {
    let stage = stage();
    stage.agent("other", "---\nkind: agent\nname: other\ncontextMode: both\n---\n");
    stage.sandbox.json(&["--as", "bug-fixer", "page", "list"]);
    // A file that cannot be read must not show more than one that can.
    assert_eq!(
        stage.sandbox.refused(&["--as", "other", "page", "list"]).1.split(':').next().unwrap(),
        "the file of agent 'other' is broken"
    );
    // It may also be the file of somebody it is not called after.
    let (kind, message) = stage.sandbox.refused(&["--as", "nobody", "page", "list"]);
    assert_eq!(kind, "invalid");
    assert!(
        message.starts_with("no file defines agent 'nobody', but it may be in a broken file: ")
            && message.ends_with("other.md"),
        "{message}"
    );
    stage.sandbox.write(".contexture/settings.json", "{\"agents\": {\"defaultContextMode\": 1}}");
    assert_eq!(stage.sandbox.refused(&["--as", "bug-fixer", "page", "list"]).0, "invalid");
    assert_eq!(stage.sandbox.refused(&["--as", "nobody", "page", "list"]).0, "invalid");
    stage.sandbox.json(&["page", "list"]);
}

#[test]
fn agents_may_not_run_agents() {
    let stage = stage();
    assert_eq!(
        stage.refused(&["--as", "bug-fixer", "agents", "run", "code-reviewer", "x"]),
        error("permission-denied", "permission denied: 'agents' belongs to the system side")
    );
}

// An agent that has run here and whose file is gone sees no more than before.
#[test]
fn an_agent_whose_file_is_gone_sees_nothing() {
    let stage = Stage::openai([Reply::text("done")]);
    stage.text(&["init"]);
    stage.text(&["turn", "add", "--user", "CANARY-MAIN"]);
    stage.text(&["agents", "run", "code-reviewer", "look"]);
    fs::remove_file(stage.sandbox.path().join(".gemini/agents/code-reviewer.md")).unwrap();
    let (kind, message) = stage.refused(&["--as", "code-reviewer", "page", "list"]);
    assert_eq!(kind, "not-found");
    assert!(message.contains("has a file, but it was not found from here"), "{message}");
}

// The same holds for one that has a token and never ran: the token is used where the file may not be found.
#[test]
fn an_agent_with_a_token_whose_file_is_gone_sees_nothing() {
    let stage = Stage::openai([]);
    stage.text(&["init"]);
    stage.text(&["turn", "add", "--user", "CANARY-MAIN"]);
    for agent in ["code-reviewer", "free"] {
        stage.text(&["token", "create", "--agent", agent]);
        stage.text(&["token", "create", "--agent", agent]);
    }
    fs::remove_file(stage.sandbox.path().join(".gemini/agents/code-reviewer.md")).unwrap();
    let (kind, message) = stage.refused(&["--as", "code-reviewer", "page", "list"]);
    assert_eq!(kind, "not-found");
    assert!(message.contains("has a file, but it was not found from here"), "{message}");
    // An undo does not make it forget.
    stage.text(&["undo"]);
    assert_eq!(stage.refused(&["--as", "code-reviewer", "page", "list"]).0, "not-found");
    // One that never had a file needs none.
    stage.text(&["--as", "free", "page", "list"]);
}

// M-27, D-35: a window sent in another mode shows again what this mode's view still holds.
#[test]
fn a_window_sent_in_another_mode_shows_no_more_than_this_one() {
    let stage = Stage::openai([Reply::text("Fixed.")]);
    let sandbox = &stage.sandbox;
    sandbox.json(&["turn", "add", "--user", "CANARY-MAIN", "--assistant", "CANARY-ANSWER"]);
    stage.text(&["agents", "run", "bug-fixer", "fix it"]);
    let again = ["--as", "bug-fixer", "window", "--format", "openai", "--sent", "1"];
    let sent = sandbox.text(&again);
    assert!(sent.contains("CANARY-MAIN") && sent.contains("You run in shared mode"), "{sent}");
    stage.text(&["agents", "context", "bug-fixer", "--mode", "isolated"]);
    let ran = sandbox.run(&again);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for hidden in ["CANARY", "fix it", "You run in shared mode"] {
        assert!(!ran.out.contains(hidden), "{hidden}: {}", ran.out);
    }
    // The prompt is the same in both modes.
    assert!(ran.out.contains("Fix bugs based on code review feedback."), "{}", ran.out);
    assert!(ran.out.contains("usr-1 (no longer in this view)"), "{}", ran.out);
    assert!(ran.err.contains("differs from what was sent: "), "{}", ran.err);
    assert!(ran.err.contains(" no longer in this view"), "{}", ran.err);
    stage.text(&["agents", "context", "bug-fixer", "--mode", "default"]);
    assert_eq!(sandbox.text(&again), sent);
}
