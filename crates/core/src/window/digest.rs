//! The digest of a page: what was asked, done and said in it, found without a model, in any script.
//!
//! ```text
//!  messages ──► asked    what the user wants, if the page begins with it
//!          └──► steps    calls with what they did and how they ended, conclusions, noise: in order
//! ```
//!
//! Folded pages show their digest: the whole of it as a log, or the gist of it in a turn's line. A
//! harness may answer as the user: then the result of a page's last call begins the next page.

mod call;
mod files;
mod noise;
mod outcome;

use std::collections::HashMap;

use super::trim::is_result;
use crate::{
    Message, Role,
    message::{Part, ToolResult},
};

pub(crate) use call::Call;
pub(crate) use noise::is_noise;
pub(crate) use outcome::CallOutcome;

/// The most characters of a conclusion that are kept.
const SAID: usize = 600;

/// The most characters of a request that are kept for lines.
const ASKED: usize = 600;

/// What was asked, done and said in a page's messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    /// The beginning of what the user wants, if the page begins with a request.
    pub asked: Option<Box<str>>,
    /// What followed, in order.
    pub steps: Vec<Step>,
}

/// One step of the work on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The model called something.
    Call(Call),
    /// A call of the page before ended so.
    Ended(CallOutcome),
    /// The model said something and called nothing.
    Said(Box<str>),
    /// A harness said something on the user's behalf.
    Noise(Box<str>),
}

impl Digest {
    /// Extracts the digest of messages.
    pub(crate) fn of(messages: &[Message]) -> Self {
        let mut digest = Self::default();
        // Calls that no result has answered yet, by their ids.
        let mut open: HashMap<&str, usize> = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            match message.role {
                _ if is_result(message) => digest.end(message, &mut open),
                Role::User if at == 0 && !is_noise(&message.plain_text()) => {
                    digest.asked = Some(head(&message.plain_text(), ASKED).into());
                }
                Role::User => {
                    let text = message.plain_text();
                    if !text.trim().is_empty() {
                        digest.steps.push(Step::Noise(head(&text, outcome::LENGTH).into()));
                    }
                }
                Role::Assistant => {
                    let answered = messages.get(at + 1).is_none_or(is_result);
                    digest.act(message, answered, &mut open);
                }
                Role::System | Role::Tool => {}
            }
        }
        digest
    }

    /// Takes in what the model did. `answered`: whether a result follows, or may still.
    fn act<'a>(
        &mut self,
        message: &'a Message,
        answered: bool,
        open: &mut HashMap<&'a str, usize>,
    ) {
        let before = self.steps.len();
        for call in message.tool_calls() {
            open.insert(&call.id, self.steps.len());
            self.steps.push(Step::Call(Call::of(call)));
        }
        let text = message.plain_text();
        if self.steps.len() == before && answered {
            self.steps.extend(Call::in_fences(&text).map(Step::Call));
        }
        if self.steps.len() == before && !text.trim().is_empty() {
            self.steps.push(Step::Said(head(&text, SAID).into()));
        }
    }

    /// Notes how calls ended.
    fn end(&mut self, message: &Message, open: &mut HashMap<&str, usize>) {
        for part in &message.parts {
            let (call, outcome) = match part {
                Part::ToolResult(result) => (
                    open.remove(result.call.as_str()),
                    CallOutcome::of(&text_of(result), result.error),
                ),
                Part::Text(text) => (self.unanswered(), CallOutcome::of(&text.text, false)),
                _ => continue,
            };
            match call.and_then(|at| self.steps.get_mut(at)) {
                Some(Step::Call(call)) => call.outcome = Some(outcome),
                _ => self.steps.push(Step::Ended(outcome)),
            }
        }
    }

    fn unanswered(&self) -> Option<usize> {
        let at = self.steps.len().checked_sub(1)?;
        matches!(&self.steps[at], Step::Call(call) if call.outcome.is_none()).then_some(at)
    }

    /// Returns the calls in it.
    pub(crate) fn calls(&self) -> impl DoubleEndedIterator<Item = &Call> {
        self.steps.iter().filter_map(|step| match step {
            Step::Call(call) => Some(call),
            Step::Ended(_) | Step::Said(_) | Step::Noise(_) => None,
        })
    }

    /// Returns what the model concluded.
    pub(crate) fn said(&self) -> Option<&str> {
        self.steps.iter().rev().find_map(|step| match step {
            Step::Said(said) => Some(&**said),
            Step::Call(_) | Step::Ended(_) | Step::Noise(_) => None,
        })
    }

    /// Tells whether it begins with how a call of the page before ended.
    pub(crate) fn continues(&self) -> bool {
        matches!(self.steps.first(), Some(Step::Ended(_)))
    }

    /// Tells whether anything failed in it.
    pub(crate) fn has_failures(&self) -> bool {
        self.steps.iter().any(|step| match step {
            Step::Call(call) => call.failed(),
            Step::Ended(outcome) => outcome.failed,
            Step::Said(_) | Step::Noise(_) => false,
        })
    }

    /// Returns about how many bytes it takes in memory.
    pub(crate) fn size(&self) -> usize {
        let steps = self.steps.iter().map(|step| match step {
            Step::Call(call) => call.size(),
            Step::Ended(outcome) => outcome.line.len(),
            Step::Said(text) | Step::Noise(text) => text.len(),
        });
        steps.sum::<usize>()
            + self.steps.len() * std::mem::size_of::<Step>()
            + self.asked.as_ref().map_or(0, |asked| asked.len())
    }
}

fn text_of(result: &ToolResult) -> String {
    let texts = result.content.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the beginning of a text on one line, cut behind a sentence or a word where one ends near.
pub(crate) fn head(text: &str, most: usize) -> String {
    let (mut flat, mut length) = (String::new(), 0);
    for word in text.split_whitespace() {
        if !flat.is_empty() {
            flat.push(' ');
            length += 1;
        }
        flat.push_str(word);
        length += word.chars().count();
        // Of a long text no more is looked at than is kept.
        if length > most {
            break;
        }
    }
    if length <= most {
        return flat;
    }
    let end = flat.char_indices().nth(most.saturating_sub(1)).map_or(flat.len(), |(at, _)| at);
    let cut = &flat[..end];
    // A full stop within a name ends no sentence.
    let ends = |(at, c): (usize, char)| {
        let behind = at + c.len_utf8();
        let blank = flat[behind..].starts_with(' ');
        match c {
            '.' | '!' | '?' if blank => Some(behind),
            '。' | '！' | '？' => Some(behind),
            _ => None,
        }
    };
    let sentence = cut.char_indices().rev().find_map(ends);
    let near = |at: &usize| *at * 5 >= end * 3;
    let end = sentence.filter(near).or_else(|| cut.rfind(' ').filter(near)).unwrap_or(end);
    format!("{}…", cut[..end].trim_end())
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
