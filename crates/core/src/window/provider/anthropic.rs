//! Anthropic Messages: content blocks, results first in the user message behind their calls.
//!
//! Every message ends with `}]}`, the end of its last block, of its content and of itself, so that
//! a cache mark can be put into the last block without reading it.

use super::{
    ProviderFormat,
    block::{Block, Place, block, blocks, count_empty, push_array},
    item::{Draft, Item, Tie, Who},
    json::{is_sound_object, push_text},
    step::{Answer, Bit, Call, CallResult, Said},
};
use crate::message::{Fields, RawJson};

const FORMAT: ProviderFormat = ProviderFormat::Anthropic;

/// What a breakpoint of the cache looks like.
pub(super) const CACHE_MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// How many bytes of a message stand behind the fields of its last block.
pub(super) const TAIL: usize = "}]}".len();

/// The most breakpoints a request may have.
pub(super) const MOST_MARKS: usize = 4;

/// Writes what the user says; the system side speaks as the user here, for `system` stands apart.
pub(super) fn said(draft: &mut Draft, said: &Said<'_>) {
    let blocks = speaking(blocks(FORMAT, Place::User, &said.bits));
    if blocks.is_empty() {
        return;
    }
    let mut item = Item::new(Who::User, "{\"role\":\"user\",\"content\":");
    push_array(&mut item.json, "text", &blocks);
    item.json.push('}');
    item.shape.blocks = blocks.len();
    item.shape.empty = count_empty(&blocks);
    draft.items.push(item);
}

/// Writes what the model thinks, says and calls, and the results in a user message behind it.
pub(super) fn answer(draft: &mut Draft, answer: &Answer<'_>) {
    let served = served(&answer.bits);
    let first = draft.calls.len();
    let mut item = Item::new(Who::Model, "{\"role\":\"assistant\",\"content\":[");
    // Where the last block that may end a message ends, and how many there are up to it.
    let mut end = (item.json.len(), 0);
    for bit in &answer.bits {
        let before = item.json.len();
        if item.shape.blocks > 0 {
            item.json.push(',');
        }
        match bit {
            Bit::Call(call) => push_call(draft, &mut item, call),
            Bit::Thinking(source) if is_thinking(source) => item.json.push_str(source.as_str()),
            Bit::Other { source, .. } if !is_whole(source, &served) => {
                item.json.truncate(before);
                continue;
            }
            bit => match block(FORMAT, Place::Model, bit) {
                Some(Block::Json(raw)) => item.json.push_str(&raw),
                Some(Block::Text(text)) if !text.trim().is_empty() => push_block(&mut item, &text),
                _ => {
                    item.json.truncate(before);
                    continue;
                }
            },
        }
        item.shape.blocks += 1;
        if !matches!(bit, Bit::Thinking(_)) {
            end = (item.json.len(), item.shape.blocks);
        }
    }
    // A message may not end with thinking: what it led to is not here.
    item.json.truncate(end.0);
    item.shape.blocks = end.1;
    if item.shape.blocks == 0 {
        return;
    }
    item.json.push_str("]}");
    draft.items.push(item);
    push_results(draft, first, &answer.outcomes);
}

/// Writes a message of one text.
pub(super) fn plain(role: &str, text: &str) -> String {
    let mut json = format!("{{\"role\":\"{role}\",\"content\":");
    push_array(&mut json, "text", &[Block::Text(text.into())]);
    json.push('}');
    json
}

/// Leaves out texts of nothing but space, which the API refuses.
fn speaking(mut blocks: Vec<Block<'_>>) -> Vec<Block<'_>> {
    blocks.retain(|block| !matches!(block, Block::Text(text) if text.trim().is_empty()));
    blocks
}

fn push_block(item: &mut Item, text: &str) {
    item.json.push_str("{\"type\":\"text\",\"text\":");
    push_text(&mut item.json, text);
    item.json.push('}');
}

fn push_call(draft: &mut Draft, item: &mut Item, call: &Call<'_>) {
    item.json.push_str("{\"type\":\"tool_use\",\"id\":");
    item.push_id(draft.call(&call.id), &call.id);
    item.json.push_str(",\"name\":");
    push_text(&mut item.json, &call.name);
    item.json.push_str(",\"input\":");
    push_input(&mut item.json, &call.arguments);
    item.json.push('}');
    item.shape.calls.push(Tie { id: call.id.clone(), name: call.name.clone() });
}

/// Writes arguments as the object a provider asks for, byte for byte where they are one.
pub(super) fn push_input(out: &mut String, arguments: &str) {
    if arguments.trim().is_empty() {
        out.push_str("{}");
    } else if is_sound_object(arguments) {
        out.push_str(arguments);
    } else {
        out.push_str("{\"arguments\":");
        push_text(out, arguments);
        out.push('}');
    }
}

fn push_results(draft: &mut Draft, first: usize, outcomes: &[CallResult<'_>]) {
    if outcomes.is_empty() {
        return;
    }
    let mut item = Item::new(Who::User, "{\"role\":\"user\",\"content\":[");
    for (number, outcome) in (first..).zip(outcomes) {
        if number > first {
            item.json.push(',');
        }
        let id = draft.calls[number].clone();
        item.json.push_str("{\"type\":\"tool_result\",\"tool_use_id\":");
        item.push_id(number, &id);
        push_content(&mut item.json, outcome);
        item.json.push('}');
        item.shape.answers.push(Tie { id, name: String::new() });
    }
    item.json.push_str("]}");
    item.shape.blocks = outcomes.len();
    draft.items.push(item);
}

fn push_content(out: &mut String, outcome: &CallResult<'_>) {
    let mut blocks = speaking(blocks(FORMAT, Place::Result, &outcome.bits));
    if outcome.error {
        out.push_str(",\"is_error\":true");
        if blocks.is_empty() {
            // A failure must say something.
            blocks.push(Block::Text("(error without a text)".into()));
        }
    }
    match blocks.as_slice() {
        [] => {}
        [Block::Text(text)] => {
            out.push_str(",\"content\":");
            push_text(out, text);
        }
        blocks => {
            out.push_str(",\"content\":");
            push_array(out, "text", blocks);
        }
    }
}

/// Tells whether a source is thinking as the API gave it, with what proves it.
fn is_thinking(source: &RawJson) -> bool {
    let fields: Fields = source.read().unwrap_or_default();
    let text = |name| fields.get(name).and_then(|raw: &RawJson| raw.read::<String>().ok());
    let proved = match text("type").as_deref() {
        Some("thinking") => text("signature").is_some_and(|signature| !signature.is_empty()),
        Some("redacted_thinking") => text("data").is_some_and(|data| !data.is_empty()),
        _ => false,
    };
    proved && fields.get("cache_control").is_none() && is_sound_object(source.as_str())
}

/// Returns the ids of calls that ran at the provider and have both their call and their result.
fn served(bits: &[Bit<'_>]) -> Vec<String> {
    let fields = |bit: &Bit<'_>| match bit {
        Bit::Other { source, .. } => serde_json::from_str::<Fields>(source).ok(),
        _ => None,
    };
    let ids = |name: &str| -> Vec<String> {
        let id = |fields: Fields| fields.get(name)?.read::<String>().ok();
        bits.iter().filter_map(fields).filter_map(id).collect()
    };
    let results = ids("tool_use_id");
    ids("id").into_iter().filter(|id| results.contains(id)).collect()
}

/// Tells whether an unknown part is a call or result of which the other half is here too.
fn is_whole(source: &str, served: &[String]) -> bool {
    let fields: Fields = serde_json::from_str(source).unwrap_or_default();
    let id = fields.get("tool_use_id").or_else(|| fields.get("id"));
    id.and_then(|raw| raw.read::<String>().ok()).is_some_and(|id| served.contains(&id))
}
