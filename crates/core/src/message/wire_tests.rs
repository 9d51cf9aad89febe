use super::*;

fn parse(json: &str) -> Vec<Message> {
    parse_messages(json.as_bytes()).unwrap()
}

fn one(json: &str) -> Message {
    let mut messages = parse(&format!("[{json}]"));
    assert_eq!(messages.len(), 1, "{messages:?}");
    messages.remove(0)
}

fn reason(json: &[u8]) -> String {
    match parse_messages(json) {
        Err(Error::InvalidMessages { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

fn extra(fields: &Fields) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name, value.as_str())).collect()
}

fn text(text: &str) -> Part {
    Part::Text(Text { text: text.to_owned(), extra: Fields::default() })
}

fn origin(provider: &str, model: Option<&str>) -> Option<Origin> {
    Some(Origin { provider: provider.to_owned(), model: model.map(str::to_owned) })
}

#[test]
fn plain_messages_become_one_text_each() {
    let messages = parse(
        r#"[{"role":"system","content":"Be kind."},{"role":"developer","content":"Be brief."},
            {"role":"user","content":"你好\n\u4e16\u754c"},{"role":"assistant","content":"您好"}]"#,
    );
    let expected = [
        Message::text(Role::System, "Be kind."),
        Message::text(Role::System, "Be brief."),
        Message::text(Role::User, "你好\n世界"),
        Message::text(Role::Assistant, "您好"),
    ];
    assert_eq!(messages, expected);
}

#[test]
fn an_object_may_hold_the_messages() {
    let messages = parse(
        r#" {"model":"m","system":"规则","messages":[{"role":"user","content":"hi"}],"tools":[]} "#,
    );
    assert_eq!(messages, [Message::text(Role::System, "规则"), Message::text(Role::User, "hi")]);
    let blocks = parse(
        r#"{"messages":[],"system":[{"type":"text","text":"a"},
            {"type":"text","text":"b","cache_control":{"type": "ephemeral"}}]}"#,
    );
    assert_eq!(blocks[0].plain_text(), "a\nb");
    let Part::Text(last) = &blocks[0].parts[1] else { panic!("{blocks:?}") };
    assert_eq!(extra(&last.extra), [("cache_control", r#"{"type": "ephemeral"}"#)]);
    assert_eq!(parse(r#"{"messages":[],"system":""}"#), []);
}

#[test]
fn openai_calls_keep_their_arguments() {
    let message = one(
        r#"{"role":"assistant","content":null,"refusal":null,"reasoning_content":"想\u4e00下 1.50",
            "model":"gpt-5","usage":{"n": 1e2},"tool_calls":[
            {"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\": \"文件\", \"n\":1.0}"}},
            {"id":"b","function":{"name":"go","arguments":"{not json","strict": true},
             "extra_content":{"google":{"thought_signature":"x\/y"}}}]}"#,
    );
    assert_eq!(message.origin, origin("openai", Some("gpt-5")));
    let kept = [
        ("refusal", "null"),
        ("reasoning_content", r#""想\u4e00下 1.50""#),
        ("usage", r#"{"n": 1e2}"#),
    ];
    assert_eq!(extra(&message.extra), kept);
    let calls: Vec<&ToolCall> = message.tool_calls().collect();
    assert_eq!((calls[0].id.as_str(), calls[0].name.as_str()), ("a", "read"));
    assert_eq!(calls[0].arguments, r#"{"path": "文件", "n":1.0}"#);
    assert!(calls[0].extra.is_empty());
    assert_eq!(calls[1].arguments, "{not json");
    let kept = [
        ("extra_content", r#"{"google":{"thought_signature":"x\/y"}}"#),
        ("function", r#"{"strict":true}"#),
    ];
    assert_eq!(extra(&calls[1].extra), kept);
}

#[test]
fn openai_results_are_tool_messages() {
    let message = one(r#"{"role":"tool","tool_call_id":"a","name":"read","content":"晴"}"#);
    assert_eq!(message.role, Role::Tool);
    assert_eq!(extra(&message.extra), [("name", r#""read""#)]);
    let results: Vec<&ToolResult> = message.tool_results().collect();
    assert_eq!((results[0].call.as_str(), results[0].error), ("a", false));
    assert_eq!(results[0].content, [text("晴")]);
    for empty in [r#""""#, "null", "[]"] {
        let message = one(&format!(r#"{{"role":"tool","tool_call_id":"a","content":{empty}}}"#));
        assert_eq!(message.tool_results().next().unwrap().content, []);
    }
}

#[test]
fn parts_are_typed_or_kept_as_they_were() {
    let image = r#"{"type":"image_url", "image_url":{"url":"https:\/\/x"}}"#;
    let audio = r#"{ "type":"input_audio","input_audio":{"rate":1.0} }"#;
    let message = one(&format!(
        r#"{{"role":"user","content":[{{"type":"text","text":"看","mark": 1.0}},{image},{audio},
            {{"type":"input_text","text":"in"}},{{"type":"text","text":""}}]}}"#
    ));
    let Part::Text(first) = &message.parts[0] else { panic!("{message:?}") };
    assert_eq!((first.text.as_str(), extra(&first.extra)), ("看", vec![("mark", "1.0")]));
    assert_eq!(message.parts[1], Part::Image(Image { source: RawJson::new(image).unwrap() }));
    assert_eq!(message.parts[2], Part::Other(RawJson::new(audio).unwrap()));
    assert_eq!(message.parts[3..], [text("in")]);
    assert_eq!(message.origin, None);
}

#[test]
fn anthropic_answers_keep_input_and_thinking() {
    let thinking = r#"{"type":"thinking", "thinking":"嗯","signature":"Eq\/+=="}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"xx"}"#;
    let message = one(&format!(
        r#"{{"id":"msg_1","role":"assistant","model":"claude","content":[{thinking},{redacted},
            {{"type":"text","text":"ok","citations":null}},
            {{"type":"tool_use","id":"t1","name":"add","input":{{ "b":1.50, "a":"\u00e9" }},"caller":{{}}}},
            {{"type":"tool_use","id":"t2","name":"now","input":{{}}}}],"stop_reason":"tool_use"}}"#
    ));
    assert_eq!(message.origin, origin("anthropic", Some("claude")));
    assert_eq!(extra(&message.extra), [("id", r#""msg_1""#), ("stop_reason", r#""tool_use""#)]);
    let source = RawJson::new(thinking).unwrap();
    assert_eq!(message.parts[0], Part::Thinking(Thinking { text: "嗯".to_owned(), source }));
    let source = RawJson::new(redacted).unwrap();
    assert_eq!(message.parts[1], Part::Thinking(Thinking { text: String::new(), source }));
    let calls: Vec<&ToolCall> = message.tool_calls().collect();
    assert_eq!(calls[0].arguments, r#"{ "b":1.50, "a":"\u00e9" }"#);
    assert_eq!(extra(&calls[0].extra), [("caller", "{}")]);
    assert_eq!((calls[1].id.as_str(), calls[1].arguments.as_str()), ("t2", "{}"));
}

#[test]
fn anthropic_results_part_from_what_the_user_says() {
    let image = r#"{"type":"image","source":{"type":"base64","data":"AA=="}}"#;
    let nested = r#"{"type":"tool_result","tool_use_id":"no"}"#;
    let messages = parse(&format!(
        r#"[{{"role":"user","timestamp":"2025-02-06T10:00:00Z","k":0,"content":[
            {{"type":"text","text":"before"}},
            {{"type":"tool_result","tool_use_id":"t1","content":"晴","cache_control":{{}}}},
            {{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":[
                {{"type":"text","text":"x"}},{image},{nested}]}},
            {{"type":"text","text":"after"}},
            {{"type":"tool_result","tool_use_id":"t3","is_error":null}}]}}]"#
    ));
    let [tool, user] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((tool.role, user.role), (Role::Tool, Role::User));
    assert_eq!((tool.parts.len(), extra(&tool.extra)), (3, vec![("k", "0")]));
    assert_eq!(user.parts, [text("before"), text("after")]);
    assert!(user.extra.is_empty() && tool.at.is_some() && tool.at == user.at);
    let results: Vec<&ToolResult> = tool.tool_results().collect();
    assert_eq!(results[0].content, [text("晴")]);
    assert_eq!(extra(&results[0].extra), [("cache_control", "{}")]);
    assert!(!results[0].error && results[1].error && !results[2].error);
    let image = Part::Image(Image { source: RawJson::new(image).unwrap() });
    assert_eq!(results[1].content, [text("x"), image, Part::Other(RawJson::new(nested).unwrap())]);
    assert_eq!(results[2].content, []);
    let alone = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}"#;
    assert_eq!(one(alone).role, Role::Tool);
}

#[test]
fn the_origin_is_named_only_where_the_dialect_shows() {
    let origin_of = |fields: &str| one(&format!(r#"{{"role":"assistant",{fields}}}"#)).origin;
    assert_eq!(origin_of(r#""content":"hi","model":"m""#), None);
    assert_eq!(origin_of(r#""content":[{"type":"text","text":"hi"}]"#), None);
    assert_eq!(origin_of(r#""content":"hi","refusal":null"#), origin("openai", None));
    assert_eq!(
        origin_of(r#""content":[{"type":"output_text","text":"hi"}]"#),
        origin("openai", None)
    );
    assert_eq!(origin_of(r#""content":"hi","stop_reason":null"#), origin("anthropic", None));
    let search = r#""content":[{"type":"web_search_tool_result","content":[]}]"#;
    assert_eq!(origin_of(search), origin("anthropic", None));
    let user = one(r#"{"role":"user","content":"hi","model":"m","refusal":null}"#);
    assert_eq!(user.origin, None);
    assert_eq!(extra(&user.extra), [("model", r#""m""#), ("refusal", "null")]);
    let odd = one(r#"{"role":"assistant","content":"hi","refusal":null,"model":7}"#);
    assert_eq!(extra(&odd.extra), [("refusal", "null"), ("model", "7")]);
}

#[test]
fn a_timestamp_is_read_or_kept() {
    let read = one(r#"{"role":"user","content":"a","timestamp":"2025-02-06T10:00:00Z"}"#);
    assert_eq!(read.at, Some("2025-02-06T10:00:00Z".parse().unwrap()));
    assert!(read.extra.is_empty());
    for odd in [r#""gestern""#, "1738836000", "null"] {
        let kept = one(&format!(r#"{{"role":"user","content":"a","timestamp":{odd}}}"#));
        assert_eq!((kept.at, extra(&kept.extra)), (None, vec![("timestamp", odd)]));
    }
}

#[test]
fn authors_are_not_taken_from_the_message() {
    let message = one(r#"{"role":"user","content":"a","author":"root","name":"bo"}"#);
    assert_eq!(message.author, None);
    assert_eq!(extra(&message.extra), [("author", r#""root""#), ("name", r#""bo""#)]);
}

#[test]
fn messages_that_hold_nothing_are_left_out() {
    let messages = parse(
        r#"[{"role":"user","content":""},{"role":"assistant","content":null,"tool_calls":null},
            {"role":"assistant"},{"role":"user","content":[{"type":"text","text":""}]},
            {"role":"assistant","content":null,"reasoning_content":"hm"},
            {"role":"user","content":" "}]"#,
    );
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!((messages[0].parts.len(), messages[0].extra.is_empty()), (0, false));
    assert_eq!(messages[1], Message::text(Role::User, " "));
    assert_eq!(parse("[]"), []);
}

#[test]
fn what_was_read_can_be_stored() {
    let messages = parse(
        r#"[{"role":"assistant","timestamp":"2025-02-06T10:00:00.5Z","usage":{"n": 1.0},"content":[
            {"type":"thinking","thinking":"嗯","signature":"x"},{"type":"new", "n":1e2},
            {"type":"tool_use","id":"a","name":"f","input":{ }}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[
            {"type":"image","source":{ }}]}]}]"#,
    );
    let stored = serde_json::to_string(&messages).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Message>>(&stored).unwrap(), messages);
}

#[test]
fn depth_is_kept_without_running_out_of_stack() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let message = one(&format!(r#"{{"role":"user","content":"a","x":{deep}}}"#));
    assert_eq!(message.extra.get("x").unwrap().as_str(), deep);
}

#[test]
fn every_fault_names_its_message() {
    assert!(reason(b"[\"\xff\"]").starts_with("not UTF-8: "));
    for (json, expected) in [
        ("", "not JSON: EOF"),
        ("[] x", "not JSON: trailing characters at line 1"),
        (r#"[{"role":"user","content":"a"}"#, "not JSON: EOF"),
        ("7", "messages must be an array"),
        (r#"{"role":"user"}"#, "the object has no 'messages'"),
        (r#"{"messages":{}}"#, "messages must be an array"),
        (r#"{"messages":[],"messages":[]}"#, "field 'messages' appears twice"),
        (r#"{"messages":[],"system":7}"#, "'system': content must be a string"),
        (r#"{"messages":[],"system":[{"type":"image"}]}"#, "'system': only text is allowed here"),
    ] {
        let reason = reason(json.as_bytes());
        assert!(reason.starts_with(expected), "{json}: {reason}");
    }
    for (message, expected) in [
        ("7", "it must be a JSON object"),
        ("{}", "'role' is missing"),
        (r#"{"role":1,"content":"a"}"#, "'role' must be a string of Unicode text"),
        (
            r#"{"role":"robot","content":"a"}"#,
            "unknown role 'robot'; roles are system, developer, user, assistant, tool",
        ),
        (
            r#"{"role":"function","name":"f","content":"a"}"#,
            "role 'function' is obsolete; use a 'tool' message",
        ),
        (r#"{"role":"user","role":"system","content":"a"}"#, "field 'role' appears twice"),
        (r#"{"role":"user"}"#, "a user message needs 'content'"),
        (r#"{"role":"tool","content":"a"}"#, "'tool_call_id' is missing"),
        (r#"{"role":"user","content":7}"#, "content must be a string, an array of parts or null"),
        (r#"{"role":"user","content":["a"]}"#, "part 1: it must be a JSON object"),
        (r#"{"role":"user","content":[{"text":"a"}]}"#, "part 1: 'type' is missing"),
        (r#"{"role":"user","content":[{"type":"text"}]}"#, "part 1: 'text' is missing"),
        (
            r#"{"role":"user","content":"\ud800"}"#,
            "part 1: 'text' must be a string of Unicode text",
        ),
        (
            r#"{"role":"user","content":"a","tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]}"#,
            "a user message cannot have 'tool_calls'",
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#,
            "only an assistant message can have 'tool_use'",
        ),
        (
            r#"{"role":"system","content":[{"type":"tool_result","tool_use_id":"a"}]}"#,
            "a system message cannot have 'tool_result'",
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_result"}]}"#,
            "part 1: 'tool_use_id' is missing",
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":"no"}]}"#,
            "part 1: 'is_error' must be true or false",
        ),
        (
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{}]}]}"#,
            "part 1: part 1: 'type' is missing",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"tool_result","tool_use_id":"a"}]}"#,
            "an assistant message cannot have 'tool_result'",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f"}]}"#,
            "part 1: 'input' is missing",
        ),
        (
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":1}]}"#,
            "part 1: 'thinking' must be a string of Unicode text",
        ),
        (
            r#"{"role":"assistant","function_call":{"name":"f","arguments":""}}"#,
            "'function_call' is obsolete; use 'tool_calls'",
        ),
        (r#"{"role":"assistant","tool_calls":{}}"#, "'tool_calls' must be an array or null"),
        (r#"{"role":"assistant","tool_calls":[7]}"#, "tool call 1: it must be a JSON object"),
        (
            r#"{"role":"assistant","tool_calls":[{"id":"a","type":"custom"}]}"#,
            "tool call 1: unknown type 'custom'; the type must be function",
        ),
        (r#"{"role":"assistant","tool_calls":[{"id":"a"}]}"#, "tool call 1: 'function' is missing"),
        (
            r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":{}}}]}"#,
            "tool call 1: 'arguments' must be a string of Unicode text",
        ),
    ] {
        let json = format!(r#"[{{"role":"user","content":""}},{{"role":"assistant"}},{message}]"#);
        assert_eq!(reason(json.as_bytes()), format!("message 3: {expected}"), "{message}");
    }
}

#[test]
fn a_null_function_call_does_no_harm() {
    let message = one(r#"{"role":"assistant","content":"a","function_call":null}"#);
    assert_eq!(extra(&message.extra), [("function_call", "null")]);
}
