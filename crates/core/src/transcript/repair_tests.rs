use contexture_testkit::random::Random;

use super::*;
use crate::message::{RawJson, ToolCall, group_exchanges};

fn said(role: Role, words: &str) -> Message {
    Message::text(role, words)
}

fn calling(ids: &[&str]) -> Message {
    let call = |id: &&str| {
        let (id, name, arguments) = ((*id).to_owned(), "f".to_owned(), "{}".to_owned());
        Part::ToolCall(ToolCall { id, name, arguments, extra: Fields::default() })
    };
    Message { parts: ids.iter().map(call).collect(), ..said(Role::Assistant, "") }
}

fn answering(id: &str, words: &str) -> Message {
    let (call, content) = (id.to_owned(), vec![text(words)]);
    let result = ToolResult { call, content, error: false, extra: Fields::default() };
    Message { parts: vec![Part::ToolResult(result)], ..said(Role::Tool, "") }
}

fn transcript(messages: Vec<Message>) -> Transcript {
    let entries = (1..).zip(messages).map(|(line, message)| Entry { line, message });
    Transcript { entries: entries.collect(), ..Transcript::new(TranscriptFormat::OpenAi) }
}

/// Tells each exchange in one line: `number role: part, part; role: part`.
fn told(repaired: &RepairedTranscript) -> Vec<String> {
    let exchange = |(line, exchange): &(u64, Exchange)| {
        let messages: Vec<String> = exchange.messages.iter().map(message_told).collect();
        format!("{line} {}", messages.join("; "))
    };
    repaired.exchanges.iter().map(exchange).collect()
}

fn message_told(message: &Message) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.text.clone(),
        Part::ToolCall(call) => format!("call {}", call.id),
        Part::ToolResult(result) => {
            let failed = if result.error { "!" } else { "" };
            let content = Message { parts: result.content.clone(), ..said(Role::Tool, "") };
            format!("{}={failed}{}", result.call, content.plain_text())
        }
        _ => "?".to_owned(),
    };
    let parts: Vec<String> = message.parts.iter().map(part).collect();
    format!("{:?}: {}", message.role, parts.join(", "))
}

fn problems(repaired: &RepairedTranscript) -> Vec<String> {
    repaired.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn a_result_moves_to_its_call() {
    let repaired = repair(transcript(vec![
        calling(&["a", "b"]),
        said(Role::User, "wait"),
        answering("b", "two"),
        said(Role::System, "note"),
        answering("a", "one"),
    ]));
    let expected =
        ["1 Assistant: call a, call b; Tool: b=two; Tool: a=one", "2 User: wait", "4 System: note"];
    assert_eq!(told(&repaired), expected);
    assert_eq!(problems(&repaired), [""; 0]);
    assert!(repaired.open.is_empty());
}

#[test]
fn an_id_used_again_means_the_later_call() {
    let repaired = repair(transcript(vec![
        calling(&["a"]),
        answering("a", "one"),
        calling(&["a"]),
        answering("a", "two"),
        answering("a", "three"),
        said(Role::User, "so"),
    ]));
    assert_eq!(
        told(&repaired),
        [
            "1 Assistant: call a; Tool: a=one",
            "3 Assistant: call a; Tool: a=two",
            "5 User: (another result of the same call), three",
            "6 User: so",
        ]
    );
    assert_eq!(problems(&repaired), ["5: a second result for call 'a' was kept as text"]);
}

#[test]
fn a_call_in_the_middle_without_result_was_interrupted() {
    let repaired = repair(transcript(vec![
        calling(&["a", "b"]),
        answering("a", "one"),
        said(Role::User, "stop"),
    ]));
    let expected = [
        "1 Assistant: call a, call b; Tool: a=one; Tool: b=!interrupted: no result was recorded",
        "3 User: stop",
    ];
    assert_eq!(told(&repaired), expected);
    assert_eq!(problems(&repaired), ["1: no result was recorded for call 'b'"]);
}

#[test]
fn the_last_message_is_held_back_while_its_calls_wait() {
    let repaired = repair(transcript(vec![
        said(Role::User, "go"),
        calling(&["a", "b"]),
        answering("a", "one"),
        answering("a", "again"),
    ]));
    assert_eq!(told(&repaired), ["1 User: go"]);
    let open: Vec<_> =
        repaired.open.iter().map(|entry| (entry.line, message_told(&entry.message))).collect();
    let expected = [
        (2, "Assistant: call a, call b"),
        (3, "Tool: a=one"),
        (4, "User: (another result of the same call), again"),
    ];
    assert_eq!(open, expected.map(|(line, told)| (line, told.to_owned())));
}

#[test]
fn thoughts_alone_are_held_back_where_replies_come_in_pieces() {
    let source = RawJson::new(r#"{"type":"thinking","thinking":"hm"}"#).unwrap();
    let thinking = crate::message::Thinking { text: "hm".to_owned(), source };
    let thought = Message { parts: vec![Part::Thinking(thinking)], ..said(Role::Assistant, "") };
    let messages = vec![said(Role::User, "go"), thought];
    let mut transcript = transcript(messages);
    assert_eq!(repair(transcript.clone()).exchanges.len(), 2);
    transcript.format = TranscriptFormat::ClaudeCode;
    let repaired = repair(transcript);
    assert_eq!((repaired.exchanges.len(), repaired.open.len()), (1, 1));
}

#[test]
fn a_result_without_call_becomes_what_the_user_says() {
    let repaired =
        repair(transcript(vec![answering("x", "lost"), calling(&["x"]), answering("x", "y")]));
    assert_eq!(
        told(&repaired),
        ["1 User: (result of an unknown call), lost", "2 Assistant: call x; Tool: x=y"]
    );
    let text = repaired.exchanges[0].1.messages[0].plain_text();
    assert!(text.starts_with("(result of an unknown call)\nlost"));
    assert_eq!(problems(&repaired), ["1: a result for the unknown call 'x' was kept as text"]);
}

#[test]
fn calls_under_one_id_get_ids_of_their_own() {
    let repaired = repair(transcript(vec![
        calling(&["a", "a", "a-2", "a"]),
        answering("a", "1"),
        answering("a-2", "other"),
        answering("a", "2"),
        answering("a", "3"),
    ]));
    let expected = "1 Assistant: call a, call a-3, call a-2, call a-4; \
        Tool: a=1; Tool: a-2=other; Tool: a-3=2; Tool: a-4=3";
    assert_eq!(told(&repaired), [expected]);
    assert_eq!(repaired.problems.len(), 2);
}

#[test]
fn what_says_nothing_goes_and_is_reported_if_it_held_something() {
    let nothing = Message { parts: Vec::new(), ..said(Role::Assistant, "") };
    let mut with_usage = nothing.clone();
    with_usage.extra.push("usage", RawJson::new("{}").unwrap());
    let mut refusal = nothing.clone();
    refusal.extra.push("refusal", RawJson::new("\"I cannot\"").unwrap());
    let repaired = repair(transcript(vec![
        nothing,
        said(Role::User, ""),
        with_usage,
        refusal,
        said(Role::User, " "),
    ]));
    let lines: Vec<u64> = repaired.exchanges.iter().map(|(line, _)| *line).collect();
    // A refusal is said beside the content, and a blank is still text.
    assert_eq!(lines, [4, 5]);
    assert_eq!(problems(&repaired), ["3: an empty message was left out"]);
}

/// Makes a list in which anything may be wrong; every text in it is another.
fn broken_list(random: &mut Random) -> Vec<Message> {
    let ids = ["a", "b", "a-2", ""];
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let mut number = 0;
    let mut next = || {
        number += 1;
        format!("<{number}>")
    };
    (0..random.below(14))
        .map(|_| {
            let role = *random.pick(&roles);
            let parts = (0..random.below(4)).map(|_| {
                let kind = match (role, random.chance(85)) {
                    (Role::Assistant, true) => 1,
                    (Role::Tool, true) => 2,
                    _ => random.below(4),
                };
                match kind {
                    1 => Part::ToolCall(ToolCall {
                        id: (*random.pick(&ids)).to_owned(),
                        name: "f".to_owned(),
                        arguments: next(),
                        extra: Fields::default(),
                    }),
                    2 => Part::ToolResult(ToolResult {
                        call: (*random.pick(&ids)).to_owned(),
                        content: vec![text(&next())],
                        error: random.chance(20),
                        extra: Fields::default(),
                    }),
                    3 => text(""),
                    _ => text(&next()),
                }
            });
            Message { parts: parts.collect(), ..said(role, "") }
        })
        .collect()
}

fn all_text(messages: &[Message]) -> Vec<String> {
    let text = crate::message::detail_text(messages);
    let words = text.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    let mut words: Vec<String> = words.map(str::to_owned).collect();
    words.sort();
    words
}

#[test]
fn whatever_comes_in_whole_exchanges_come_out_and_no_text_is_lost() {
    let mut random = Random::new(36);
    let (mut whole, mut held_back) = (0, 0);
    for _ in 0..20_000 {
        let messages = broken_list(&mut random);
        let repaired = repair(transcript(messages.clone()));
        let exchanges: Vec<Exchange> =
            repaired.exchanges.iter().map(|each| each.1.clone()).collect();
        let kept: Vec<Message> = exchanges.iter().flat_map(|each| each.messages.clone()).collect();
        assert_eq!(group_exchanges(kept.clone()).unwrap(), exchanges, "{messages:?}");
        let open = repaired.open.iter().map(|entry| entry.message.clone());
        let everything: Vec<Message> = kept.iter().cloned().chain(open).collect();
        assert_eq!(all_text(&everything), all_text(&messages), "{messages:?}");
        held_back += usize::from(!repaired.open.is_empty());

        // What is whole stays as it is.
        let again = repair(transcript(kept));
        assert_eq!(
            again.exchanges.iter().map(|each| each.1.clone()).collect::<Vec<_>>(),
            exchanges
        );
        assert_eq!((again.open.len(), again.problems.len()), (0, 0));
        whole += usize::from(repaired.problems.is_empty());
    }
    assert!(whole > 500 && held_back > 500, "{whole} {held_back}");
}
