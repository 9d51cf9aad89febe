//! `agents clear` (M-17).

use contexture_testkit::provider::Reply;
use serde_json::json;

use crate::agent_support::Stage;

fn stage() -> Stage {
    let replies = ["one", "two", "three"].map(Reply::text);
    let stage = Stage::openai(replies);
    stage.sandbox.json(&["turn", "add", "--user", "hello"]);
    stage.text(&["agents", "run", "code-reviewer", "first"]);
    stage.text(&["agents", "run", "code-reviewer", "second"]);
    stage.text(&["agents", "run", "code-reviewer", "--context", "shared", "third"]);
    stage
}

#[test]
fn its_own_history_goes_to_the_archive_and_comes_back() {
    let stage = stage();
    stage.text(&["agents", "context", "code-reviewer", "--mode", "shared"]);
    let main = stage.sandbox.json(&["page", "children", "usr-0"]);
    let own = stage.sandbox.indices(&["page", "children", "agent-code-reviewer-0"]);
    assert_eq!(own, ["agent-code-reviewer-1", "agent-code-reviewer-2"]);
    assert_eq!(
        stage.text(&["agents", "clear", "code-reviewer"]),
        "2 pages of agent-code-reviewer moved to the archive\n\
         kept 2 published pages in the main session\n\
         kept 1 page that it wrote in the main session itself\n\
         the main session is unchanged\n\
         kept the session's override (shared)\n\
         `contexture undo` brings them back\n"
    );
    assert_eq!(stage.sandbox.json(&["page", "children", "usr-0"]), main);
    let left = stage.sandbox.indices(&["page", "children", "agent-code-reviewer-0"]);
    assert_eq!(left, [""; 0]);
    stage.sandbox.json(&["undo"]);
    assert_eq!(stage.sandbox.indices(&["page", "children", "agent-code-reviewer-0"]), own);
}

#[test]
fn what_it_published_can_be_cleared_and_its_turns_stay() {
    let stage = stage();
    assert_eq!(
        stage.json(&["agents", "clear", "code-reviewer", "--scope", "all"]),
        json!({
            "agent": "code-reviewer",
            "scope": "all",
            "isolated": ["agent-code-reviewer-1", "agent-code-reviewer-2"],
            "published": ["usr-2", "usr-3"],
            "publishedKept": 0,
            "groupTurnsKept": 0,
            "ownTurnsKept": 1,
            "runsGivenUp": 0,
            "sessionOverride": null,
        })
    );
    assert_eq!(stage.sandbox.indices(&["page", "children", "usr-0"]), ["usr-1", "usr-4"]);
    assert_eq!(
        stage.text(&["agents", "clear", "code-reviewer", "--scope", "published"]),
        "no pages published in the main session moved to the archive\n\
         kept 1 page that it wrote in the main session itself\n\
         the main session is unchanged\n"
    );
    stage.sandbox.json(&["undo"]);
    let back = stage.sandbox.indices(&["page", "children", "usr-0"]);
    assert_eq!(back, ["usr-1", "usr-2", "usr-3", "usr-4"]);
}

// An agent whose file is gone can still be cleared; one that never was cannot.
#[test]
fn the_session_remembers_its_agents() {
    let stage = stage();
    std::fs::remove_file(stage.sandbox.path().join(".gemini/agents/code-reviewer.md")).unwrap();
    stage.text(&["agents", "clear", "code-reviewer"]);
    assert_eq!(stage.refused(&["agents", "clear", "code-revewer"]).0, "not-found");
    assert_eq!(stage.refused(&["agents", "clear", "bug-fixer", "--scope", "main"]).0, "invalid");
}
