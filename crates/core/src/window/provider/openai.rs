//! OpenAI chat completions: `{"role","content"}` messages, results as messages of role `tool`.

use super::{
    ProviderFormat,
    block::{Place, blocks, count_empty, joined, push_array},
    item::{Draft, Item, Tie, Who},
    json::push_text,
    step::{Answer, Bit, Call, CallResult, Said, Speaker},
};

const FORMAT: ProviderFormat = ProviderFormat::OpenAi;

/// Writes what the user or the system side says.
pub(super) fn said(draft: &mut Draft, said: &Said<'_>) {
    let (who, role, place) = match said.speaker {
        Speaker::System => (Who::System, "system", Place::System),
        Speaker::User => (Who::User, "user", Place::User),
    };
    let mut item = Item::new(who, &format!("{{\"role\":\"{role}\",\"content\":"));
    match joined(blocks(FORMAT, place, &said.bits)) {
        Ok(text) if text.is_empty() => return,
        Ok(text) => {
            push_text(&mut item.json, &text);
            item.shape.blocks = 1;
        }
        Err(blocks) => {
            push_array(&mut item.json, "text", &blocks);
            item.shape.blocks = blocks.len();
            item.shape.empty = count_empty(&blocks);
        }
    }
    finish(draft, item, said.name.as_deref());
}

/// Writes what the model says, and the results of its calls behind it.
pub(super) fn answer(draft: &mut Draft, answer: &Answer<'_>) {
    let text = joined(blocks(FORMAT, Place::Model, &answer.bits)).unwrap_or_default();
    if text.is_empty() && answer.outcomes.is_empty() {
        return;
    }
    let mut item = Item::new(Who::Model, "{\"role\":\"assistant\",\"content\":");
    if text.is_empty() {
        item.json.push_str("null");
    } else {
        push_text(&mut item.json, &text);
        item.shape.blocks = 1;
    }
    let first = draft.calls.len();
    let calls = answer.bits.iter().filter_map(|bit| match bit {
        Bit::Call(call) => Some(call),
        _ => None,
    });
    for call in calls {
        item.json.push_str(if item.shape.calls.is_empty() { ",\"tool_calls\":[" } else { "," });
        push_call(draft, &mut item, call);
    }
    if !item.shape.calls.is_empty() {
        item.json.push(']');
    }
    finish(draft, item, answer.name.as_deref());
    for (number, outcome) in (first..).zip(&answer.outcomes) {
        push_result(draft, number, outcome);
    }
}

/// Writes a message of one text.
pub(super) fn plain(role: &str, text: &str) -> String {
    let mut json = format!("{{\"role\":\"{role}\",\"content\":");
    push_text(&mut json, text);
    json.push('}');
    json
}

fn push_call(draft: &mut Draft, item: &mut Item, call: &Call<'_>) {
    item.json.push_str("{\"id\":");
    item.push_id(draft.call(&call.id), &call.id);
    item.json.push_str(",\"type\":\"function\",\"function\":{\"name\":");
    push_text(&mut item.json, &call.name);
    item.json.push_str(",\"arguments\":");
    push_text(&mut item.json, &call.arguments);
    item.json.push('}');
    // Only a server that wrote this field knows it: others refuse what they do not know.
    let extra = call.extra.filter(|_| call.same_model).and_then(|extra| extra.get("extra_content"));
    if let Some(raw) = extra.filter(|raw| super::json::is_sound(raw.as_str())) {
        item.json.push_str(",\"extra_content\":");
        item.json.push_str(raw.as_str());
    }
    item.json.push('}');
    item.shape.calls.push(Tie { id: call.id.clone(), name: call.name.clone() });
}

fn push_result(draft: &mut Draft, call: usize, outcome: &CallResult<'_>) {
    let id = draft.calls[call].clone();
    let mut item = Item::new(Who::Tool, "{\"role\":\"tool\",\"tool_call_id\":");
    item.push_id(call, &id);
    item.json.push_str(",\"content\":");
    let text = joined(blocks(FORMAT, Place::Result, &outcome.bits)).unwrap_or_default();
    push_text(&mut item.json, &text);
    item.json.push('}');
    item.shape.blocks = usize::from(!text.is_empty());
    item.shape.answers.push(Tie { id, name: String::new() });
    draft.items.push(item);
}

fn finish(draft: &mut Draft, mut item: Item, name: Option<&str>) {
    if let Some(name) = name {
        item.json.push_str(",\"name\":");
        push_text(&mut item.json, name);
    }
    item.json.push('}');
    draft.items.push(item);
}
