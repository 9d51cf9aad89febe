//! A session on its way, in groups of messages that belong together, and messages as lines of JSON.

use std::{collections::BTreeMap, ops::Range, rc::Rc};

use serde::Serialize;
use serde_json::Value;

use crate::economy::record::{Recorded, Recording};

/// A session on its way: what stands before the call to the model that is due.
pub(super) struct Talk<'a> {
    recording: &'a Recording,
    /// The system prompts.
    pub(super) system: Vec<Rc<str>>,
    /// Messages that belong together, as numbers: one with the results of its calls.
    groups: Vec<Range<usize>>,
    /// The messages but for the system prompts, with their lines.
    messages: Vec<(&'a Recorded, Rc<str>)>,
    /// How many groups stand before the call.
    pub(super) past: usize,
    heard: usize,
    /// The group that is the answer to the next call.
    next: usize,
}

impl<'a> Talk<'a> {
    pub(super) fn new(recording: &'a Recording) -> Self {
        let is_system = |message: &&Recorded| message.role == "system";
        let system = recording.messages.iter().filter(is_system);
        let said = recording.messages.iter().filter(|message| !is_system(message));
        let messages: Vec<_> = said.map(|message| (message, line(&message.to_json()))).collect();
        let mut groups: Vec<Range<usize>> = Vec::new();
        for (at, (message, _)) in messages.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if message.role == "tool" => group.end += 1,
                _ => groups.push(at..at + 1),
            }
        }
        let system = system.map(|message| line(&message.to_json())).collect();
        Self { recording, system, groups, messages, past: 0, heard: 0, next: 0 }
    }

    /// Goes on to the next call to the model; tells whether there is one.
    pub(super) fn next_call(&mut self) -> bool {
        let answers = |group: &Range<usize>| self.messages[group.start].0.role == "assistant";
        let from = self.next.max(1);
        let rest = self.groups.iter().enumerate().skip(from);
        let Some((at, _)) = rest.into_iter().find(|(_, group)| answers(group)) else {
            return false;
        };
        (self.past, self.next) = (at, at + 1);
        true
    }

    /// Returns the messages said since this was asked last.
    pub(super) fn said_since(&mut self) -> Vec<&'a Recorded> {
        let end = self.groups[self.past].start;
        let from = std::mem::replace(&mut self.heard, end);
        self.messages[from..end].iter().map(|(message, _)| *message).collect()
    }

    /// Returns what the model answers.
    pub(super) fn answer(&self) -> &'a Recorded {
        self.messages[self.groups[self.past].start].0
    }

    /// Returns the first message of a group.
    pub(super) fn first(&self, group: usize) -> &'a Recorded {
        self.messages[self.groups[group].start].0
    }

    /// Returns the lines of a group.
    pub(super) fn lines(&self, group: usize) -> impl Iterator<Item = &Rc<str>> {
        self.messages[self.groups[group].clone()].iter().map(|(_, line)| line)
    }

    /// Tells whether a group is what the user asked.
    pub(super) fn asks(&self, group: usize) -> bool {
        let only_first = self.recording.only_first_asks();
        let is_user = |group: usize| self.first(group).role == "user";
        is_user(group) && !(only_first && (0..group).any(is_user))
    }
}

/// Writes a message as one line, its fields in the order of their names.
pub(super) fn line(message: &Value) -> Rc<str> {
    let mut bytes = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, Spaced);
    sorted(message).serialize(&mut writer).expect("JSON is written to memory");
    String::from_utf8(bytes).expect("JSON is text").into()
}

/// Returns what lines take: four bytes are a token.
pub(super) fn tokens<'a>(lines: impl IntoIterator<Item = &'a Rc<str>>) -> f64 {
    lines.into_iter().map(|line| line.len() as f64 / 4.0).sum()
}

/// JSON whose fields are in the order of their names, whatever the order of the map.
#[derive(Serialize)]
#[serde(untagged)]
enum Sorted<'a> {
    Object(BTreeMap<&'a str, Sorted<'a>>),
    Array(Vec<Sorted<'a>>),
    Other(&'a Value),
}

fn sorted(value: &Value) -> Sorted<'_> {
    match value {
        Value::Object(map) => {
            Sorted::Object(map.iter().map(|(key, value)| (key.as_str(), sorted(value))).collect())
        }
        Value::Array(values) => Sorted::Array(values.iter().map(sorted).collect()),
        other => Sorted::Other(other),
    }
}

/// Writes a blank behind commas and colons.
struct Spaced;

impl serde_json::ser::Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}
