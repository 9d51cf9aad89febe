//! Gemini: contents of `user` and `model` in turn, calls and responses as parts.

use super::{
    ProviderFormat,
    anthropic::push_input,
    block::{Block, Place, block, blocks, joined},
    item::{Draft, Item, Tie, Who},
    json::push_text,
    step::{self, Answer, Bit, Call, CallResult, Said},
};

const FORMAT: ProviderFormat = ProviderFormat::Gemini;

/// What the API takes for the signature of a call that another model made.
const FOREIGN_SIGNATURE: &str = "\"skip_thought_signature_validator\"";

/// Writes what the user says; the system side speaks as the user here.
pub(super) fn said(draft: &mut Draft, said: &Said<'_>) {
    let mut item = Item::new(Who::User, "{\"role\":\"user\",\"parts\":[");
    for block in blocks(FORMAT, Place::User, &said.bits) {
        push_part(&mut item, &block, None);
    }
    finish(draft, item);
}

/// Writes what the model says and calls, and the responses in a user content behind it.
pub(super) fn answer(draft: &mut Draft, answer: &Answer<'_>, model: Option<&str>) {
    let first = draft.calls.len();
    let mut item = Item::new(Who::Model, "{\"role\":\"model\",\"parts\":[");
    let calls = || {
        answer.bits.iter().filter_map(|bit| match bit {
            Bit::Call(call) => Some(call),
            _ => None,
        })
    };
    let names: Vec<&str> = calls().map(|call| call.name.as_str()).collect();
    let signed = calls().any(|call| call.extra.and_then(step::signature).is_some());
    let mut wants_signature = !signed && model.is_some_and(wants_signatures);
    for bit in &answer.bits {
        match bit {
            Bit::Call(call) => push_call(draft, &mut item, call, &mut wants_signature),
            Bit::Text { signature, .. } => {
                if let Some(block) = block(FORMAT, Place::Model, bit) {
                    push_part(&mut item, &block, signature.map(|raw| raw.as_str()));
                }
            }
            bit => {
                if let Some(block) = block(FORMAT, Place::Model, bit) {
                    push_part(&mut item, &block, None);
                }
            }
        }
    }
    finish(draft, item);
    if answer.outcomes.is_empty() {
        return;
    }
    let mut item = Item::new(Who::User, "{\"role\":\"user\",\"parts\":[");
    for ((number, name), outcome) in (first..).zip(names).zip(&answer.outcomes) {
        push_response(draft, &mut item, (number, name), outcome);
    }
    finish(draft, item);
}

/// Writes a content of one text.
pub(super) fn plain(role: &str, text: &str) -> String {
    let mut json = format!("{{\"role\":\"{role}\",\"parts\":[{{\"text\":");
    push_text(&mut json, text);
    json.push_str("}]}");
    json
}

/// Tells whether a model refuses calls without a signature: Gemini from 3 on.
fn wants_signatures(model: &str) -> bool {
    let version = model.rsplit('/').next().unwrap_or(model).strip_prefix("gemini-");
    let major = version.and_then(|version| version.split(['.', '-']).next());
    major.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major >= 3)
}

fn push_part(item: &mut Item, block: &Block<'_>, signature: Option<&str>) {
    separate(item);
    match block {
        Block::Text(text) => {
            item.shape.empty += usize::from(text.is_empty());
            item.json.push_str("{\"text\":");
            push_text(&mut item.json, text);
            push_signature(item, signature);
            item.json.push('}');
        }
        Block::Json(raw) => item.json.push_str(raw),
    }
}

fn push_call(draft: &mut Draft, item: &mut Item, call: &Call<'_>, wants_signature: &mut bool) {
    separate(item);
    item.json.push_str("{\"functionCall\":{\"id\":");
    item.push_id(draft.call(&call.id), &call.id);
    item.json.push_str(",\"name\":");
    push_text(&mut item.json, &call.name);
    item.json.push_str(",\"args\":");
    push_input(&mut item.json, &call.arguments);
    item.json.push('}');
    let own = call.extra.and_then(step::signature).map(|raw| raw.as_str());
    // Of calls side by side only the first carries one.
    let foreign = std::mem::take(wants_signature).then_some(FOREIGN_SIGNATURE);
    push_signature(item, own.or(foreign));
    item.json.push('}');
    item.shape.calls.push(Tie { id: call.id.clone(), name: call.name.clone() });
}

fn push_response(
    draft: &Draft,
    item: &mut Item,
    (number, name): (usize, &str),
    outcome: &CallResult<'_>,
) {
    separate(item);
    let id = draft.calls[number].clone();
    item.json.push_str("{\"functionResponse\":{\"id\":");
    item.push_id(number, &id);
    item.json.push_str(",\"name\":");
    push_text(&mut item.json, name);
    let key = if outcome.error { "error" } else { "result" };
    item.json.push_str(&format!(",\"response\":{{\"{key}\":"));
    let text = joined(blocks(FORMAT, Place::Result, &outcome.bits)).unwrap_or_default();
    push_text(&mut item.json, &text);
    item.json.push_str("}}}");
    item.shape.answers.push(Tie { id, name: name.to_owned() });
}

fn push_signature(item: &mut Item, signature: Option<&str>) {
    if let Some(signature) = signature {
        item.json.push_str(",\"thoughtSignature\":");
        item.json.push_str(signature);
    }
}

/// Counts a part, and parts it from the one before.
fn separate(item: &mut Item) {
    if item.shape.blocks > 0 {
        item.json.push(',');
    }
    item.shape.blocks += 1;
}

fn finish(draft: &mut Draft, mut item: Item) {
    if item.shape.blocks > 0 {
        item.json.push_str("]}");
        draft.items.push(item);
    }
}
