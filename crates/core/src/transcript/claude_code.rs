//! The lines Claude Code keeps of a session.
//!
//! A line is one JSON object: something said (`user`, `assistant`) or something the tool noted for
//! itself (`summary`, `progress`, `file-history-snapshot` and others). What was said is taken from
//! the line's `message`, an Anthropic-style message; [`branch`](super::branch) says which lines are
//! the conversation as it stands. A reply of the model comes in pieces, one a line, under one
//! `message.id`: they become one message again.
//!
//! Left out and counted: side conversations of subagents, unless the file holds nothing else; other
//! branches; what the tool wrote in the user's name (`isMeta`). Left out silently: all that nobody
//! said, and `toolUseResult`, which repeats a result for the tool's own display.

use std::collections::HashSet;

use super::{
    Entry, Transcript, TranscriptFormat,
    branch::{Node, Parent, main_line},
    lines::{Line, json_lines},
    messages::{ReadMessage, read_message},
    string_of,
};
use crate::{
    Message, Role, Timestamp,
    message::{Fields, Origin, RawJson},
};

/// Fields of a reply that tell of the request, not of what was said.
const ABOUT_THE_REQUEST: [&str; 8] = [
    "id",
    "type",
    "usage",
    "stop_reason",
    "stop_sequence",
    "stop_details",
    "container",
    "context_management",
];

/// Tells whether an object looks like a line of a session.
pub(super) fn is_line(fields: &Fields) -> bool {
    let has = |name| fields.get(name).is_some();
    match string_of(fields.get("type")).as_deref() {
        Some("user" | "assistant") => {
            has("message") && (has("uuid") || has("sessionId") || has("isSidechain"))
        }
        Some("summary") => has("leafUuid"),
        Some("file-history-snapshot") => has("snapshot"),
        Some("queue-operation" | "progress") => has("sessionId"),
        Some("system") => has("uuid"),
        _ => false,
    }
}

/// Reads the lines of a session.
pub(super) fn read(text: &str) -> Transcript {
    let mut transcript = Transcript::new(TranscriptFormat::ClaudeCode);
    let mut records = read_records(text, &mut transcript);
    let side = |record: &Record| record.sidechain && record.speaks();
    let only_side = records.iter().any(side)
        && records.iter().filter(|record| record.speaks()).all(|record| record.sidechain);
    transcript.source = source(&records, only_side);
    if !only_side {
        note(
            &mut transcript,
            records.iter().filter(|record| side(record)).count(),
            "of side conversations",
        );
        records.retain(|record| !record.sidechain);
    }
    let nodes: Vec<Node<'_>> = records.iter().map(Record::node).collect();
    let on_main_line = main_line(&nodes);
    take_entries(records, &on_main_line, &mut transcript);
    transcript
}

/// One line.
#[derive(Default)]
struct Record {
    number: u64,
    id: Option<String>,
    parent: Option<String>,
    /// Whether it goes on after the tool shortened the conversation.
    after_compaction: bool,
    sidechain: bool,
    meta: bool,
    session: Option<String>,
    agent: Option<String>,
    said: Option<Said>,
}

/// What a line says.
struct Said {
    messages: Vec<Message>,
    /// The id of the model's reply.
    reply: Option<String>,
    content: Option<RawJson>,
}

fn read_records(text: &str, transcript: &mut Transcript) -> Vec<Record> {
    let mut records = Vec::new();
    let mut ids = HashSet::new();
    let (mut repeated, mut unknown) = (0, 0);
    for (number, line) in json_lines(text) {
        let fields = match line {
            Line::Object(fields) => fields,
            Line::Bad(what) => {
                transcript.problem(number, what);
                continue;
            }
            Line::Unfinished => {
                transcript.notes.push("unfinished last line".to_owned());
                continue;
            }
        };
        let Some(kind) = string_of(fields.get("type")) else {
            transcript.problem(number, "'type' is missing or not a string");
            continue;
        };
        let mut record = read_record(number, &fields);
        // A resumed session may begin with copies of lines that are there already.
        if record.id.as_ref().is_some_and(|id| !ids.insert(id.clone())) {
            repeated += 1;
            continue;
        }
        match (kind.as_str(), fields.get("message")) {
            ("user" | "assistant", Some(message)) => match read_said(message, &fields) {
                Ok((said, repaired)) => {
                    if repaired {
                        transcript.problem(number, "unpaired surrogates were replaced");
                    }
                    record.said = Some(said);
                }
                Err(what) => transcript.problem(number, what),
            },
            ("user" | "assistant", None) => transcript.problem(number, "'message' is missing"),
            (_, Some(_)) => unknown += 1,
            (_, None) => {}
        }
        records.push(record);
    }
    note(transcript, repeated, "written twice");
    note(transcript, unknown, "of an unknown kind");
    records
}

fn read_record(number: u64, fields: &Fields) -> Record {
    let text = |name| string_of(fields.get(name));
    let flag = |name| fields.get(name).is_some_and(|raw| raw.as_str() == "true");
    Record {
        number,
        id: text("uuid"),
        parent: text("parentUuid").or_else(|| text("logicalParentUuid")),
        after_compaction: flag("isCompactSummary")
            || text("subtype").is_some_and(|subtype| subtype == "compact_boundary"),
        sidechain: flag("isSidechain"),
        meta: flag("isMeta"),
        session: text("sessionId"),
        agent: text("agentId"),
        said: None,
    }
}

fn read_said(message: &RawJson, line: &Fields) -> Result<(Said, bool), String> {
    let ReadMessage { mut messages, repaired } = read_message(message)?;
    let fields: Fields = message.read().map_err(|_| "'message' must be a JSON object")?;
    let at: Option<Timestamp> = line.get("timestamp").and_then(|raw| raw.read().ok());
    for message in &mut messages {
        message.at = at.or(message.at);
        if message.role == Role::Assistant {
            for name in ABOUT_THE_REQUEST {
                message.extra.take(name);
            }
            message.extra.take("model");
            // What the tool itself says in the model's place has a model in angle brackets.
            let model = string_of(fields.get("model")).filter(|model| !model.starts_with('<'));
            message.origin = Some(Origin { provider: "anthropic".to_owned(), model });
        }
    }
    let reply = string_of(fields.get("id"))
        .filter(|_| messages.iter().all(|message| message.role == Role::Assistant));
    Ok((Said { messages, reply, content: fields.get("content").cloned() }, repaired))
}

impl Record {
    fn speaks(&self) -> bool {
        self.said.is_some()
    }

    /// Tells whether the tool wrote it in the user's name. Results are results whoever wrote them.
    fn is_note(&self) -> bool {
        let answers = |said: &Said| said.messages.iter().any(|each| each.role == Role::Tool);
        self.meta && !self.said.as_ref().is_some_and(answers)
    }

    fn node(&self) -> Node<'_> {
        let parent = match &self.parent {
            Some(parent) => Parent::Line(parent),
            None if self.after_compaction => Parent::MessageBefore,
            None => Parent::None,
        };
        let node = Node { id: self.id.as_deref(), parent, ..Node::default() };
        let Some(said) = &self.said else { return node };
        let calls = said.messages.iter().flat_map(Message::tool_calls);
        let answers = said.messages.iter().flat_map(Message::tool_results);
        Node {
            speaks: !self.is_note(),
            reply: said.reply.as_deref(),
            content: said.content.as_ref().map_or("", RawJson::as_str),
            calls: calls.map(|call| call.id.as_str()).collect(),
            answers: answers.map(|result| result.call.as_str()).collect(),
            ..node
        }
    }
}

/// Returns the session's id. A subagent's file carries its session's, so its own is added.
fn source(records: &[Record], only_side: bool) -> Option<String> {
    let session = records.iter().find_map(|record| record.session.clone())?;
    if !only_side {
        return Some(session);
    }
    let first = records.iter().find(|record| record.sidechain);
    let own = first.and_then(|record| record.agent.as_ref().or(record.id.as_ref()));
    Some(own.map_or(session.clone(), |own| format!("{session}/{own}")))
}

fn take_entries(records: Vec<Record>, on_main_line: &[bool], transcript: &mut Transcript) {
    let (mut notes, mut elsewhere) = (0, 0);
    // The reply whose pieces are being read, and where its message stands.
    let mut open: Option<(String, usize)> = None;
    for (record, on_main_line) in records.into_iter().zip(on_main_line) {
        let is_note = record.is_note();
        let Some(said) = record.said else { continue };
        match (is_note, on_main_line) {
            (true, _) => notes += 1,
            (false, false) => elsewhere += 1,
            (false, true) => {
                for message in said.messages {
                    take_entry(
                        record.number,
                        message,
                        said.reply.as_deref(),
                        &mut open,
                        transcript,
                    );
                }
            }
        }
    }
    note(transcript, elsewhere, "of other branches");
    note(transcript, notes, "that the tool wrote for itself");
}

fn take_entry(
    line: u64,
    message: Message,
    reply: Option<&str>,
    open: &mut Option<(String, usize)>,
    transcript: &mut Transcript,
) {
    match (message.role, reply) {
        // Results may arrive between the pieces of a reply.
        (Role::Tool, _) => {}
        (Role::Assistant, Some(reply)) => match open {
            Some((open, at)) if open == reply => {
                let whole = &mut transcript.entries[*at].message;
                whole.parts.extend(message.parts);
                return;
            }
            _ => *open = Some((reply.to_owned(), transcript.entries.len())),
        },
        (Role::Assistant | Role::System | Role::User, _) => *open = None,
    }
    transcript.entries.push(Entry { line, message });
}

fn note(transcript: &mut Transcript, count: usize, what: &str) {
    match count {
        0 => {}
        1 => transcript.notes.push(format!("left out 1 line {what}")),
        _ => transcript.notes.push(format!("left out {count} lines {what}")),
    }
}

#[cfg(test)]
#[path = "claude_code_tests.rs"]
mod tests;
