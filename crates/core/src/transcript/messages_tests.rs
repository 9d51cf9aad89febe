use super::*;
use crate::transcript::read;

fn messages(text: &str) -> Vec<Message> {
    let transcript = read(text, None).unwrap();
    assert_eq!(transcript.problems, []);
    transcript.entries.into_iter().map(|entry| entry.message).collect()
}

fn problems(text: &str) -> Vec<String> {
    read(text, None).unwrap().problems.iter().map(ToString::to_string).collect()
}

#[test]
fn calls_are_read_flat_or_nested_with_arguments_as_text_or_object() {
    for call in [
        r#"{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}"#,
        r#"{"id":"a","function":{"name":"f","arguments":{"x": 1}}}"#,
        r#"{"id":"a","name":"f","arguments":"{\"x\": 1}"}"#,
        r#"{"id":"a","name":"f","arguments":{"x": 1}}"#,
        r#"{"id":"a","type":"tool_call","name":"f","args":{"x": 1}}"#,
    ] {
        let text = format!(r#"[{{"role":"assistant","content":"","tool_calls":[{call}]}}]"#);
        let [message] = &*messages(&text) else { panic!("{call}") };
        let calls: Vec<_> = message.tool_calls().collect();
        assert_eq!((calls.len(), calls[0].id.as_str(), calls[0].name.as_str()), (1, "a", "f"));
        assert_eq!(calls[0].arguments, r#"{"x": 1}"#);
        assert!(calls[0].extra.is_empty() && message.extra.is_empty(), "{call}");
    }
}

#[test]
fn a_bad_message_is_reported_by_number_and_costs_only_itself() {
    let text = r#"[
        {"role":"user","content":"one"},
        {"role":"user","content":7},
        {"role":"user","content":["two"]},
        {"role":"wizard","content":"three"},
        {"role":"assistant","tool_calls":[{"id":"a"}]},
        {"role":"tool","content":"no id"},
        {"role":["user"],"content":"four"},
        null,
        {"role":"user","content":null},
        {"role":"user","content":"five"}
    ]"#;
    let transcript = read(text, None).unwrap();
    let lines: Vec<u64> = transcript.entries.iter().map(|entry| entry.line).collect();
    assert_eq!(lines, [1, 10]);
    assert_eq!(
        problems(text),
        [
            "2: content must be a string, an array of parts or null",
            "3: part 1: it must be a JSON object",
            "4: unknown role 'wizard'; roles are system, developer, user, assistant, tool",
            "5: tool call 1: 'function' is missing",
            "6: 'tool_call_id' is missing",
            "7: 'role' must be a string of Unicode text",
            "8: it must be a JSON object",
        ]
    );
}

#[test]
fn system_prompts_at_the_head_are_taken_apart() {
    let text = r#"[
        {"role":"system","content":"one"},
        {"role":"developer","content":[{"type":"text","text":"two"}]},
        {"role":"user","content":"hi"},
        {"role":"system","content":"later"}
    ]"#;
    let transcript = read(text, None).unwrap();
    assert_eq!(transcript.system.as_deref(), Some("one\n\ntwo"));
    let roles: Vec<Role> = transcript.entries.iter().map(|entry| entry.message.role).collect();
    assert_eq!(roles, [Role::User, Role::System]);

    let text = r#"{"session_id":"s-1","system":[{"type":"text","text":"be kind"}],
        "messages":[{"role":"user","content":"hi"}],"max_tokens":5}"#;
    let transcript = read(text, None).unwrap();
    assert_eq!(transcript.system.as_deref(), Some("be kind"));
    assert_eq!(transcript.source.as_deref(), Some("s-1"));
    assert_eq!(transcript.entries.len(), 1);
    let text = r#"{"system":7,"messages":[{"role":"user","content":"hi"}]}"#;
    assert!(problems(text)[0].starts_with("0: 'system'"));
}

#[test]
fn a_message_a_line_is_read_as_well() {
    let text = "{\"role\":\"user\",\"content\":\"a\"}\r\n\r\n// note\n7\n\
        {\"role\":\"assistant\",\"content\":\"b\"}\n{\"role\":\"us";
    let transcript = read(text, None).unwrap();
    let said: Vec<_> =
        transcript.entries.iter().map(|each| (each.line, each.message.plain_text())).collect();
    assert_eq!(said, [(1, "a".to_owned()), (5, "b".to_owned())]);
    assert_eq!(transcript.problems[0].to_string(), "4: it is not a JSON object");
    assert_eq!(transcript.notes, ["unfinished last line"]);
}

#[test]
fn the_mark_of_a_failed_tool_is_read_where_exports_put_it() {
    for (mark, error) in [("true", true), ("false", false), ("null", false)] {
        let text =
            format!(r#"[{{"role":"tool","tool_call_id":"a","content":"no","is_error":{mark}}}]"#);
        let [message] = &*messages(&text) else { panic!() };
        assert_eq!(message.tool_results().next().unwrap().error, error);
        assert!(message.extra.is_empty());
    }
}

#[test]
fn half_a_character_is_replaced_and_the_rest_kept() {
    let text = r#"[{"role":"user","content":"a\ud83d b\ude00 \ud83d\ude00 \\ud83d \\\ud83d"}]"#;
    let transcript = read(text, None).unwrap();
    assert_eq!(
        transcript.entries[0].message.plain_text(),
        "a\u{fffd} b\u{fffd} 😀 \\ud83d \\\u{fffd}"
    );
    assert_eq!(problems(text), ["1: unpaired surrogates were replaced"]);
}

#[test]
fn depth_costs_no_stack() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let text = format!(
        r#"[{{"role":"user","content":{deep}}},
            {{"role":"user","content":[{{"type":"odd","odd":{deep}}}]}},
            {{"role":"assistant","tool_calls":[{{"id":"a","name":"f","arguments":{deep}}}]}},
            {{"role":"tool","tool_call_id":"a","content":"ok","more":{deep}}}]"#
    );
    let transcript = read(&text, None).unwrap();
    assert_eq!(transcript.entries.len(), 3);
    assert_eq!(transcript.problems.len(), 1);
    let repaired = crate::transcript::repair(transcript);
    assert_eq!(repaired.exchanges.len(), 2);
    assert_eq!(repaired.identity().len(), 64);
}
