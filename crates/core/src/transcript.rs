//! Transcripts: conversations that other tools wrote down, read into our messages.
//!
//! ```text
//! bytes ── decode ──► text ── read ──► Transcript ── repair ──► RepairedTranscript ── remaining ──► what is new
//! ```
//!
//! [`read`] takes what it can: a line that cannot be read is reported by its number and never stops
//! the rest. [`repair`] then brings the messages into whole exchanges, the only form a session takes.
//! [`quoted`] says what becomes of messages that spoke as the system there.
//! An [`ImportRecord`] remembers how much of a transcript was imported, so that a transcript that
//! has grown adds only what is new.
//!
//! Deliberately absent: files, sessions and clocks. Text comes in, data goes out.

mod bounded;
mod branch;
mod claude_code;
mod decode;
mod lines;
mod messages;
mod quote;
mod record;
mod repair;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    Error, Message, Role,
    index::shorten,
    message::{Part, RawJson},
};

pub use bounded::BoundedLines;
pub use decode::decode;
pub use quote::quoted;
pub use record::{ImportRecord, Seam, chain, remaining};
pub use repair::{RepairedTranscript, repair};

use lines::{Line, json_lines};

/// A way in which tools write conversations down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptFormat {
    /// OpenAI-style messages: an array, an object with `messages`, or one message a line.
    #[serde(rename = "openai")]
    OpenAi,
    /// Anthropic-style messages: an array, an object with `system` and `messages`, or one a line.
    Anthropic,
    /// The JSON lines Claude Code keeps of a session.
    ClaudeCode,
}

impl TranscriptFormat {
    /// Returns the format as it is spelt in commands and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            TranscriptFormat::OpenAi => "openai",
            TranscriptFormat::Anthropic => "anthropic",
            TranscriptFormat::ClaudeCode => "claude-code",
        }
    }
}

impl fmt::Display for TranscriptFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TranscriptFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = [Self::OpenAi, Self::Anthropic, Self::ClaudeCode];
        known.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            Error::UnknownValue {
                what: "transcript format",
                text: shorten(text),
                known: "openai, anthropic, claude-code",
            }
        })
    }
}

/// A conversation as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// How it was written.
    pub format: TranscriptFormat,
    /// The session's id, where the transcript names one.
    pub source: Option<String>,
    /// The system prompts at its head, a blank line between them.
    pub system: Option<String>,
    /// Its messages in order.
    pub entries: Vec<Entry>,
    /// The lines that could not be read.
    pub problems: Vec<TranscriptProblem>,
    /// What was left out on purpose: to be reported, not repaired.
    pub notes: Vec<String>,
}

/// A message and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The number of its line, or in an array the number of the message, from 1.
    pub line: u64,
    /// The message.
    pub message: Message,
}

/// Something that was wrong with a line or message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TranscriptProblem {
    /// The number of the line, or in an array of the message, from 1; 0 is the head of an object.
    pub line: u64,
    /// What was wrong.
    pub what: String,
}

impl fmt::Display for TranscriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.what)
    }
}

/// Returns the format a text seems to be in.
///
/// A conversation in which nothing tells OpenAI from Anthropic counts as OpenAI's; both are read
/// the same way.
pub fn detect(text: &str) -> Option<TranscriptFormat> {
    if let Some(document) = messages::Document::find(text) {
        return messages::dialect(&document);
    }
    json_lines(text).find_map(|(_, line)| match line {
        Line::Object(fields) if claude_code::is_line(&fields) => Some(TranscriptFormat::ClaudeCode),
        Line::Object(fields) => {
            fields.get("role").and_then(|_| messages::dialect(&messages::Document::of_lines(text)))
        }
        Line::Bad(_) | Line::Unfinished => None,
    })
}

/// Reads a transcript in the given format, or in the one it seems to be in.
///
/// It fails only when there is nothing to read: the format is unknown, or not one message could be
/// read where there should be some.
pub fn read(text: &str, format: Option<TranscriptFormat>) -> Result<Transcript, Error> {
    if lines::without_mark(text).trim().is_empty() {
        return Err(unreadable("it is empty"));
    }
    let Some(format) = format.or_else(|| detect(text)) else {
        return Err(unreadable(
            "expected a JSON array of messages, an object with 'messages', one message per line, or \
             the lines of a Claude Code session",
        ));
    };
    let mut transcript = match format {
        TranscriptFormat::OpenAi | TranscriptFormat::Anthropic => messages::read(text, format),
        TranscriptFormat::ClaudeCode => claude_code::read(text),
    };
    if let ([], Some(problem)) = (&*transcript.entries, transcript.problems.first()) {
        return Err(unreadable(&format!("none of it can be read as {format}: {problem}")));
    }
    transcript.take_system();
    Ok(transcript)
}

impl Transcript {
    fn new(format: TranscriptFormat) -> Self {
        Self {
            format,
            source: None,
            system: None,
            entries: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn problem(&mut self, line: u64, what: impl Into<String>) {
        self.problems.push(TranscriptProblem { line, what: what.into() });
    }

    /// Takes the system prompts off the head. One that holds more than text stays a message.
    fn take_system(&mut self) {
        let is_prompt = |entry: &Entry| {
            entry.message.role == Role::System
                && entry.message.parts.iter().all(|part| matches!(part, Part::Text(_)))
        };
        let end = self.entries.iter().position(|entry| !is_prompt(entry));
        let prompts = self.entries.drain(..end.unwrap_or(self.entries.len()));
        let texts: Vec<String> = prompts
            .map(|entry| entry.message.plain_text())
            .filter(|text| !text.is_empty())
            .collect();
        self.system = Some(texts.join("\n\n")).filter(|text| !text.is_empty());
    }
}

fn unreadable(reason: &str) -> Error {
    Error::InvalidRequest {
        reason: format!("not a transcript: {reason}"),
        advice: "check the file, or name its format: openai, anthropic or claude-code".into(),
    }
}

/// Returns a field's string, where it is one.
fn string_of(raw: Option<&RawJson>) -> Option<String> {
    raw?.read().ok()
}

#[cfg(test)]
#[path = "transcript/tests.rs"]
mod tests;
