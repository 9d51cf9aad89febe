//! Brings messages into whole exchanges, in one fixed way.
//!
//! What a session takes must be whole: every call has its result directly after it. Transcripts
//! often are not: other messages come between, tools were interrupted, files end in the middle.
//! The rules:
//!
//! - A result goes to the last message before it that makes its call, whatever stands between.
//! - A call without a result gets one that says so, and that it failed. Only the last message may
//!   still be waiting: it is held back, with the results it has.
//! - A result without a call, or a second one of the same call, becomes what the user says.
//! - Calls of one message under one id get ids of their own: `x`, `x-2`, `x-3`; results go to them
//!   in order.
//! - A message that holds nothing goes.
//!
//! No text is lost on the way, and [`group_exchanges`](crate::message::group_exchanges) accepts the outcome.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Entry, Seam, Transcript, TranscriptFormat, TranscriptProblem};
use crate::{
    Message, Role,
    index::shorten,
    message::{Exchange, Fields, Part, Text, ToolResult},
};

/// How a result begins whose call is not there.
const UNKNOWN_CALL: &str = "(result of an unknown call)";

/// How a result begins whose call has one already.
const REPEATED: &str = "(another result of the same call)";

/// Fields in which providers put words of the model beside the content.
const WORDS_BESIDE: [&str; 4] = ["refusal", "reasoning", "reasoning_content", "thinking"];

/// A transcript in whole exchanges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedTranscript {
    /// How it was written.
    pub format: TranscriptFormat,
    /// The session's id, where the transcript names one.
    pub source: Option<String>,
    /// The system prompts at its head.
    pub system: Option<String>,
    /// Its exchanges in order, each with the line it begins on.
    pub exchanges: Vec<(u64, Exchange)>,
    /// The last messages, while calls among them wait for results: the transcript will go on.
    pub open: Vec<Entry>,
    /// What could not be read, then what had to be repaired.
    pub problems: Vec<TranscriptProblem>,
    /// What was left out on purpose.
    pub notes: Vec<String>,
    /// Where [`remaining`](super::remaining) parted replies that went on after their import.
    pub seams: Vec<Seam>,
}

/// Brings the messages of a transcript into whole exchanges; see the module's rules.
pub fn repair(transcript: Transcript) -> RepairedTranscript {
    let Transcript { format, source, system, entries, problems, notes } = transcript;
    let mut mender = Mender { problems, ..Mender::default() };
    entries.into_iter().for_each(|entry| mender.take(entry));
    let waiting = mender.waiting(format);
    let open = mender.blocks.split_off(waiting);
    let exchanges = mender.blocks.into_iter().map(|block| {
        for call in block.calls.iter().filter(|call| !call.answered) {
            let what = format!("no result was recorded for call '{}'", shorten(&call.id));
            mender.problems.push(TranscriptProblem { line: block.line, what });
        }
        (block.line, block.closed())
    });
    let exchanges = exchanges.collect();
    let open = open.into_iter().flat_map(Block::entries).collect();
    let (problems, seams) = (mender.problems, Vec::new());
    RepairedTranscript { format, source, system, exchanges, open, problems, notes, seams }
}

/// A message with the results that came to it.
struct Block {
    line: u64,
    message: Message,
    calls: Vec<Call>,
    answers: Vec<Answer>,
    /// Whether it is a result that found no place.
    is_stray: bool,
}

struct Call {
    /// The id its results know.
    known_as: String,
    /// The id it has now.
    id: String,
    answered: bool,
}

/// A tool message and which entry it came from.
struct Answer {
    entry: usize,
    line: u64,
    message: Message,
}

impl Block {
    fn closed(self) -> Exchange {
        let missing = self.calls.iter().filter(|call| !call.answered);
        let missing: Vec<String> = missing.map(|call| call.id.clone()).collect();
        let mut messages = vec![self.message];
        messages.extend(self.answers.into_iter().map(|answer| answer.message));
        messages.extend(interruption(&missing));
        Exchange { messages }
    }

    fn entries(self) -> impl Iterator<Item = Entry> {
        let answers =
            self.answers.into_iter().map(|Answer { line, message, .. }| Entry { line, message });
        std::iter::once(Entry { line: self.line, message: self.message }).chain(answers)
    }
}

/// Returns the message that answers calls which have no result; none when there are none.
fn interruption(calls: &[String]) -> Option<Message> {
    let result = |call: &String| {
        Part::ToolResult(ToolResult {
            call: call.clone(),
            content: vec![text(ToolResult::INTERRUPTED)],
            error: true,
            extra: Fields::default(),
        })
    };
    let parts: Vec<Part> = calls.iter().map(result).collect();
    (!parts.is_empty()).then(|| Message { parts, ..Message::text(Role::Tool, "") })
}

/// Returns an exchange as it was while only its first results were there and the calls without one
/// were taken as interrupted; with the first of those calls.
pub(super) fn interrupted(exchange: &Exchange, results: usize) -> Option<(Exchange, String)> {
    let mut messages = exchange.messages.get(..=results)?.to_vec();
    let answered: HashSet<&str> = messages[1..]
        .iter()
        .flat_map(Message::tool_results)
        .map(|result| result.call.as_str())
        .collect();
    let calls = exchange.messages[0].tool_calls().map(|call| &call.id);
    let waiting = calls.filter(|call| !answered.contains(call.as_str()));
    let missing: Vec<String> = waiting.cloned().collect();
    let first = missing.first()?.clone();
    messages.extend(interruption(&missing));
    Some((Exchange { messages }, first))
}

/// The block that makes calls of one id, and which of its calls still wait for a result.
struct Caller {
    block: usize,
    waiting: VecDeque<usize>,
}

#[derive(Default)]
struct Mender {
    blocks: Vec<Block>,
    /// Who made a call of that id last.
    callers: HashMap<String, Caller>,
    entries: usize,
    problems: Vec<TranscriptProblem>,
}

impl Mender {
    fn take(&mut self, entry: Entry) {
        self.entries += 1;
        let Entry { line, mut message } = entry;
        let (results, said): (Vec<Part>, Vec<Part>) = std::mem::take(&mut message.parts)
            .into_iter()
            .partition(|part| matches!(part, Part::ToolResult(_)));
        let had_results = !results.is_empty();
        let envelope = message.clone();
        for part in results {
            if let Part::ToolResult(result) = part {
                self.answer(line, &envelope, result);
            }
        }
        message.parts = said;
        if message.role == Role::Tool {
            // What a tool message says beside its results is nobody's but the caller's.
            message.role = Role::User;
            message.extra = Fields::default();
        }
        if is_empty(&message) {
            if !is_trivial(&message) && !had_results {
                self.problem(line, "an empty message was left out");
            }
            return;
        }
        let calls = match message.role {
            Role::Assistant => self.own_ids(line, &mut message),
            Role::System | Role::User | Role::Tool => {
                self.calls_as_text(line, &mut message);
                Vec::new()
            }
        };
        self.push(line, message, calls, false);
    }

    fn push(&mut self, line: u64, message: Message, calls: Vec<Call>, is_stray: bool) {
        let block = self.blocks.len();
        for (at, call) in calls.iter().enumerate() {
            let known_as = call.known_as.clone();
            match self.callers.get_mut(&known_as) {
                Some(caller) if caller.block == block => caller.waiting.push_back(at),
                _ => {
                    let waiting = VecDeque::from([at]);
                    self.callers.insert(known_as, Caller { block, waiting });
                }
            }
        }
        self.blocks.push(Block { line, message, calls, answers: Vec::new(), is_stray });
    }

    /// Puts a result where its call is, or where it stands if it has none.
    fn answer(&mut self, line: u64, envelope: &Message, mut result: ToolResult) {
        let Some(caller) = self.callers.get_mut(&result.call) else {
            let what = format!(
                "a result for the unknown call '{}' was kept as text",
                shorten(&result.call)
            );
            self.problem(line, what);
            return self.stray(line, envelope, UNKNOWN_CALL, result);
        };
        let Some(call) = caller.waiting.pop_front() else {
            let what =
                format!("a second result for call '{}' was kept as text", shorten(&result.call));
            self.problem(line, what);
            return self.stray(line, envelope, REPEATED, result);
        };
        let block = &mut self.blocks[caller.block];
        let call = &mut block.calls[call];
        call.answered = true;
        result.call.clone_from(&call.id);
        let part = Part::ToolResult(result);
        match block.answers.last_mut() {
            Some(answer) if answer.entry == self.entries => answer.message.parts.push(part),
            _ => {
                let extra = match envelope.role {
                    Role::Tool => envelope.extra.clone(),
                    // What stands beside a result in another message belongs to that message.
                    Role::System | Role::User | Role::Assistant => Fields::default(),
                };
                let message = Message {
                    role: Role::Tool,
                    origin: None,
                    parts: vec![part],
                    extra,
                    ..envelope.clone()
                };
                block.answers.push(Answer { entry: self.entries, line, message });
            }
        }
    }

    /// Turns a result that has no place into what the user says.
    fn stray(&mut self, line: u64, envelope: &Message, mark: &str, result: ToolResult) {
        let parts = std::iter::once(text(mark)).chain(result.content).collect();
        let message = Message {
            at: envelope.at,
            author: envelope.author.clone(),
            parts,
            ..Message::text(Role::User, "")
        };
        self.push(line, message, Vec::new(), true);
    }

    /// Gives every call of a message an id of its own.
    fn own_ids(&mut self, line: u64, message: &mut Message) -> Vec<Call> {
        let mut taken: HashSet<String> = message.tool_calls().map(|call| call.id.clone()).collect();
        // The last number each id was given.
        let mut numbers: HashMap<String, u64> = HashMap::new();
        let mut calls = Vec::new();
        for part in &mut message.parts {
            let Part::ToolCall(call) = part else { continue };
            let known_as = call.id.clone();
            let number = numbers.entry(known_as.clone()).or_insert(0);
            *number += 1;
            if *number > 1 {
                call.id = format!("{known_as}-{number}");
                while !taken.insert(call.id.clone()) {
                    *number += 1;
                    call.id = format!("{known_as}-{number}");
                }
                self.problem(
                    line,
                    format!(
                        "two calls with the id '{}'; one was given a new id",
                        shorten(&known_as)
                    ),
                );
            }
            calls.push(Call { known_as, id: call.id.clone(), answered: false });
        }
        calls
    }

    /// Writes out calls where only an assistant may make some.
    fn calls_as_text(&mut self, line: u64, message: &mut Message) {
        for part in &mut message.parts {
            if let Part::ToolCall(call) = part {
                *part = text(&format!("(call of {}) {}", call.name, call.arguments));
                self.problem(line, "a call outside an assistant message was kept as text");
            }
        }
    }

    /// Returns where the messages begin that wait for more; past the end if none does.
    fn waiting(&self, format: TranscriptFormat) -> usize {
        let end = self.blocks.len();
        let Some(last) = self.blocks.iter().rposition(|block| !block.is_stray) else { return end };
        let block = &self.blocks[last];
        // Claude Code writes a reply piece by piece: after thoughts alone there is more to come.
        let thoughts_only = format == TranscriptFormat::ClaudeCode
            && block.message.role == Role::Assistant
            && block.message.parts.iter().all(|part| matches!(part, Part::Thinking(_)));
        let waits = block.calls.iter().any(|call| !call.answered);
        if waits || thoughts_only { last } else { end }
    }

    fn problem(&mut self, line: u64, what: impl Into<String>) {
        self.problems.push(TranscriptProblem { line, what: what.into() });
    }
}

fn text(text: &str) -> Part {
    Part::Text(Text { text: text.to_owned(), extra: Fields::default() })
}

fn is_empty(message: &Message) -> bool {
    let says_nothing = |part: &Part| matches!(part, Part::Text(text) if text.text.is_empty());
    let words = |name: &str| {
        message.extra.get(name).is_some_and(|raw| !matches!(raw.as_str(), "null" | "\"\""))
    };
    message.parts.iter().all(says_nothing) && !WORDS_BESIDE.iter().any(|name| words(name))
}

/// Tells whether an empty message has nothing beside its content either.
fn is_trivial(message: &Message) -> bool {
    let bare = |part: &Part| matches!(part, Part::Text(text) if text.extra.is_empty());
    message.extra.is_empty() && message.parts.iter().all(bare)
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
