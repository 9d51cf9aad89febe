//! The calls of one answer, and how far each has come.

use contexture_core::{
    Message, Role,
    message::{Fields, Part, Text, ToolCall, ToolResult},
};
use serde::{Deserialize, Serialize};

use crate::tool::ToolOutput;

/// What a call gets that was begun and never answered.
const INTERRUPTED: &str = "interrupted: it is not known whether this call took effect. \
    Look before you do it again.";

/// What a call gets that was never begun.
const NOT_MADE: &str = "interrupted: this call was not made.";

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
    Waiting,
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

impl Calls {
    /// Takes an answer. Ids that are missing or given twice get one of their own: a result must say
    /// which call it answers.
    pub(super) fn new(mut message: Message) -> Self {
        let mut taken: Vec<String> = Vec::new();
        for part in &mut message.parts {
            let Part::ToolCall(call) = part else { continue };
            let base = if call.id.is_empty() { "call" } else { &call.id };
            let (mut id, mut number) = (base.to_owned(), 1);
            while taken.contains(&id) {
                id = format!("{base}-{number}");
                number += 1;
            }
            taken.push(id.clone());
            call.id = id;
        }
        let states = message.tool_calls().map(|_| CallState::Waiting).collect();
        Self { message, states }
    }

    /// Returns the model's message.
    pub fn message(&self) -> &Message {
        &self.message
    }

    fn open_at(&self) -> Option<usize> {
        self.states.iter().position(|state| !matches!(state, CallState::Answered { .. }))
    }

    /// Returns the call that is next.
    pub(super) fn open(&self) -> Option<&ToolCall> {
        self.message.tool_calls().nth(self.open_at()?)
    }

    pub(super) fn begin(&mut self) {
        if let Some(at) = self.open_at() {
            self.states[at] = CallState::Begun;
        }
    }

    pub(super) fn answer(&mut self, output: &ToolOutput) {
        if let Some(at) = self.open_at() {
            let (text, error) = (output.text.clone(), output.error);
            self.states[at] = CallState::Answered { text, error };
        }
    }

    /// Answers every open call as interrupted.
    pub(super) fn interrupt_all(&mut self) {
        for state in &mut self.states {
            let text = match state {
                CallState::Waiting => NOT_MADE,
                CallState::Begun => INTERRUPTED,
                CallState::Answered { .. } => continue,
            };
            *state = CallState::Answered { text: text.to_owned(), error: true };
        }
    }

    /// Answers calls that were begun as interrupted, or has them made again where that is harmless.
    pub(super) fn interrupt_begun(&mut self, harmless: impl Fn(&str) -> bool) {
        for (call, state) in self.message.tool_calls().zip(&mut self.states) {
            if *state != CallState::Begun {
                continue;
            }
            *state = if harmless(&call.name) {
                CallState::Waiting
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
        contexture_core::ContentHash::of(text.as_bytes()).to_string()
    }

    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.message.tool_calls().map(|call| call.name.as_str()).collect();
        names.join(", ")
    }
}
