use serde_json::json;

use crate::support::{Sandbox, error};

const CALL: &str = r#"[{"role":"assistant","content":"Looking.","tool_calls":[{"id":"c1","type":
    "function","function":{"name":"ls","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"a.txt"}]"#;

#[test]
fn a_turn_is_added_and_extended() {
    let sandbox = Sandbox::new();
    let added = sandbox.json(&["turn", "add", "--user", "What is there?"]);
    assert_eq!(added, json!({ "pages": ["usr-1"] }));
    let extended = sandbox.json_from(&["turn", "extend", "--messages", "-"], CALL);
    assert_eq!(extended, json!({ "pages": ["usr-1"] }));
    let page = sandbox.json(&["page", "show", "usr-1"]);
    assert_eq!(page["detail"], "User: What is there?\nAssistant: Looking.\n→ ls({})\nTool: a.txt");
    assert_eq!(
        (&page["messageCount"], &page["turn"], &page["visibility"], &page["trust"]),
        (&json!(3), &json!("usr-1"), &json!("Expanded"), &json!("tool"))
    );
}

#[test]
fn several_user_messages_make_several_turns_and_long_turns_several_pages() {
    let sandbox = Sandbox::new();
    let long = "x".repeat(5_000);
    let messages = json!([
        { "role": "user", "content": "first" },
        { "role": "assistant", "content": long },
        { "role": "assistant", "content": "more" },
        { "role": "user", "content": [{ "type": "text", "text": "second" }] },
    ]);
    sandbox.write("messages.json", messages.to_string());
    let added = sandbox.json(&["turn", "add", "--segment", "usr", "--messages", "messages.json"]);
    assert_eq!(added, json!({ "pages": ["usr-1", "usr-2", "usr-3"] }));
    let turn = |index: &str| sandbox.json(&["page", "show", index])["turn"].clone();
    assert_eq!([turn("usr-1"), turn("usr-2"), turn("usr-3")], ["usr-1", "usr-1", "usr-3"]);
    let said = sandbox.json(&["turn", "add", "--user", "a", "--assistant", "- b"]);
    assert_eq!(said, json!({ "pages": ["usr-4"] }));
    assert_eq!(sandbox.json(&["page", "show", "usr-4"])["messageCount"], 2);
}

#[test]
fn messages_that_are_none_change_nothing() {
    let sandbox = Sandbox::new();
    sandbox.json(&["turn", "add", "--user", "Hello"]);
    let invalid = |command: &str, messages: &[u8]| {
        sandbox.write("messages.json", messages);
        let (kind, message) = sandbox.unchanged(&["turn", command, "--messages", "messages.json"]);
        assert_eq!(kind, "invalid");
        assert!(message.starts_with("invalid messages: "), "{message}");
    };
    for command in ["add", "extend"] {
        invalid(command, b"");
        invalid(command, b"[");
        invalid(command, b"[]");
        invalid(command, b"{}");
        invalid(command, b"[{\"role\":\"assistant\",\"content\":\"caf\xe9\"}]");
        invalid(command, br#"[{"role":"robot","content":"x"}]"#);
        invalid(command, &CALL.as_bytes()[..CALL.find(",\n    {\"role\":\"tool\"").unwrap()]);
        let unanswered = CALL.split_once(r#"{"role":"tool""#).unwrap().0.trim_end();
        invalid(command, format!("{}]", unanswered.trim_end_matches(',')).as_bytes());
    }
    invalid("extend", br#"[{"role":"user","content":"x"}]"#);
    assert_eq!(sandbox.unchanged(&["turn", "add", "--messages", "gone.json"]).0, "not-found");
    assert_eq!(
        sandbox.unchanged(&["turn", "add", "--segment", "no", "--user", "x"]).0,
        "not-found"
    );
    assert_eq!(sandbox.run(&["turn", "add"]).code, 2);
}

#[test]
fn each_extends_only_its_own_turn() {
    let sandbox = Sandbox::new();
    sandbox.json(&["turn", "add", "--user", "Hello"]);
    sandbox.write("call.json", CALL);
    assert_eq!(
        sandbox.unchanged(&["--as", "bee", "turn", "extend", "--messages", "call.json"]),
        error("not-found", "a turn of bee in segment usr not found")
    );
    sandbox.json(&["--as", "bee", "turn", "add", "--user", "Hum"]);
    let extended = sandbox.json(&["--as", "bee", "turn", "extend", "--messages", "call.json"]);
    assert_eq!(extended, json!({ "pages": ["usr-2"] }));
    let page = sandbox.json(&["page", "show", "usr-2"]);
    assert_eq!((&page["author"], &page["messageCount"]), (&json!("bee"), &json!(3)));
}
