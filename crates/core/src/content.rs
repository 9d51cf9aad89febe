//! Content: the messages of a page, stored once by the hash of their encoding.

use std::{fmt, str::FromStr, sync::Arc};

use crate::{Error, Message, message::open_calls, storage::PageDetail};

/// The BLAKE3 hash of a content's encoding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// Hashes an encoding.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Wraps a hash that was stored.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the hash.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(|_| {
            Error::InvalidText {
                what: "content hash",
                text: crate::index::shorten(text),
                reason: "it is not 64 hexadecimal digits",
            }
        })
    }
}

crate::text::serde_as_text!(ContentHash);

/// Encoded messages with their hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    hash: ContentHash,
    bytes: Arc<[u8]>,
}

impl Content {
    /// Encodes messages. Equal messages give equal bytes.
    pub fn encode(messages: &[Message]) -> Self {
        let bytes = serde_json::to_vec(messages).expect("messages have only string keys");
        Self { hash: ContentHash::of(&bytes), bytes: bytes.into() }
    }

    /// Takes stored bytes; fails when they do not have the hash they are stored under.
    pub fn verify(hash: ContentHash, bytes: Vec<u8>) -> Option<Self> {
        (ContentHash::of(&bytes) == hash).then(|| Self { hash, bytes: bytes.into() })
    }

    /// Returns the hash.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Returns the encoding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the messages back.
    pub fn messages(&self) -> Result<Vec<Message>, String> {
        serde_json::from_slice(&self.bytes).map_err(|error| error.to_string())
    }

    /// Encodes messages together with what a page keeps of them.
    pub(crate) fn with_detail(messages: &[Message]) -> (Self, PageDetail) {
        let content = Self::encode(messages);
        let detail = PageDetail {
            content: content.hash,
            messages: u32::try_from(messages.len()).unwrap_or(u32::MAX),
            counted: None,
            weight: messages.iter().map(Message::weight).sum(),
            open: open_calls(messages).into_iter().map(|call| call.id.clone()).collect(),
        };
        (content, detail)
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({}, {} bytes)", self.hash, self.bytes.len())
    }
}
