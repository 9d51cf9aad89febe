//! A tree of plain values with their places: what YAML and TOML are read into.
//!
//! Scalars stay as they were written. So `version: 1.10` keeps its zero and `name: no` is the text
//! `no`; what a field wants to be is decided where it is read.

use serde_json::Value as Json;

/// A value and where it stands in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) value: Value,
}

/// A plain value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A scalar; `plain` when it was not quoted, so that it may be a number, a boolean or nothing.
    Text {
        /// What it says.
        text: String,
        /// Whether it was written without quotes.
        plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map, in the order of the file, no key twice.
    Map(Vec<Entry>),
}

/// A key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) node: Node,
}

impl Node {
    /// Tells whether it is nothing: an empty plain scalar, `~` or `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Text { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    /// Returns its text, where it is a scalar and not nothing.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Returns its boolean: exactly `true` or `false`, not quoted.
    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.value {
            Value::Text { text, plain: true } => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns how many values it holds, itself included.
    pub(crate) fn size(&self) -> usize {
        match &self.value {
            Value::Text { .. } => 1,
            Value::List(items) => 1 + items.iter().map(Node::size).sum::<usize>(),
            Value::Map(entries) => {
                1 + entries.iter().map(|entry| 1 + entry.node.size()).sum::<usize>()
            }
        }
    }

    /// Returns how deep it goes: 0 for a scalar.
    pub(crate) fn depth(&self) -> usize {
        let deepest = match &self.value {
            Value::Text { .. } => return 0,
            Value::List(items) => items.iter().map(Node::depth).max(),
            Value::Map(entries) => entries.iter().map(|entry| entry.node.depth()).max(),
        };
        1 + deepest.unwrap_or(0)
    }

    /// Returns what it is, in words.
    pub(crate) fn what(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "nothing",
            Value::Text { .. } => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Returns it as JSON; what is not quoted and looks like a number or boolean becomes one.
    pub(crate) fn json(&self) -> Json {
        match &self.value {
            _ if self.is_null() => Json::Null,
            Value::Text { text, plain: false } => Json::String(text.clone()),
            Value::Text { text, plain: true } => match text.as_str() {
                "true" => Json::Bool(true),
                "false" => Json::Bool(false),
                _ => number(text).unwrap_or_else(|| Json::String(text.clone())),
            },
            Value::List(items) => Json::Array(items.iter().map(Node::json).collect()),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.node.json())).collect(),
            ),
        }
    }
}

/// Reads a number that JSON spells the same way: `1.10` and `007` stay texts.
fn number(text: &str) -> Option<Json> {
    let number: serde_json::Number = serde_json::from_str(text).ok()?;
    (number.to_string() == text).then_some(Json::Number(number))
}
