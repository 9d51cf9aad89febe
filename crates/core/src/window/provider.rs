//! Provider formats: pieces as the messages a provider's API takes.
//!
//! ```text
//!  Piece ──► render_piece ──► RenderedPiece ─┐
//!            (pure, cacheable)               ├─► assemble ──► body fragment, checked
//!  Piece ──► render_system ─► RenderedSystem ┘   (concatenation, a few fixed repairs)
//! ```
//!
//! The first stage does all the work on text and can be kept by piece, format and model. It writes
//! each message as JSON together with its shape: who speaks, which calls it opens and
//! answers. The second stage only joins texts and reads shapes, so a long window costs little more
//! than copying it; the rules of the provider are checked on every output. [`validate_body`]
//! reads the shapes out of any JSON instead and checks the same rules.
//!
//! An item depends on what stands before it and never on what comes after, so appending pieces
//! changes no earlier byte but Anthropic's cache marks. For that reason messages are never merged
//! across pieces, and a call without its result within its piece is answered there.
//!
//! What goes through: texts, arguments and results byte for byte, but for the session's mark, which
//! is defused. What does not: opaque parts (thinking, reasoning, signatures, server tools) of
//! another provider or model; fields of the original message other than OpenAI's `name`, and
//! `extra_content` of a call that goes back to the very model; an unknown part that the provider
//! does not take becomes its type in brackets where a person or a tool said it, and goes where the
//! model did.

mod anthropic;
mod assemble;
mod block;
mod check;
mod gemini;
mod identity;
mod item;
mod json;
mod openai;
mod picture;
mod read;
mod responses;
mod step;

use std::{fmt, str::FromStr};

pub use assemble::{Assembled, Breakpoints, WindowParts, assemble};
pub use item::RenderedPiece;

use super::piece::{Mark, Piece, PieceContent};
use crate::{Error, Message, index::shorten, message::Part};
use item::Draft;
use step::{Scope, Step};

/// A provider's way of writing messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProviderFormat {
    /// OpenAI chat completions: `messages`.
    OpenAi,
    /// OpenAI Responses: `instructions` and `input` items.
    Responses,
    /// Anthropic Messages: `system` blocks and `messages`, with cache breakpoints.
    Anthropic,
    /// Gemini: `systemInstruction` and `contents`.
    Gemini,
}

impl ProviderFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Responses, Self::Anthropic, Self::Gemini];

    /// Returns the format's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for ProviderFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ProviderFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|format| format.as_str() == text).ok_or_else(|| {
            let known = "openai, responses, anthropic, gemini";
            Error::UnknownValue { what: "provider format", text: shorten(text), known }
        })
    }
}

/// A rule of a provider that a body breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("item {at}: {what} ({rule})")]
pub struct Violation {
    /// Which message, content or item, counted from 0.
    pub at: usize,
    /// The rule's name, such as `call-unanswered`.
    pub rule: &'static str,
    /// What is wrong, in words.
    pub what: String,
}

/// Renders a piece of the conversation: a pure function, to be kept by key, format and model.
///
/// `model` is the one the window is for. What a model keeps to itself goes back to it alone.
pub fn render_piece(
    format: ProviderFormat,
    piece: &Piece,
    mark: &Mark,
    model: Option<&str>,
) -> RenderedPiece {
    let scope = Scope { format, mark, model, page: &piece.page };
    let mut draft = Draft::new(&piece.page);
    let steps = match &piece.content {
        PieceContent::Messages(messages) => step::read(&scope, messages, &mut draft.repaired),
        PieceContent::Turn { head, messages } => {
            step::attributed(head, step::read(&scope, messages, &mut draft.repaired))
        }
        PieceContent::Note { head, body } => vec![step::note(&scope, head, body)],
        PieceContent::Engine(text) => vec![step::engine(text)],
    };
    for step in &steps {
        let before = draft.items.len();
        match (format, step) {
            (ProviderFormat::OpenAi, Step::Said(said)) => openai::said(&mut draft, said),
            (ProviderFormat::OpenAi, Step::Answer(answer)) => openai::answer(&mut draft, answer),
            (ProviderFormat::Responses, Step::Said(said)) => responses::said(&mut draft, said),
            (ProviderFormat::Responses, Step::Answer(answer)) => {
                responses::answer(&mut draft, answer);
            }
            (ProviderFormat::Anthropic, Step::Said(said)) => anthropic::said(&mut draft, said),
            (ProviderFormat::Anthropic, Step::Answer(answer)) => {
                anthropic::answer(&mut draft, answer);
            }
            (ProviderFormat::Gemini, Step::Said(said)) => gemini::said(&mut draft, said),
            (ProviderFormat::Gemini, Step::Answer(answer)) => {
                gemini::answer(&mut draft, answer, model);
            }
        }
        if draft.items.len() == before {
            draft.repaired.push(step::left_out(&piece.page));
        }
    }
    if format == ProviderFormat::Responses {
        responses::drop_lone_reasoning(&mut draft);
    }
    draft.finish()
}

/// A piece of the system part, rendered: its text as it stands inside a JSON string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedSystem {
    escaped: String,
}

impl RenderedSystem {
    /// Returns the bytes it takes.
    pub fn bytes(&self) -> usize {
        self.escaped.len()
    }
}

/// Renders a piece of the system part: its text alone, for any format.
///
/// The engine's line over a page is left out here, since everything in this part is the system's.
pub(crate) fn render_system(piece: &Piece, mark: &Mark) -> RenderedSystem {
    let text = match &piece.content {
        PieceContent::Messages(messages)
        | PieceContent::Turn { messages, .. }
        | PieceContent::Note { body: messages, .. } => {
            let texts: Vec<String> = messages.iter().filter_map(said_text).collect();
            mark.defuse(&texts.join("\n\n")).into_owned()
        }
        PieceContent::Engine(text) => text.to_string(),
    };
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    if !text.trim().is_empty() {
        json::push_escaped(&mut escaped, &text);
    }
    RenderedSystem { escaped }
}

fn said_text(message: &Message) -> Option<String> {
    let says = |part: &Part| matches!(part, Part::Text(text) if !text.text.is_empty());
    message.parts.iter().any(says).then(|| message.plain_text())
}

/// Checks the rules of a provider on the fragment of a request body that [`assemble`] writes, made
/// by anyone.
pub fn validate_body(format: ProviderFormat, body: &serde_json::Value) -> Result<(), Violation> {
    let read = read::read(format, body)?;
    check::check(format, read.marks, read.shapes.iter())
}

#[cfg(test)]
mod append_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
mod rule_tests;
#[cfg(test)]
mod tests;
