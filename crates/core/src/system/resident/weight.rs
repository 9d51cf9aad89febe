//! What things take in memory, the allocator's share and the cache's own included.

use crate::{
    Page,
    storage::{Content, LevelChunk},
};

/// What an entry takes beside what it holds: key, links, its place in the table, and what
/// allocations are rounded up by.
const ENTRY: usize = 176;

pub(super) fn page(page: &Page) -> usize {
    ENTRY + page.size()
}

pub(super) fn chunk(chunk: &LevelChunk) -> usize {
    ENTRY + chunk.size()
}

pub(super) fn content(content: &Content) -> usize {
    ENTRY + content.bytes().len()
}
