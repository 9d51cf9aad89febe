//! OpenAI Responses: a flat list of items, where messages, calls, outputs and reasoning stand apart.

use super::{
    ProviderFormat,
    block::{Block, Place, block, blocks, count_empty, joined, push_array},
    item::{Draft, Item, Tie, Who},
    json::{is_sound_object, push_text},
    step::{Answer, Bit, Call, CallResult, Said, Speaker},
};
use crate::message::{Fields, RawJson};

const FORMAT: ProviderFormat = ProviderFormat::Responses;

/// Writes what the user or the system side says.
pub(super) fn said(draft: &mut Draft, said: &Said<'_>) {
    let (who, place) = match said.speaker {
        Speaker::System => (Who::System, Place::System),
        Speaker::User => (Who::User, Place::User),
    };
    push_message(draft, (who, None), &blocks(FORMAT, place, &said.bits));
}

/// Writes what the model says, thinks and calls in its order, then the outputs.
pub(super) fn answer(draft: &mut Draft, answer: &Answer<'_>) {
    let first = draft.calls.len();
    let mut texts: Vec<Block<'_>> = Vec::new();
    for bit in &answer.bits {
        let item = match bit {
            Bit::Call(call) => call_item(draft, call),
            Bit::Thinking(source) if is_item(source, "reasoning") => {
                Item::new(Who::Reasoning, source.as_str())
            }
            Bit::Other { kind, source, native: true }
                if kind == "compaction" && is_sound_object(source) =>
            {
                Item::new(Who::Opaque, source)
            }
            bit => {
                texts.extend(block(FORMAT, Place::Model, bit));
                continue;
            }
        };
        push_said(draft, &std::mem::take(&mut texts), answer.phase);
        draft.items.push(item);
    }
    push_said(draft, &texts, answer.phase);
    for (number, outcome) in (first..).zip(&answer.outcomes) {
        push_output(draft, number, outcome);
    }
}

/// Takes out reasoning that no message or call of the model follows: the API refuses it.
pub(super) fn drop_lone_reasoning(draft: &mut Draft) {
    let mut belongs = false;
    let mut kept: Vec<Item> = Vec::with_capacity(draft.items.len());
    for item in std::mem::take(&mut draft.items).into_iter().rev() {
        if item.shape.who == Who::Reasoning {
            if belongs {
                kept.push(item);
            }
            continue;
        }
        belongs = matches!(item.shape.who, Who::Model | Who::Call);
        kept.push(item);
    }
    kept.reverse();
    draft.items = kept;
}

/// Writes a message of one text.
pub(super) fn plain(role: &str, text: &str) -> String {
    let mut json = message_head(role);
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    push_array(&mut json, kind, &[Block::Text(text.into())]);
    json.push('}');
    json
}

fn message_head(role: &str) -> String {
    format!("{{\"type\":\"message\",\"role\":\"{role}\",\"content\":")
}

/// Writes what the model said, with the phase of its work it said it in.
fn push_said(draft: &mut Draft, blocks: &[Block<'_>], phase: Option<&'static str>) {
    push_message(draft, (Who::Model, phase), blocks);
}

fn push_message(draft: &mut Draft, (who, phase): (Who, Option<&str>), blocks: &[Block<'_>]) {
    if blocks.is_empty() {
        return;
    }
    let (role, kind) = match who {
        Who::System => ("system", "input_text"),
        Who::Model => ("assistant", "output_text"),
        _ => ("user", "input_text"),
    };
    let mut item = Item::new(who, &message_head(role));
    push_array(&mut item.json, kind, blocks);
    if let Some(phase) = phase {
        item.json.push_str(&format!(",\"phase\":\"{phase}\""));
    }
    item.json.push('}');
    item.shape.blocks = blocks.len();
    item.shape.empty = count_empty(blocks);
    draft.items.push(item);
}

fn call_item(draft: &mut Draft, call: &Call<'_>) -> Item {
    let mut item = Item::new(Who::Call, "{\"type\":\"function_call\",\"call_id\":");
    item.push_id(draft.call(&call.id), &call.id);
    item.json.push_str(",\"name\":");
    push_text(&mut item.json, &call.name);
    item.json.push_str(",\"arguments\":");
    push_text(&mut item.json, &call.arguments);
    item.json.push('}');
    item.shape.calls.push(Tie { id: call.id.clone(), name: call.name.clone() });
    item
}

fn push_output(draft: &mut Draft, call: usize, outcome: &CallResult<'_>) {
    let id = draft.calls[call].clone();
    let mut item = Item::new(Who::Output, "{\"type\":\"function_call_output\",\"call_id\":");
    item.push_id(call, &id);
    item.json.push_str(",\"output\":");
    match joined(blocks(FORMAT, Place::Result, &outcome.bits)) {
        Ok(text) => {
            push_text(&mut item.json, &text);
            item.shape.blocks = usize::from(!text.is_empty());
        }
        Err(blocks) => {
            push_array(&mut item.json, "input_text", &blocks);
            item.shape.blocks = blocks.len();
        }
    }
    item.json.push('}');
    item.shape.answers.push(Tie { id, name: String::new() });
    draft.items.push(item);
}

fn is_item(source: &RawJson, kind: &str) -> bool {
    let fields: Fields = source.read().unwrap_or_default();
    let found = fields.get("type").and_then(|raw| raw.read::<String>().ok());
    found.as_deref() == Some(kind) && is_sound_object(source.as_str())
}
