//! Messages.

use super::{pieces, quoted};
use crate::provider::reply::{Reply, Said, Stop};

pub(super) fn plain(reply: &Reply, model: &str) -> String {
    let blocks: Vec<String> = reply.said.iter().map(block).collect();
    let (blocks, stop, output) = (blocks.join(","), stop(reply), reply.charged.output);
    format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":{model},"content":[{blocks}],"stop_reason":"{stop}","stop_sequence":null,"usage":{{{},"output_tokens":{output}}}}}"#,
        input(reply)
    )
}

pub(super) fn stream(reply: &Reply, model: &str) -> Vec<String> {
    let event =
        |kind: &str, rest: &str| format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{rest}}}\n\n");
    let input = input(reply);
    let start = format!(
        r#","message":{{"id":"msg_1","type":"message","role":"assistant","model":{model},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{{{input},"output_tokens":1}}}}"#
    );
    let mut events = vec![event("message_start", &start), event("ping", "")];
    for (index, said) in reply.said.iter().enumerate() {
        let (begin, deltas) = parted(said);
        let at = format!(r#","index":{index}"#);
        let begin = format!(r#"{at},"content_block":{begin}"#);
        events.push(event("content_block_start", &begin));
        let delta =
            |delta: &String| event("content_block_delta", &format!(r#"{at},"delta":{delta}"#));
        events.extend(deltas.iter().map(delta));
        events.push(event("content_block_stop", &at));
    }
    let last = format!(
        r#","delta":{{"stop_reason":"{}","stop_sequence":null}},"usage":{{"output_tokens":{}}}"#,
        stop(reply),
        reply.charged.output
    );
    events.push(event("message_delta", &last));
    events.push(event("message_stop", ""));
    events
}

fn block(said: &Said) -> String {
    match said {
        Said::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
        Said::Call { id, name, arguments, .. } => {
            let (id, name) = (quoted(id), quoted(name));
            format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{arguments}}}"#)
        }
        Said::Thinking { text, signature } => {
            let (text, signature) = (quoted(text), quoted(signature));
            format!(r#"{{"type":"thinking","thinking":{text},"signature":{signature}}}"#)
        }
    }
}

/// Returns how a block begins, and what is added to it.
fn parted(said: &Said) -> (String, Vec<String>) {
    let deltas = |kind: &str, name: &str, text: &str, size: usize| -> Vec<String> {
        let delta = |piece: &String| format!(r#"{{"type":"{kind}","{name}":{}}}"#, quoted(piece));
        pieces(text, size).iter().map(delta).collect()
    };
    match said {
        Said::Text(text) => {
            let begin = Said::Text(String::new());
            (block(&begin), deltas("text_delta", "text", text, 3))
        }
        Said::Call { id, name, arguments, .. } => {
            let (id, name) = (id.clone(), name.clone());
            let begin = Said::Call { id, name, arguments: "{}".to_owned(), signature: None };
            (block(&begin), deltas("input_json_delta", "partial_json", arguments, 4))
        }
        Said::Thinking { text, signature } => {
            let begin = Said::Thinking { text: String::new(), signature: String::new() };
            let mut added = deltas("thinking_delta", "thinking", text, 5);
            added.extend(deltas("signature_delta", "signature", signature, 1_000));
            (block(&begin), added)
        }
    }
}

fn stop(reply: &Reply) -> &'static str {
    match reply.stop {
        Some(Stop::Length) => "max_tokens",
        Some(Stop::Refused) => "refusal",
        None if reply.has_calls() => "tool_use",
        None => "end_turn",
    }
}

fn input(reply: &Reply) -> String {
    let charged = reply.charged;
    format!(
        r#""input_tokens":{},"cache_creation_input_tokens":{},"cache_read_input_tokens":{}"#,
        charged.input - charged.cached - charged.written,
        charged.written,
        charged.cached
    )
}
