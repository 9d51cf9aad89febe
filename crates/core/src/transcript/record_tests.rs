use super::*;
use crate::transcript::{read, repair};

/// A session as Claude Code writes it, every line a step of its growth.
fn session() -> Vec<String> {
    session_in(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
}

/// The same with its lines in another order.
fn session_in(order: &[usize]) -> Vec<String> {
    let line = |id: u32, parent: u32, kind: &str, message: &str| {
        let parent = if parent == 0 { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"sessionId":"s","timestamp":"2026-01-02T03:04:0{}Z","message":{message}}}"#,
            id % 10
        )
    };
    let user = |id, parent, text: &str| {
        line(id, parent, "user", &format!(r#"{{"role":"user","content":"{text}"}}"#))
    };
    let reply = |id, parent, name: &str, block: &str| {
        let message = format!(r#"{{"role":"assistant","id":"{name}","content":[{block}]}}"#);
        line(id, parent, "assistant", &message)
    };
    let result = |id, parent, call: &str| {
        let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"ok"}}"#);
        line(id, parent, "user", &format!(r#"{{"role":"user","content":[{block}]}}"#))
    };
    let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"f","input":{{}}}}"#);
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let lines = [
        r#"{"type":"file-history-snapshot","snapshot":{}}"#.to_owned(),
        user(1, 0, "go"),
        reply(2, 1, "m", r#"{"type":"thinking","thinking":"hm","signature":"x"}"#),
        reply(3, 2, "m", &text("first")),
        reply(4, 3, "m", &text("second")),
        reply(5, 4, "m", &call("a")),
        reply(6, 5, "m", &call("b")),
        result(7, 5, "a"),
        result(8, 6, "b"),
        reply(9, 8, "n", &text("done")),
        user(10, 9, "thanks"),
    ];
    order.iter().map(|at| lines[*at].clone()).collect()
}

fn repaired(lines: &[String]) -> RepairedTranscript {
    repair(read(&lines.join("\n"), None).unwrap())
}

fn reason(record: &ImportRecord, repaired: &mut RepairedTranscript) -> String {
    let error = remaining(Some(record), repaired).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Invalid);
    assert_eq!(error.advice().to_string(), "import it into a new session");
    let reason = error.to_string();
    reason
        .strip_prefix("the transcript no longer begins with what was imported: ")
        .unwrap()
        .to_owned()
}

#[test]
fn a_grown_transcript_adds_only_what_is_new_wherever_the_import_was() {
    grow(&session());
    // A tool may answer before the model has made its next call.
    grow(&session_in(&[0, 1, 2, 3, 4, 5, 7, 6, 8, 9, 10]));
}

/// Imports a session in every way to stop twice, with the record kept as JSON in between.
fn grow(lines: &[String]) {
    for first in 1..=lines.len() {
        for second in first..=lines.len() {
            let mut imported: Vec<Exchange> = Vec::new();
            let mut record: Option<String> = None;
            for end in [first, second, lines.len(), lines.len()] {
                let mut repaired = repaired(&lines[..end]);
                let before: Option<ImportRecord> =
                    record.map(|json| serde_json::from_str(&json).unwrap());
                let new = remaining(before.as_ref(), &mut repaired).unwrap();
                assert_eq!(new, imported.len());
                // To ask again changes nothing.
                assert_eq!(remaining(before.as_ref(), &mut repaired).unwrap(), new);
                imported.extend(repaired.exchanges[new..].iter().map(|each| each.1.clone()));
                let after = ImportRecord::of(&repaired, repaired.exchanges.len());
                record = Some(serde_json::to_string(&after).unwrap());
            }
            let messages: Vec<Message> =
                imported.iter().flat_map(|exchange| exchange.messages.clone()).collect();
            assert_eq!(crate::message::group_exchanges(messages.clone()).unwrap(), imported);
            let parts: usize = messages.iter().map(|message| message.parts.len()).sum();
            assert_eq!(parts, 10, "stops {first} and {second}");
        }
    }
}

#[test]
fn a_transcript_that_changed_is_refused() {
    let lines = session();
    let whole = repaired(&lines);
    let record = ImportRecord::of(&whole, whole.exchanges.len());
    assert_eq!(record.exchanges, 4);

    let fewer = reason(&record, &mut repaired(&lines[..10]));
    assert_eq!(fewer, "it holds 3 exchanges, but 4 were imported");
    let mut edited = lines.clone();
    edited[1] = edited[1].replace("\"go\"", "\"stop\"");
    let other = reason(&record, &mut repaired(&edited));
    assert_eq!(other, "one of its first 4 exchanges differs");
    let renamed: Vec<String> =
        lines.iter().map(|line| line.replace("\"s\"", "\"another\"")).collect();
    assert_eq!(reason(&record, &mut repaired(&renamed)), "it is a different conversation");

    // A reply that was imported in part must still begin with that part.
    let half = repaired(&lines[..4]);
    let record = ImportRecord::of(&half, half.exchanges.len());
    assert_eq!((record.exchanges, record.last_parts), (2, 2));
    assert_eq!(remaining(Some(&record), &mut repaired(&lines)).unwrap(), 2);
    let mut edited = lines;
    edited[3] = edited[3].replace("first", "other");
    let other = reason(&record, &mut repaired(&edited));
    assert_eq!(other, "one of its first 2 exchanges differs");
}

#[test]
fn nothing_imported_means_all_is_new() {
    let mut whole = repaired(&session());
    assert_eq!(remaining(None, &mut whole).unwrap(), 0);
    let nothing = ImportRecord::of(&repaired(&session()[..1]), 0);
    assert_eq!(nothing.source, None);
    assert_eq!(remaining(Some(&nothing), &mut whole).unwrap(), 0);
    // More than there is cannot have been imported.
    assert_eq!(ImportRecord::of(&whole, 99), ImportRecord::of(&whole, 4));
    // In steps or at once: the record is the same, and never goes back.
    let mut steps = ImportRecord::of(&whole, 1);
    for upto in [1, 3, 2, 4, 99, 0] {
        steps.advance(&whole, upto);
    }
    assert_eq!(steps, ImportRecord::of(&whole, 4));
}

#[test]
fn arrays_have_their_first_exchange_as_identity() {
    let array = |messages: &str| repair(read(&format!("[{messages}]"), None).unwrap());
    let user = r#"{"role":"user","content":"hi"}"#;
    let answer = r#"{"role":"assistant","content":"hello"}"#;
    let short = array(user);
    let mut long = array(&format!("{user},{answer}"));
    assert_eq!(short.identity(), long.identity());
    assert_ne!(short.identity(), array(answer).identity());
    assert_eq!(remaining(Some(&ImportRecord::of(&short, 1)), &mut long).unwrap(), 1);
}

#[test]
fn the_chain_depends_on_order_and_on_where_exchanges_end() {
    let one = |text: &str| Exchange { messages: vec![Message::text(Role::User, text)] };
    let (a, b) = (one("a"), one("b"));
    let both = Exchange { messages: [a.messages.clone(), b.messages.clone()].concat() };
    let chains = [chain([&a, &b]), chain([&b, &a]), chain([&both]), chain([&a]), chain([])];
    let distinct: std::collections::HashSet<&String> = chains.iter().collect();
    assert_eq!(distinct.len(), chains.len());
    assert!(chains.iter().all(|chain| chain.len() == 64));
    // Records outlive this version of the code: the hash must never change.
    assert_eq!(chain([&a]), "0830adee26aa484128580f33a74aba35f0c8b675e63b4948f83368a8ec0f442f");
}
