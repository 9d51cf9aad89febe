//! Reading bodies: what stands where, and what the texts in it take.

use std::{
    collections::{HashMap, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    ops::Range,
};

use contexture_core::{TokenCounter, Window, window::MESSAGE_OVERHEAD};
use serde_json::Value;

/// A breakpoint as it stands in a body. Within a string its quotes would be escaped.
const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// Under these keys stand texts that a model reads.
const TEXTS: [&str; 6] = ["text", "content", "arguments", "output", "result", "error"];

/// Under these keys stand arguments of calls that a model reads as JSON.
const ARGUMENTS: [&str; 2] = ["input", "args"];

/// What stands in a window, without cache breakpoints: what is before the messages, then those.
#[derive(Debug, Default)]
pub(super) struct SentBody {
    body: String,
    parts: Vec<Range<usize>>,
}

impl SentBody {
    pub(super) fn new(window: &Window) -> Self {
        let mut body = String::with_capacity(window.body.len());
        let mut parts = Vec::with_capacity(window.messages.len() + 1);
        // Without messages the end of their list stands where the first would begin.
        let none = window.body.len().saturating_sub("]}".len());
        let first = window.messages.first().map_or(none, |range| range.start);
        for range in std::iter::once(0..first).chain(window.messages.iter().cloned()) {
            let begin = body.len();
            body.push_str(&window.body[range].replace(CACHE_MARK, ""));
            parts.push(begin..body.len());
        }
        Self { body, parts }
    }

    fn part(&self, at: usize) -> Option<&str> {
        self.parts.get(at).map(|range| &self.body[range.clone()])
    }

    /// Returns the number of the first part that does not stand in a later window as it was.
    pub(super) fn changed(&self, later: &Self) -> Option<usize> {
        (0..self.parts.len()).find(|at| self.part(*at) != later.part(*at))
    }
}

/// Counts bodies of one format by what is in them, each message once.
pub(super) struct Counts<'a> {
    counter: &'a dyn TokenCounter,
    known: HashMap<u64, u64>,
}

impl<'a> Counts<'a> {
    pub(super) fn new(counter: &'a dyn TokenCounter) -> Self {
        Self { counter, known: HashMap::new() }
    }

    /// Counts a window from its parsed body: its texts, and what stands around each message.
    pub(super) fn window(&mut self, window: &Window, body: &Value) -> u64 {
        let mut total = 0;
        let lists = ["messages", "input", "contents"];
        for (key, value) in body.as_object().into_iter().flatten() {
            let messages = match value {
                Value::Array(messages) if lists.contains(&key.as_str()) => messages,
                // What stands before the messages: the system part, as blocks or as a string.
                value => {
                    total += MESSAGE_OVERHEAD + self.remembered(&value.to_string(), value);
                    continue;
                }
            };
            for (range, message) in window.messages.iter().zip(messages) {
                let json = &window.body[range.clone()];
                total += MESSAGE_OVERHEAD + self.remembered(json, message);
            }
        }
        total
    }

    fn remembered(&mut self, json: &str, value: &Value) -> u64 {
        let mut hasher = DefaultHasher::new();
        json.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let tokens = self.count("text", value);
        self.known.insert(key, tokens);
        tokens
    }

    fn count(&self, key: &str, value: &Value) -> u64 {
        match value {
            Value::String(text) if TEXTS.contains(&key) => self.counter.count(text).0,
            Value::Array(values) => values.iter().map(|value| self.count(key, value)).sum(),
            Value::Object(_) if ARGUMENTS.contains(&key) => {
                self.counter.count(&value.to_string()).0
            }
            Value::Object(fields) => fields.iter().map(|(key, value)| self.count(key, value)).sum(),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_arguments_count_and_names_of_fields_do_not() {
        let counter = contexture_tokens::counter_for("o200k_base");
        let counts = Counts::new(counter.as_ref());
        let count = |json: &str| counts.count("text", &serde_json::from_str(json).unwrap());
        let tokens = |text: &str| counter.count(text).0;
        assert_eq!(count(r#"{"role":"user","content":"hello there"}"#), tokens("hello there"));
        let call = r#"{"role":"assistant","content":[{"type":"text","text":"so"},
            {"type":"tool_use","id":"a","name":"f","input":{"path":"x/y"}}]}"#;
        assert_eq!(count(call), tokens("so") + tokens(r#"{"path":"x/y"}"#));
        let response = r#"{"role":"user","parts":[{"functionResponse":{"id":"a","name":"f",
            "response":{"result":"done it"}}}]}"#;
        assert_eq!(count(response), tokens("done it"));
    }

    #[test]
    fn a_breakpoint_is_no_change_and_anything_else_is() {
        let standing = |parts: &[&str]| {
            let mut body = String::new();
            let ranges = parts.iter().map(|part| {
                let begin = body.len();
                body.push_str(&part.replace(CACHE_MARK, ""));
                begin..body.len()
            });
            let parts = ranges.collect();
            SentBody { body, parts }
        };
        let before = standing(&["{", r#"{"text":"a","cache_control":{"type":"ephemeral"}}"#]);
        assert_eq!(before.changed(&standing(&["{", r#"{"text":"a"}"#, "{}"])), None);
        assert_eq!(before.changed(&standing(&["{", r#"{"text":"b"}"#])), Some(1));
        assert_eq!(before.changed(&standing(&["{"])), Some(1));
        assert_eq!(SentBody::default().changed(&before), None);
    }
}
