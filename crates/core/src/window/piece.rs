//! Pieces: what a window is made of, each self-contained.
//!
//! A piece holds all that its rendering needs, so the same list of pieces gives the same bytes for
//! ever: that is what the ledger records, and what `--sent` renders again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Message, PageIndex, SessionId, Timestamp};

/// One piece of a window: a page, or a run of pages, at its level.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Names what it renders to: equal keys, equal bytes.
    pub key: PieceKey,
    /// The page it shows, or the first of a run.
    pub page: PageIndex,
    /// What it says.
    pub content: PieceContent,
}

/// Names what a piece renders to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PieceKey(pub [u8; 32]);

/// What a piece says in a provider format.
#[derive(Debug, Clone)]
pub enum PieceContent {
    /// Messages of a turn: whole exchanges, byte for byte (large parts cut to head and tail).
    Messages(Arc<[Message]>),
    /// Messages of a turn that is another agent's or was rewritten.
    Turn {
        /// The engine's lines that say so, with the session's mark: one over the messages, and one
        /// that closes the request they begin with.
        head: Arc<str>,
        /// The messages.
        messages: Arc<[Message]>,
    },
    /// A page with a text of its own: the engine's line over it, then the text as it was.
    Note {
        /// The engine's line, with the session's mark.
        head: Arc<str>,
        /// The page's messages; their texts are shown under the line.
        body: Arc<[Message]>,
    },
    /// Lines of the engine alone, each with the session's mark: stubs, runs, directories, panels.
    Engine(Arc<str>),
}

/// The mark of a session: it stands in the engine's own lines, and outside text cannot know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mark(String);

impl Mark {
    /// Makes a mark of any bytes; unguessable when they are.
    pub fn from_seed(seed: &[u8]) -> Self {
        // No vowels and no digits that look like letters: a mark is never a word.
        const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz23456789";
        let hash = blake3::derive_key("contexture mark", seed);
        let letter = |byte: &u8| LETTERS[usize::from(*byte) % LETTERS.len()] as char;
        Self(hash[..8].iter().map(letter).collect())
    }

    /// Makes the mark of a session that was made without one.
    pub fn of_session(session: &SessionId, created_at: Timestamp) -> Self {
        Self::from_seed(format!("{session} {}", created_at.as_millis()).as_bytes())
    }

    /// Returns the mark of the engine's lines that stand within outside text, where large parts are
    /// cut. It differs, because the mark itself is taken out of everything around it.
    pub fn inner(&self) -> Self {
        Self::from_seed(format!("{} inner", self.0).as_bytes())
    }

    /// Returns the mark as it begins a line of the engine: `[ctx:…]`.
    pub fn tag(&self) -> String {
        format!("[ctx:{}]", self.0)
    }

    /// Returns the mark alone.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the mark out of outside text, so that only the engine's own lines carry it.
    pub fn defuse<'a>(&self, text: &'a str) -> std::borrow::Cow<'a, str> {
        if text.contains(self.0.as_str()) {
            text.replace(self.0.as_str(), "(mark)").into()
        } else {
            text.into()
        }
    }
}

impl TryFrom<String> for Mark {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(Self(text));
        }
        let text = crate::index::shorten(&text);
        Err(Error::InvalidText { what: "mark", text, reason: "it is not 8 letters and digits" })
    }
}

impl From<Mark> for String {
    fn from(mark: Mark) -> Self {
        mark.0
    }
}
