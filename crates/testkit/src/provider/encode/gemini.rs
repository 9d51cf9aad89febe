//! `generateContent`.

use super::{pieces, quoted};
use crate::provider::reply::{Reply, Said, Stop};

pub(super) fn plain(reply: &Reply, model: &str) -> String {
    let parts: Vec<String> = reply.said.iter().map(part).collect();
    answer(reply, model, &parts, true)
}

pub(super) fn stream(reply: &Reply, model: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for said in &reply.said {
        match said {
            Said::Text(text) => {
                parts.extend(pieces(text, 3).into_iter().map(|piece| part(&Said::Text(piece))));
            }
            Said::Thinking { text, signature } => {
                parts.extend(
                    pieces(text, 5)
                        .into_iter()
                        .map(|text| part(&Said::Thinking { text, signature: signature.clone() })),
                );
            }
            Said::Call { .. } => parts.push(part(said)),
        }
    }
    let event = |parts: &[String], last: bool| {
        format!("data: {}\r\n\r\n", answer(reply, model, parts, last))
    };
    let mut events: Vec<String> =
        parts.iter().map(|part| event(std::slice::from_ref(part), false)).collect();
    events.push(event(&[r#"{"text":""}"#.to_owned()], true));
    events
}

fn part(said: &Said) -> String {
    match said {
        Said::Text(text) => format!(r#"{{"text":{}}}"#, quoted(text)),
        Said::Thinking { text, .. } => format!(r#"{{"text":{},"thought":true}}"#, quoted(text)),
        Said::Call { name, arguments, signature, .. } => {
            let name = quoted(name);
            let signature = signature.as_ref().map_or(String::new(), |signature| {
                format!(r#","thoughtSignature":{}"#, quoted(signature))
            });
            format!(r#"{{"functionCall":{{"name":{name},"args":{arguments}}}{signature}}}"#)
        }
    }
}

fn answer(reply: &Reply, model: &str, parts: &[String], last: bool) -> String {
    let charged = reply.charged;
    let (parts, finish) = (parts.join(","), if last { finish(reply) } else { String::new() });
    // What an answer cost so far stands in every event; only the last is right.
    let output = if last { charged.output } else { 1 };
    format!(
        r#"{{"candidates":[{{"content":{{"parts":[{parts}],"role":"model"}}{finish},"index":0}}],"usageMetadata":{{"promptTokenCount":{},"cachedContentTokenCount":{},"candidatesTokenCount":{output},"totalTokenCount":{}}},"modelVersion":{model}}}"#,
        charged.input,
        charged.cached,
        charged.input + output
    )
}

fn finish(reply: &Reply) -> String {
    let reason = match reply.stop {
        Some(Stop::Length) => "MAX_TOKENS",
        Some(Stop::Refused) => "SAFETY",
        None => "STOP",
    };
    format!(r#","finishReason":"{reason}""#)
}
