//! Keys of documents in the index: which segment of which session, which page, which message.
//!
//! The index is sorted by them, so that the documents of a segment, and those of a page, stand side by side.

use std::ops::Range;

/// A segment of a session, as the index numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Space(pub(crate) u32);

const PAGE_BITS: u32 = 28;
const MESSAGE_BITS: u32 = 14;

impl Space {
    /// How many there can be.
    pub(crate) const MOST: u32 = 1 << (64 - PAGE_BITS - MESSAGE_BITS);

    /// Returns the keys of everything in it.
    pub(crate) fn keys(self) -> Range<u64> {
        let shift = PAGE_BITS + MESSAGE_BITS;
        let last = u64::MAX >> (64 - shift);
        (u64::from(self.0) << shift)..((u64::from(self.0) << shift) + last)
    }

    /// Returns the key of a document.
    pub(crate) fn key(self, at: At) -> u64 {
        self.keys().start | (u64::from(at.page) << MESSAGE_BITS) | u64::from(at.message)
    }

    /// Returns the keys of a page's documents.
    pub(crate) fn page(self, page: u32) -> Range<u64> {
        let start = self.key(At { page, message: 0 });
        start..start + (1 << MESSAGE_BITS)
    }
}

/// A document's place in its segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) page: u32,
    pub(crate) message: u16,
}

impl At {
    /// The largest number of a page that can be indexed.
    pub(crate) const LAST_PAGE: u32 = (1 << PAGE_BITS) - 1;
    /// The last message of a page that can be indexed.
    pub(crate) const LAST_MESSAGE: u16 = (1 << MESSAGE_BITS) - 1;

    /// Returns the place that a key names.
    pub(crate) fn of(key: u64) -> Self {
        let page = (key >> MESSAGE_BITS) & u64::from(Self::LAST_PAGE);
        let message = key & u64::from(Self::LAST_MESSAGE);
        // Both are within their bits.
        Self { page: page as u32, message: message as u16 }
    }
}
