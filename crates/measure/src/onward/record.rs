//! Recorded sessions as they are measured here: message by message, in groups that belong together.

use std::{collections::BTreeMap, io::BufRead, ops::Range, path::Path, rc::Rc};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::data::{files, open};

/// A recorded session.
#[derive(Debug, Deserialize)]
pub(super) struct Recording {
    #[serde(default)]
    pub(super) dataset: String,
    pub(super) session_id: String,
    stats: Stats,
    pub(super) messages: Vec<Recorded>,
    /// The line it was read from.
    #[serde(skip)]
    pub(super) line: String,
}

#[derive(Debug, Deserialize)]
struct Stats {
    tokens_o200k: u64,
}

/// A message of it.
#[derive(Debug, Deserialize)]
pub(super) struct Recorded {
    pub(super) role: String,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Call>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Recorded {
    /// Returns what it says.
    pub(super) fn content(&self) -> &str {
        self.content.as_deref().unwrap_or_default()
    }

    /// Returns the calls it makes.
    pub(super) fn calls(&self) -> &[Call] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    /// Tells whether it says nothing and calls nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.content().is_empty() && self.calls().is_empty()
    }

    /// Returns it as a provider gets it.
    pub(super) fn to_json(&self) -> Value {
        let mut message = json!({ "role": self.role, "content": self.content() });
        if !self.calls().is_empty() {
            let call = |call: &Call| {
                let function = json!({ "name": call.name, "arguments": call.arguments });
                json!({ "id": call.id, "type": "function", "function": function })
            };
            message["tool_calls"] = self.calls().iter().map(call).collect();
        }
        if self.role == "tool" {
            message["tool_call_id"] = json!(self.tool_call_id);
        }
        message
    }
}

impl Recording {
    /// Reads a session from its line.
    pub(super) fn parse(line: String) -> serde_json::Result<Self> {
        let recording: Self = serde_json::from_str(&line)?;
        Ok(Self { line, ..recording })
    }

    pub(super) fn tokens(&self) -> u64 {
        self.stats.tokens_o200k
    }

    /// Tells whether results of commands are user messages: then only the first of those is a request.
    pub(super) fn only_first_asks(&self) -> bool {
        self.messages.iter().all(|message| message.role != "tool")
    }
}

/// Reads the sessions of a folder, in the order of their names.
pub(super) fn read(folder: &Path) -> anyhow::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for path in files(folder)? {
        for (number, line) in (1..).zip(open(&path)?.lines()) {
            let line = line.with_context(|| format!("reading {}", path.display()))?;
            if line.trim().is_empty() {
                continue;
            }
            let recording = Recording::parse(line);
            recordings
                .push(recording.with_context(|| format!("{} line {number}", path.display()))?);
        }
    }
    recordings.sort_by(|a, b| (&a.dataset, &a.session_id).cmp(&(&b.dataset, &b.session_id)));
    Ok(recordings)
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
