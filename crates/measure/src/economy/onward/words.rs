//! Words of messages: every text of them, however deep, in runs of eight and in lines.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::Value;

/// How many words make a run.
const RUN: usize = 8;

/// The least characters of a line that counts.
const LINE: usize = 8;

/// Fields that hold no text.
const NO_TEXT: [&str; 7] =
    ["role", "type", "id", "tool_call_id", "tool_use_id", "cache_control", "signature"];

/// Visits every text of a value; one that is JSON itself is looked into.
pub(super) fn texts(value: &Value, visit: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => within(text, visit),
        Value::Array(values) => values.iter().for_each(|value| texts(value, visit)),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| !NO_TEXT.contains(&key.as_str()));
            fields.for_each(|(_, value)| texts(value, visit));
        }
        _ => {}
    }
}

/// Visits a text, or what is in it where it is JSON.
pub(super) fn within(text: &str, visit: &mut dyn FnMut(&str)) {
    match text.starts_with(['{', '[']).then(|| serde_json::from_str(text)) {
        Some(Ok(value)) => texts(&value, visit),
        _ => visit(text),
    }
}

/// Returns a text's words, in small letters, with a blank between them.
pub(super) fn plain(text: &str) -> String {
    let small = text.to_lowercase();
    let words = small.split(|char: char| !is_word(char)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Adds the runs of a text's words.
pub(super) fn add_runs(text: &str, runs: &mut HashSet<u64>) {
    let plain = plain(text);
    let words: Vec<&str> = plain.split(' ').collect();
    runs.extend(words.windows(RUN).map(hash));
}

/// Adds the lines of a text, without the numbers that tools put before them and blanks around them.
pub(super) fn add_lines(text: &str, lines: &mut HashSet<u64>) {
    let trimmed = text.lines().map(|line| without_number(line).trim());
    lines.extend(trimmed.filter(|line| line.chars().nth(LINE - 1).is_some()).map(hash));
}

fn without_number(line: &str) -> &str {
    let text = line.trim_start();
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let numbered = if rest.len() < text.len() { rest.strip_prefix(['\t', ':', '-']) } else { None };
    numbered.unwrap_or(text)
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_visited_and_json_looked_into() {
        let message = serde_json::json!({
            "role": "assistant", "content": "Hello, World_1!",
            "tool_calls": [{ "id": "x", "function": { "arguments": "{\"path\": \"a/b\"}" } }],
        });
        let mut found = Vec::new();
        texts(&message, &mut |text| found.push(plain(text)));
        found.sort();
        assert_eq!(found, ["a b", "hello world_1"]);
        let mut runs = HashSet::new();
        add_runs("one two three four five six seven", &mut runs);
        assert!(runs.is_empty());
        add_runs("one two three four five six seven eight nine", &mut runs);
        assert_eq!(runs.len(), 2);
    }
    #[test]
    fn lines_are_the_same_with_and_without_numbers() {
        let lines = |text: &str| {
            let mut lines = HashSet::new();
            add_lines(text, &mut lines);
            lines
        };
        let bare = lines("def run(self):\n\n    pass\n    return self.done");
        assert_eq!(bare.len(), 2);
        assert_eq!(lines("    12\tdef run(self):\n    14\t    return self.done"), bare);
        assert_eq!(lines("12:def run(self):\n14-    return self.done\n15-    x = 1"), bare);
        assert_ne!(lines("def run(self): # 12\nreturn self.done"), bare);
    }
}
