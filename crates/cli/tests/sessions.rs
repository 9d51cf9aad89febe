use contexture_testkit::provider::Protocol;
use serde_json::json;

use crate::{
    chat_support::Room,
    support::{Sandbox, error, timeless},
};

#[test]
fn sessions_are_created_listed_and_removed() {
    let sandbox = Sandbox::empty();
    let session = |id: &str, app: &str, revision: u64| {
        json!({
            "id": id, "app": app, "revision": revision, "createdAt": "TIME", "updatedAt": "TIME",
        })
    };
    let made = sandbox.json(&["session", "create", "review", "--app", "my-app"]);
    assert_eq!(timeless(made), session("review", "my-app", 0));
    sandbox.json(&["init"]);
    let all = json!({
        "items": [session("default", "contexture", 1), session("review", "my-app", 0)],
        "next": null,
    });
    assert_eq!(timeless(sandbox.json(&["session", "list"])), all);

    let first = sandbox.json(&["session", "list", "--limit", "1"]);
    assert_eq!(first["next"], "default");
    let rest = sandbox.json(&["session", "list", "--cursor", "default"]);
    assert_eq!((&rest["items"][0]["id"], &rest["next"]), (&json!("review"), &json!(null)));

    let removed = json!({ "removed": "review", "traces": [] });
    assert_eq!(sandbox.json(&["session", "remove", "review", "--yes"]), removed);
    assert_eq!(
        sandbox.refused(&["session", "remove", "review", "--yes"]),
        error("not-found", "session 'review' not found")
    );
    assert_eq!(
        sandbox.refused(&["--session", "review", "page", "list"]),
        error("not-found", "session 'review' not found")
    );
}

// There is no undo for it: a script must say that it means it.
#[test]
fn a_session_is_not_removed_by_accident() {
    let sandbox = Sandbox::with_pages();
    let (kind, message) = sandbox.unchanged(&["session", "remove", "default"]);
    assert_eq!(kind, "invalid");
    assert_eq!(message, "session 'default' was not removed: cannot ask for confirmation here");
    let ran = sandbox.run(&["session", "remove", "default"]);
    assert!(ran.err.contains("session remove default --yes"), "{}", ran.err);
    // What is not there is not asked for.
    assert_eq!(
        sandbox.refused(&["session", "remove", "other"]),
        error("not-found", "session 'other' not found")
    );
}

// In a terminal it asks, and anything but yes is no.
#[test]
fn a_person_is_asked_before_a_session_is_removed() {
    let room = Room::new(Protocol::OpenAi, []);
    room.sandbox.json(&["init"]);
    for (answer, code) in [("\r", 1), ("n\r", 1), ("\u{4}", 1), ("yes\r", 0)] {
        assert_eq!(room.sandbox.json(&["session", "list"])["items"].as_array().unwrap().len(), 1);
        let mut terminal = room.terminal(&["session", "remove", "default"], &[]);
        terminal.expect("Destroy session 'default' (revision 1, last changed ");
        terminal.expect("? [y/N] ");
        terminal.keys(answer);
        assert_eq!(terminal.end(), code, "{answer:?}: {}", terminal.text());
    }
    assert_eq!(room.sandbox.json(&["session", "list"])["items"], json!([]));
    room.sandbox.json(&["init"]);
    let mut terminal = room.terminal(&["session", "remove", "default", "--yes"], &[]);
    assert_eq!(terminal.end(), 0, "{}", terminal.text());
}

#[test]
fn custom_state_is_set_and_cleared() {
    let sandbox = Sandbox::new();
    let set = |args: &[&str]| sandbox.json(&[&["session", "set"], args].concat());
    assert_eq!(set(&["branch", "main"]), json!({ "custom": { "branch": "main" } }));
    assert_eq!(set(&["depth", "-5"]), json!({ "custom": { "branch": "main", "depth": "-5" } }));
    assert_eq!(set(&["branch", "--clear"]), json!({ "custom": { "depth": "-5" } }));
    sandbox.json(&["undo"]);
    assert_eq!(set(&["depth", "1"]), json!({ "custom": { "branch": "main", "depth": "1" } }));
}

// D-03: custom state holds JSON values; text stays text, whatever it looks like.
#[test]
fn custom_state_holds_json() {
    let sandbox = Sandbox::new();
    let set = |args: &[&str]| sandbox.json(&[&["session", "set"], args].concat());
    set(&["version", "1.10"]);
    set(&["quoted", "\"so\""]);
    let all = set(&["limits", r#"{"b":[2],"a":1.50}"#, "--as-json"]);
    let custom = json!({ "version": "1.10", "quoted": "\"so\"", "limits": { "b": [2], "a": 1.5 } });
    assert_eq!(all["custom"], custom);
    assert_eq!(sandbox.json(&["window", "--format", "context"])["state"]["custom"], custom);
    let text = sandbox.text(&["session", "set", "plain", "text"]);
    assert!(text.contains("version = 1.10\n") && text.contains("quoted = \"so\"\n"), "{text}");
    assert_eq!(sandbox.unchanged(&["session", "set", "x", "{", "--as-json"]).0, "invalid");
}

// The engine's own entries are neither shown nor set; a budget is a number.
#[test]
fn custom_state_of_the_engine_is_its_own() {
    let sandbox = Sandbox::with_talk(1);
    let set = |args: &[&str]| sandbox.json(&[&["session", "set"], args].concat());
    assert_eq!(set(&["budget", "16000"]), json!({ "custom": { "budget": 16000 } }));
    let context = sandbox.json(&["window", "--format", "context"]);
    assert_eq!(context["state"]["custom"], json!({ "budget": 16000 }));
    for args in [["contexture.import.x", "{}"], ["budget", "much"], ["budget", "-5"]] {
        assert_eq!(sandbox.unchanged(&[&["session", "set"], &args[..]].concat()).0, "invalid");
    }
    assert_eq!(sandbox.json(&["window", "--account"])["account"]["budget"], 16_000);
}

#[test]
fn names_that_break_the_rules_make_nothing() {
    let sandbox = Sandbox::empty();
    for name in ["..", "a/b", ".hidden", "", "a b"] {
        let (kind, message) = sandbox.refused(&["session", "create", name]);
        assert_eq!(kind, "invalid");
        assert!(message.starts_with("invalid session name"), "{message}");
        assert_eq!(sandbox.refused(&["--session", name, "init"]).0, "invalid");
    }
    assert_eq!(sandbox.refused(&["session", "create", "a", "--app", " "]).0, "invalid");
    assert_eq!(sandbox.files(), [""; 0]);

    sandbox.json(&["session", "create", "twice"]);
    assert_eq!(
        sandbox.refused(&["session", "create", "twice"]),
        error("conflict", "session 'twice' already exists")
    );
}
