//! The calls of one answer, and how far each has come.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    Message, Role,
    message::{Fields, Part, Text, ToolCall, ToolResult},
};
use serde::{Deserialize, Serialize};

use super::approval::{Approval, AskedApproval, WaitingCall};
use crate::tool::ToolOutput;

/// How many calls of one answer are made. A model that wants more can ask again.
pub const MOST_CALLS: usize = 128;

/// The result of a call that was begun and never answered.
const INTERRUPTED: &str = "interrupted: whether this call took effect is unknown. \
    Check before you repeat it.";

/// The result of a call that was never begun.
const NOT_MADE: &str = "interrupted: this call was not made.";

/// The result of a call beyond the last one that is made.
fn too_many() -> String {
    format!(
        "refused: an answer may have at most {MOST_CALLS} calls, so this one was not made. \
         Ask again for what is still needed."
    )
}

/// An answer of the model whose calls are being made, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    message: Message,
    states: Vec<CallState>,
}

/// How far a call has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallState {
    /// Nothing happened yet.
    #[serde(rename = "waiting")]
    Open,
    /// Somebody has to allow it first, and nobody has answered.
    Asked(AskedApproval),
    /// Somebody has answered; nothing else happened yet.
    Decided(Approval),
    /// It may have happened.
    Begun,
    /// It happened.
    Answered {
        /// What the model reads.
        text: String,
        /// Whether it failed.
        error: bool,
    },
}

impl CallState {
    /// Returns how far a call is that came to this.
    pub(crate) fn of(output: &ToolOutput) -> Self {
        CallState::Answered { text: output.text.clone(), error: output.error }
    }
}

impl Calls {
    /// Takes an answer. Ids that are missing or given twice get one of their own: a result must say
    /// which call it answers.
    pub(super) fn new(mut message: Message) -> Self {
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let mut next: BTreeMap<String, u64> = BTreeMap::new();
        for part in &mut message.parts {
            let Part::ToolCall(call) = part else { continue };
            let base = if call.id.is_empty() { "call".to_owned() } else { call.id.clone() };
            call.id.clone_from(&base);
            while !taken.insert(call.id.clone()) {
                let number = next.entry(base.clone()).or_insert(1);
                call.id = format!("{base}-{number}");
                *number += 1;
            }
        }
        let states = message.tool_calls().enumerate();
        let states = states.map(|(at, _)| match at {
            0..MOST_CALLS => CallState::Open,
            _ => CallState::Answered { text: too_many(), error: true },
        });
        let states = states.collect();
        Self { message, states }
    }

    /// Returns the model's message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the place of the call that is next.
    pub(super) fn open_at(&self) -> Option<usize> {
        self.states.iter().position(|state| !matches!(state, CallState::Answered { .. }))
    }

    /// Returns the call that is next.
    pub(super) fn open(&self) -> Option<&ToolCall> {
        self.message.tool_calls().nth(self.open_at()?)
    }

    /// Returns how far the call has come that is next.
    pub(super) fn open_state(&self) -> Option<&CallState> {
        self.states.get(self.open_at()?)
    }

    /// Returns the calls that nothing has happened to yet, with their places.
    pub(super) fn untouched(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        let calls = self.message.tool_calls().zip(&self.states).enumerate();
        let untouched = calls.filter(|(_, (_, state))| **state == CallState::Open);
        untouched.map(|(place, (call, _))| (place, call))
    }

    /// Returns the calls that wait for an approval.
    pub(super) fn waiting(&self) -> impl Iterator<Item = WaitingCall<'_>> {
        let calls = self.message.tool_calls().zip(&self.states).enumerate();
        calls.filter_map(|(place, (call, state))| match state {
            CallState::Asked(asked) => Some(WaitingCall { place, call, asked }),
            _ => None,
        })
    }

    /// Returns the calls that somebody decided about and that were not made yet.
    pub(super) fn decided(&self) -> impl Iterator<Item = (&ToolCall, &Approval)> {
        let calls = self.message.tool_calls().zip(&self.states);
        calls.filter_map(|(call, state)| match state {
            CallState::Decided(approval) => Some((call, approval)),
            _ => None,
        })
    }

    /// Has a call wait until somebody allows it.
    pub(super) fn ask(&mut self, place: usize, asked: AskedApproval) {
        if let Some(open @ CallState::Open) = self.states.get_mut(place) {
            *open = CallState::Asked(asked);
        }
    }

    /// Takes what somebody decided about a call that waits.
    pub(super) fn decide(&mut self, place: usize, approval: Approval) {
        if let Some(asked @ CallState::Asked(_)) = self.states.get_mut(place) {
            *asked = CallState::Decided(approval);
        }
    }

    pub(super) fn begin(&mut self) {
        if let Some(at) = self.open_at() {
            self.states[at] = CallState::Begun;
        }
    }

    pub(super) fn answer(&mut self, output: &ToolOutput) {
        if let Some(at) = self.open_at() {
            self.states[at] = CallState::of(output);
        }
    }

    /// Takes how far calls have come since this was stored; what is answered here stays so.
    pub(super) fn restore(&mut self, begun: Option<usize>, states: Vec<(usize, CallState)>) {
        let is_open = |state: &&mut CallState| !matches!(state, CallState::Answered { .. });
        for (at, state) in states {
            if let Some(open) = self.states.get_mut(at).filter(is_open) {
                *open = state;
            }
        }
        let upto = begun.map_or(0, |begun| begun + 1).min(self.states.len());
        for open in self.states[..upto].iter_mut().filter(is_open) {
            *open = CallState::Begun;
        }
    }

    /// Answers every open call as interrupted.
    pub(super) fn interrupt_all(&mut self) {
        for state in &mut self.states {
            let text = match state {
                CallState::Open | CallState::Asked(_) => NOT_MADE.to_owned(),
                CallState::Decided(approval) => {
                    approval.refusal().unwrap_or_else(|| NOT_MADE.to_owned())
                }
                CallState::Begun => INTERRUPTED.to_owned(),
                CallState::Answered { .. } => continue,
            };
            *state = CallState::Answered { text, error: true };
        }
    }

    /// Answers calls that were begun as interrupted, or has them made again where that is harmless.
    pub(super) fn interrupt_begun(&mut self, harmless: impl Fn(&str) -> bool) {
        for (call, state) in self.message.tool_calls().zip(&mut self.states) {
            if *state != CallState::Begun {
                continue;
            }
            *state = if harmless(&call.name) {
                CallState::Open
            } else {
                CallState::Answered { text: INTERRUPTED.to_owned(), error: true }
            };
        }
    }

    /// Returns the whole exchange: the message and a result for each of its calls.
    pub(super) fn exchange(&self) -> Vec<Message> {
        let mut messages = vec![self.message.clone()];
        for (call, state) in self.message.tool_calls().zip(&self.states) {
            let CallState::Answered { text, error } = state else { continue };
            let text = Part::Text(Text { text: text.clone(), extra: Fields::default() });
            let mut message = Message::text(Role::Tool, "");
            message.parts = vec![Part::ToolResult(ToolResult {
                call: call.id.clone(),
                content: vec![text],
                error: *error,
                extra: Fields::default(),
            })];
            messages.push(message);
        }
        messages
    }

    /// Returns what was called and what came of it, to be compared.
    pub(super) fn fingerprint(&self) -> String {
        let mut text = String::new();
        for (call, state) in self.message.tool_calls().zip(&self.states) {
            text.push_str(&format!("{}\u{0}{}\u{0}{state:?}\u{0}", call.name, call.arguments));
        }
        contexture_core::storage::ContentHash::of(text.as_bytes()).to_string()
    }

    /// Names the tools that were called, each once and the first few.
    pub(super) fn names(&self) -> String {
        const SHOWN: usize = 5;
        let mut names: Vec<&str> = Vec::new();
        for call in self.message.tool_calls() {
            match names.contains(&call.name.as_str()) {
                true => {}
                false if names.len() == SHOWN => return format!("{}, …", names.join(", ")),
                false => names.push(&call.name),
            }
        }
        names.join(", ")
    }
}
