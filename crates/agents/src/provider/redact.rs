//! Takes the key out of what a provider says, before anybody else sees it: pieces as they are told,
//! and the whole answer.

use contexture_core::message::{Fields, Part, RawJson};
use serde_json::Value;

use super::key::{Key, REDACTED};
use crate::model::{Answer, ModelEvent, Stop};

/// Takes a key out of an answer, told piece by piece. A piece whose end may begin the key is held
/// back until the next shows whether it does.
pub(super) struct Redactor<'k> {
    key: Option<&'k str>,
    text: String,
    thinking: String,
}

impl<'k> Redactor<'k> {
    pub(super) fn new(key: Option<&'k Key>) -> Self {
        let (text, thinking) = (String::new(), String::new());
        Self { key: key.and_then(Key::secret), text, thinking }
    }

    /// Emits an event without the key.
    pub(super) fn emit(&mut self, event: ModelEvent, emit: &mut (dyn FnMut(ModelEvent) + Send)) {
        let Some(key) = self.key else { return emit(event) };
        match event {
            ModelEvent::Text(piece) => {
                let safe = step(key, &mut self.text, &piece);
                if !safe.is_empty() {
                    emit(ModelEvent::Text(safe));
                }
            }
            ModelEvent::Thinking(piece) => {
                let safe = step(key, &mut self.thinking, &piece);
                if !safe.is_empty() {
                    emit(ModelEvent::Thinking(safe));
                }
            }
            ModelEvent::ToolCall(name) => emit(ModelEvent::ToolCall(name.replace(key, REDACTED))),
            event @ ModelEvent::Retry { .. } => emit(event),
        }
    }

    /// Forgets what was held back: the answer begins again.
    pub(super) fn restart(&mut self) {
        self.text.clear();
        self.thinking.clear();
    }

    /// Tells what was held back, and returns the whole answer without the key.
    pub(super) fn finish(
        mut self,
        mut answer: Answer,
        emit: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Answer {
        let Some(key) = self.key.take() else { return answer };
        if !self.thinking.is_empty() {
            emit(ModelEvent::Thinking(self.thinking));
        }
        if !self.text.is_empty() {
            emit(ModelEvent::Text(self.text));
        }
        answer.message.parts.iter_mut().for_each(|it| part(key, it));
        fields(key, &mut answer.message.extra);
        if let Some(model) = answer.usage.as_mut().and_then(|usage| usage.model.as_mut()) {
            plain(key, model);
        }
        if let Stop::Refused(reason) = &mut answer.stop {
            plain(key, reason);
        }
        answer
    }
}

/// Adds a piece to what was held back; returns what can be told of it.
fn step(key: &str, held: &mut String, piece: &str) -> String {
    held.push_str(piece);
    let mut safe = held.replace(key, REDACTED);
    let mut begun = key.char_indices().rev().map(|(at, _)| at);
    let kept = begun.find(|at| safe.ends_with(&key[..*at])).unwrap_or(0);
    *held = safe.split_off(safe.len() - kept);
    safe
}

fn plain(key: &str, text: &mut String) {
    if text.contains(key) {
        *text = text.replace(key, REDACTED);
    }
}

fn part(key: &str, part: &mut Part) {
    match part {
        Part::Text(text) => {
            plain(key, &mut text.text);
            fields(key, &mut text.extra);
        }
        Part::ToolCall(call) => {
            plain(key, &mut call.id);
            plain(key, &mut call.name);
            match RawJson::new(&call.arguments) {
                Ok(arguments) => raw(key, &arguments)
                    .into_iter()
                    .for_each(|it| it.as_str().clone_into(&mut call.arguments)),
                Err(_) => plain(key, &mut call.arguments),
            }
            fields(key, &mut call.extra);
        }
        Part::ToolResult(result) => {
            plain(key, &mut result.call);
            result.content.iter_mut().for_each(|it| self::part(key, it));
            fields(key, &mut result.extra);
        }
        Part::Image(image) => replace(key, &mut image.source),
        Part::Thinking(thinking) => {
            plain(key, &mut thinking.text);
            replace(key, &mut thinking.source);
        }
        Part::Other(source) => replace(key, source),
    }
}

fn fields(key: &str, fields: &mut Fields) {
    let quotes = |(name, value): (&str, &RawJson)| name.contains(key) || raw(key, value).is_some();
    if !fields.iter().any(quotes) {
        return;
    }
    let mut clean = Fields::default();
    for (name, value) in fields.iter() {
        let value = raw(key, value).unwrap_or_else(|| value.clone());
        clean.push(name.replace(key, REDACTED), value);
    }
    *fields = clean;
}

fn replace(key: &str, json: &mut RawJson) {
    if let Some(clean) = raw(key, json) {
        *json = clean;
    }
}

/// Returns JSON without the key, where it holds it, however its letters are written.
fn raw(key: &str, json: &RawJson) -> Option<RawJson> {
    if !json.as_str().contains(key) && !json.as_str().contains('\\') {
        return None;
    }
    let mut value: Value = json.read().ok()?;
    if !within(key, &mut value) {
        return None;
    }
    RawJson::new(&value.to_string()).ok()
}

/// Takes the key out of every text of a value; tells whether there was one.
fn within(key: &str, value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let found = text.contains(key);
            plain(key, text);
            found
        }
        Value::Array(items) => {
            items.iter_mut().fold(false, |found, item| within(key, item) | found)
        }
        Value::Object(fields) => {
            let named = fields.keys().any(|name| name.contains(key));
            if named {
                let taken = std::mem::take(fields).into_iter();
                *fields = taken.map(|(name, it)| (name.replace(key, REDACTED), it)).collect();
            }
            fields.values_mut().fold(named, |found, item| within(key, item) | found)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-4711-secret";

    #[test]
    fn a_key_is_found_however_a_text_is_cut() {
        let text = format!("it is {KEY}{KEY} or sk-4711-sec, sk-sk-4711-secrets; sk-");
        let expected = "it is [key redacted][key redacted] or sk-4711-sec, sk-[key redacted]s; sk-";
        for size in 1..text.len() {
            let (mut held, mut passed_on) = (String::new(), String::new());
            for piece in text.as_bytes().chunks(size) {
                let safe = step(KEY, &mut held, std::str::from_utf8(piece).unwrap());
                assert!(!safe.contains(KEY));
                passed_on.push_str(&safe);
            }
            assert_eq!(passed_on + &held, expected, "pieces of {size}");
        }
    }

    #[test]
    fn json_loses_a_key_and_keeps_its_other_bytes() {
        let read = |text: &str| raw(KEY, &RawJson::new(text).unwrap());
        assert_eq!(read(r#"{"a": 1.50, "b": "sk-4711\n"}"#), None);
        let found = read(r#"{"a":["x \u0073k-4711-\u0073ecret"],"sk-4711-secret":1}"#).unwrap();
        assert_eq!(found.as_str(), r#"{"[key redacted]":1,"a":["x [key redacted]"]}"#);
    }
}
