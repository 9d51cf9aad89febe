//! Chat completions.

use super::{pieces, quoted};
use crate::provider::reply::{Reply, Said, Stop};

pub(super) fn plain(reply: &Reply, model: &str) -> String {
    let (mut text, mut calls, mut thinking) = (String::new(), Vec::new(), String::new());
    for said in &reply.said {
        match said {
            Said::Text(said) => text.push_str(said),
            Said::Thinking { text, .. } => thinking.push_str(text),
            Said::Call { arguments, .. } => calls.push(call(said, arguments)),
        }
    }
    let content = if text.is_empty() { "null".to_owned() } else { quoted(&text) };
    let mut message = format!(r#"{{"role":"assistant","content":{content},"refusal":null"#);
    if !thinking.is_empty() {
        message.push_str(&format!(r#","reasoning_content":{}"#, quoted(&thinking)));
    }
    if !calls.is_empty() {
        message.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
    }
    message.push('}');
    let (finish, usage) = (finish(reply), usage(reply));
    format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":{model},"choices":[{{"index":0,"message":{message},"finish_reason":"{finish}"}}],"usage":{usage}}}"#
    )
}

pub(super) fn stream(reply: &Reply, model: &str, with_usage: bool) -> Vec<String> {
    let event = |choices: &str, rest: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":{model},\"choices\":[{choices}]{rest}}}\n\n"
        )
    };
    let delta = |delta: String| {
        event(&format!(r#"{{"index":0,"delta":{{{delta}}},"finish_reason":null}}"#), "")
    };
    let mut events = vec![delta(r#""role":"assistant","content":"""#.to_owned())];
    let mut index = 0;
    for said in &reply.said {
        match said {
            Said::Text(text) => {
                let texts = pieces(text, 3);
                events.extend(texts.iter().map(|it| delta(format!(r#""content":{}"#, quoted(it)))));
            }
            Said::Thinking { text, .. } => {
                let piece = |it: &String| delta(format!(r#""reasoning_content":{}"#, quoted(it)));
                events.extend(pieces(text, 5).iter().map(piece));
            }
            Said::Call { arguments, .. } => {
                let begin = call(said, "").replacen('{', &format!("{{\"index\":{index},"), 1);
                events.push(delta(format!(r#""tool_calls":[{begin}]"#)));
                events.extend(pieces(arguments, 4).iter().map(|piece| {
                    let piece = quoted(piece);
                    delta(format!(
                        r#""tool_calls":[{{"index":{index},"function":{{"arguments":{piece}}}}}]"#
                    ))
                }));
                index += 1;
            }
        }
    }
    let last = format!(r#"{{"index":0,"delta":{{}},"finish_reason":"{}"}}"#, finish(reply));
    events.push(event(&last, ""));
    if with_usage {
        events.push(event("", &format!(r#","usage":{}"#, usage(reply))));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn call(said: &Said, arguments: &str) -> String {
    let Said::Call { id, name, signature, .. } = said else { return String::new() };
    let (id, name, arguments) = (quoted(id), quoted(name), quoted(arguments));
    let extra = signature.as_ref().map_or(String::new(), |signature| {
        let signature = quoted(signature);
        format!(r#","extra_content":{{"google":{{"thought_signature":{signature}}}}}"#)
    });
    format!(
        r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}{extra}}}"#
    )
}

fn finish(reply: &Reply) -> &'static str {
    match reply.stop {
        Some(Stop::Length) => "length",
        Some(Stop::Refused) => "content_filter",
        None if reply.has_calls() => "tool_calls",
        None => "stop",
    }
}

fn usage(reply: &Reply) -> String {
    let charged = reply.charged;
    format!(
        r#"{{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":{}}}}}"#,
        charged.input,
        charged.output,
        charged.input + charged.output,
        charged.cached
    )
}
