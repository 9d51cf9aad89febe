use super::*;
use crate::{
    message::Part,
    transcript::{detect, read, repair},
};

fn line(id: &str, parent: &str, kind: &str, more: &str, message: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"sessionId":"s","timestamp":"2026-01-02T03:04:05.006Z"{more},"message":{message}}}"#
    )
}

fn user(id: &str, parent: &str, text: &str) -> String {
    line(id, parent, "user", "", &format!(r#"{{"role":"user","content":"{text}"}}"#))
}

fn reply(id: &str, parent: &str, reply: &str, block: &str) -> String {
    let message = format!(
        r#"{{"role":"assistant","type":"message","id":"{reply}","model":"claude-x","content":[{block}],"stop_reason":null,"usage":{{"output_tokens":3}}}}"#
    );
    line(id, parent, "assistant", "", &message)
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#)
}

fn result(id: &str, parent: &str, call: &str) -> String {
    let block =
        format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"got {call}"}}"#);
    let message = format!(r#"{{"role":"user","content":[{block}]}}"#);
    line(id, parent, "user", r#","toolUseResult":{"stdout":"got"}"#, &message)
}

/// Reads lines and tells what each message says, with its line.
fn said(lines: &[String]) -> Vec<String> {
    let transcript = read(&lines.join("\n"), None).unwrap();
    assert_eq!(transcript.problems, []);
    transcript.entries.iter().map(told).collect()
}

fn told(entry: &Entry) -> String {
    let parts: Vec<String> = entry
        .message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.text.clone(),
            Part::ToolCall(call) => format!("call {}", call.id),
            Part::ToolResult(result) => format!("result {}", result.call),
            Part::Image(_) => "image".to_owned(),
            Part::Thinking(thinking) => format!("({})", thinking.text),
            Part::Other(raw) => raw.as_str().to_owned(),
        })
        .collect();
    format!("{} {}", entry.line, parts.join(", "))
}

fn notes(lines: &[String]) -> Vec<String> {
    read(&lines.join("\n"), None).unwrap().notes
}

#[test]
fn a_reply_in_pieces_becomes_one_message_with_its_model_and_time() {
    let lines = [
        user("1", "", "go"),
        reply("2", "1", "m", r#"{"type":"thinking","thinking":"hm","signature":"x"}"#),
        reply("3", "2", "m", &text("I look")),
        reply("4", "3", "m", &call("a")),
        result("5", "4", "a"),
        reply("6", "5", "n", &text("done")),
    ];
    assert_eq!(said(&lines), ["1 go", "2 (hm), I look, call a", "5 result a", "6 done"]);
    let transcript = read(&lines.join("\n"), None).unwrap();
    assert_eq!(transcript.format, TranscriptFormat::ClaudeCode);
    assert_eq!(transcript.source.as_deref(), Some("s"));
    let at: Timestamp = "2026-01-02T03:04:05.006Z".parse().unwrap();
    assert!(transcript.entries.iter().all(|entry| entry.message.at == Some(at)));
    let reply = &transcript.entries[1].message;
    let origin = Origin { provider: "anthropic".to_owned(), model: Some("claude-x".to_owned()) };
    assert_eq!(reply.origin, Some(origin));
    // What tells of the request is nothing that was said, and a provider would refuse it.
    assert!(transcript.entries.iter().all(|entry| entry.message.extra.is_empty()));
}

#[test]
fn parallel_calls_fork_the_chain_but_not_the_conversation() {
    let lines = [
        user("1", "", "go"),
        reply("2", "1", "m", &call("a")),
        reply("3", "2", "m", &call("b")),
        result("4", "2", "a"),
        result("5", "3", "b"),
        reply("6", "5", "n", &text("done")),
    ];
    let expected = ["1 go", "2 call a, call b", "4 result a", "5 result b", "6 done"];
    assert_eq!(said(&lines), expected);
    assert!(notes(&lines).is_empty());

    // The other form: results come between the pieces, and a piece hangs beside the line.
    let lines = [
        user("1", "", "go"),
        reply("2", "1", "m", &call("a")),
        result("3", "2", "a"),
        reply("4", "2", "m", &call("b")),
        result("5", "4", "b"),
        reply("6", "3", "n", &text("done")),
    ];
    assert_eq!(said(&lines), ["1 go", "2 call a, call b", "3 result a", "5 result b", "6 done"]);
    let repaired = repair(read(&lines.join("\n"), None).unwrap());
    assert_eq!((repaired.exchanges.len(), repaired.problems.len()), (3, 0));
}

#[test]
fn the_branch_of_the_last_message_is_taken() {
    let lines = [
        user("1", "", "go"),
        reply("2", "1", "m", &text("first try")),
        user("3", "2", "no, wrong"),
        reply("4", "3", "n", &call("x")),
        result("5", "4", "x"),
        user("6", "2", "better so"),
        reply("7", "6", "o", &text("well")),
        r#"{"type":"progress","uuid":"8","parentUuid":"5","sessionId":"s"}"#.to_owned(),
    ];
    assert_eq!(said(&lines), ["1 go", "2 first try", "6 better so", "7 well"]);
    assert_eq!(notes(&lines), ["left out 3 lines of other branches"]);

    // A copy of a reply on another branch is not another piece of it.
    let lines = [
        user("1", "", "go"),
        reply("2", "1", "m", &text("hello")),
        user("1b", "", "go"),
        reply("2b", "1b", "m", &text("hello")),
    ];
    assert_eq!(said(&lines), ["3 go", "4 hello"]);
}

#[test]
fn lost_parents_and_compaction_do_not_cut_the_conversation_off() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"4","parentUuid":null,"logicalParentUuid":"3"}"#;
    let lines = [
        user("1", "", "go"),
        reply("2", "lost", "m", &text("yes")),
        user("3", "2", "on"),
        boundary.to_owned(),
        user("5", "4", "in short"),
        line("6", "", "user", r#","isCompactSummary":true"#, r#"{"role":"user","content":"sum"}"#),
        reply("7", "6", "n", &text("well")),
    ];
    let expected = ["1 go", "2 yes", "3 on", "5 in short", "6 sum", "7 well"];
    assert_eq!(said(&lines), expected);
    // Lines in a circle, and lines without ids.
    assert_eq!(said(&[user("1", "2", "a"), user("2", "1", "b")]), ["1 a", "2 b"]);
    let bare = |text| {
        format!(
            r#"{{"type":"user","sessionId":"s","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    assert_eq!(said(&[bare("a"), bare("b")]), ["1 a", "2 b"]);
    assert_eq!(said(&[bare("a"), user("1", "", "b")]), ["1 a", "2 b"]);
}

#[test]
fn side_conversations_are_left_out_unless_there_is_nothing_else() {
    let side = |id: &str, parent: &str, text: &str| {
        let message = format!(r#"{{"role":"user","content":"{text}"}}"#);
        line(id, parent, "user", r#","isSidechain":true,"agentId":"a7""#, &message)
    };
    let lines =
        [user("1", "", "go"), side("2", "", "sub"), side("3", "2", "task"), user("4", "1", "on")];
    assert_eq!(said(&lines), ["1 go", "4 on"]);
    assert_eq!(notes(&lines), ["left out 2 lines of side conversations"]);
    let lines = [side("2", "", "sub"), side("3", "2", "task")];
    assert_eq!(said(&lines), ["1 sub", "2 task"]);
    // Subagents of one session must not be taken for one conversation.
    let transcript = read(&lines.join("\n"), None).unwrap();
    assert_eq!(transcript.source.as_deref(), Some("s/a7"));
}

#[test]
fn what_the_tool_notes_for_itself_is_left_out() {
    let meta = r#"{"role":"user","content":"caveat"}"#;
    let lines = [
        r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{}}"#.to_owned(),
        user("1", "", "go"),
        line("2", "1", "user", r#","isMeta":true"#, meta),
        r#"{"type":"system","subtype":"turn_duration","uuid":"3","parentUuid":"2","content":"x"}"#
            .to_owned(),
        user("4", "3", "on"),
        user("4", "3", "on"),
        line("5", "4", "odd", "", meta),
        r#"{"type":"summary","summary":"s","leafUuid":"4"}"#.to_owned(),
    ];
    assert_eq!(said(&lines), ["2 go", "5 on"]);
    assert_eq!(
        notes(&lines),
        [
            "left out 1 line written twice",
            "left out 1 line of an unknown kind",
            "left out 1 line that the tool wrote for itself"
        ]
    );
}

#[test]
fn bad_lines_are_reported_and_unfinished_ones_noted() {
    let good = [user("1", "", "go"), user("2", "1", "on")];
    let text = format!(
        "\u{feff}// a comment\r\n# another\r\n\r\n{}\r\n{{\"type\":\r\n[1]\r\n{{\"uuid\":\"x\"}}\r\n\
         {{\"type\":\"user\",\"uuid\":\"y\"}}\r\n\
         {{\"type\":\"user\",\"uuid\":5,\"message\":[1]}}\r\n{}\r\n{{\"type\":\"assis",
        good[0], good[1]
    );
    assert_eq!(detect(&text), Some(TranscriptFormat::ClaudeCode));
    let transcript = read(&text, None).unwrap();
    assert_eq!(transcript.entries.iter().map(told).collect::<Vec<_>>(), ["4 go", "10 on"]);
    let problems: Vec<String> = transcript.problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "5: it is not valid JSON at column 8",
            "6: it is not a JSON object",
            "7: 'type' is missing or not a string",
            "8: 'message' is missing",
            "9: it must be a JSON object",
        ]
    );
    assert_eq!(transcript.notes, ["unfinished last line"]);
}

#[test]
fn images_stay_images_also_inside_results() {
    let image = r#"{"type":"image","source":{"type":"base64","data":"AA=="}}"#;
    let asked = format!(r#"{{"role":"user","content":[{image},{}]}}"#, text("see"));
    let answered = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":[{image}]}}]}}"#
    );
    let lines = [
        line("1", "", "user", "", &asked),
        reply("2", "1", "m", &call("a")),
        line("3", "2", "user", "", &answered),
    ];
    assert_eq!(said(&lines), ["1 image, see", "2 call a", "3 result a"]);
    let transcript = read(&lines.join("\n"), None).unwrap();
    let result = transcript.entries[2].message.tool_results().next().unwrap();
    assert!(matches!(&result.content[..], [Part::Image(kept)] if kept.source.as_str() == image));
}
