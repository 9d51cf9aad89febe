//! What stays in memory: recently used pages, chunks of level state and contents.
//!
//! Only clean copies of what the storage holds lie here, so anything may be dropped at any time
//! (C25). Roots and pages of System-kind segments are never dropped for lack of room.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lru::LruCache;

use crate::{
    ChunkKey, Content, ContentHash, LevelChunk, Page, PageIndex, Revision, Segment, SegmentId,
    SegmentKind, ViewId, decide::Segments,
};

/// How much stays in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentLimits {
    /// Bytes of pages and level chunks, those never dropped apart.
    pub page_bytes: usize,
    /// Bytes of contents.
    pub content_bytes: usize,
}

impl Default for ResidentLimits {
    fn default() -> Self {
        Self { page_bytes: 32 << 20, content_bytes: 32 << 20 }
    }
}

/// How many stamps guard against putting an old copy back after a newer one was published.
const STAMPS: usize = 256;

#[derive(Debug)]
pub(super) struct Resident {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    segments: Arc<Segments>,
    /// Counters that have moved on since the segments were read.
    counters: HashMap<SegmentId, u64>,
    /// The last edits of segments' pages since the segments were read.
    touched: HashMap<SegmentId, Revision>,
    pages: Bounded<PageIndex, Arc<Page>>,
    /// Roots and pages of System-kind segments.
    kept: HashMap<PageIndex, Arc<Page>>,
    chunks: Bounded<ChunkKey, Arc<LevelChunk>>,
    /// What views say of pins, by segment.
    pins: HashMap<(ViewId, SegmentId), Pins>,
    /// Counts changes of levels: pins that were read before one are not kept after it.
    level_changes: u64,
    contents: Bounded<ContentHash, Content>,
    stamps: Vec<u64>,
}

/// What a view says of pins in a segment: ranges of page numbers, in order.
pub(super) type Pins = Arc<[(u64, u64, bool)]>;

/// How many segments of views are remembered by their pins.
const MOST_PINS: usize = 1_024;

/// When a load began: what it brings is only kept if nothing was published meanwhile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stamp(usize, u64);

impl Resident {
    pub(super) fn new(limits: ResidentLimits, segments: Segments) -> Self {
        let state = State {
            segments: Arc::new(segments),
            counters: HashMap::new(),
            touched: HashMap::new(),
            pages: Bounded::new(limits.page_bytes),
            kept: HashMap::new(),
            chunks: Bounded::new(limits.page_bytes / 4),
            pins: HashMap::new(),
            level_changes: 0,
            contents: Bounded::new(limits.content_bytes),
            stamps: vec![0; STAMPS],
        };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Copies of what the storage holds cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn segments(&self) -> Arc<Segments> {
        self.lock().segments.clone()
    }

    pub(super) fn set_segments(&self, segments: Segments) {
        let mut state = self.lock();
        state.segments = Arc::new(segments);
    }

    /// Notes that a segment's counter stands at least at `next`.
    pub(super) fn advance(&self, segment: &SegmentId, next: u64) {
        let mut state = self.lock();
        match state.counters.get_mut(segment) {
            Some(counter) => *counter = next.max(*counter),
            None => drop(state.counters.insert(segment.clone(), next)),
        }
    }

    /// Notes that a segment's pages were changed by an edit.
    pub(super) fn touch(&self, segment: &SegmentId, revision: Revision) {
        let mut state = self.lock();
        let touched = state.touched.entry(segment.clone()).or_default();
        *touched = revision.max(*touched);
    }

    /// Returns the edit that last changed a segment's pages.
    pub(super) fn touched(&self, segment: &Segment) -> Revision {
        let touched = self.lock().touched.get(&segment.id).copied().unwrap_or_default();
        segment.touched.max(touched)
    }

    /// Returns a segment with its counter as it stands now.
    pub(super) fn with_counter(&self, segment: &Segment) -> Segment {
        let counter = self.lock().counters.get(&segment.id).copied().unwrap_or(0);
        Segment { next_number: segment.next_number.max(counter), ..segment.clone() }
    }

    pub(super) fn page(&self, index: &PageIndex) -> Option<Arc<Page>> {
        let mut state = self.lock();
        if let Some(page) = state.kept.get(index) {
            return Some(page.clone());
        }
        state.pages.get(index).cloned()
    }

    pub(super) fn chunk(&self, key: &ChunkKey) -> Option<Arc<LevelChunk>> {
        self.lock().chunks.get(key).cloned()
    }

    /// Returns what a view says of pins in a segment, and when that was asked.
    pub(super) fn pins(&self, key: &(ViewId, SegmentId)) -> (Option<Pins>, u64) {
        let state = self.lock();
        (state.pins.get(key).cloned(), state.level_changes)
    }

    /// Keeps what was read of pins, unless a level was changed since it was asked for.
    pub(super) fn keep_pins(&self, key: (ViewId, SegmentId), pins: &Pins, since: u64) {
        let mut state = self.lock();
        if state.level_changes != since {
            return;
        }
        if state.pins.len() >= MOST_PINS {
            state.pins.clear();
        }
        state.pins.insert(key, pins.clone());
    }

    pub(super) fn content(&self, hash: &ContentHash) -> Option<Content> {
        self.lock().contents.get(hash).cloned()
    }

    /// Notes the moment before a page or chunk of a segment is loaded.
    pub(super) fn stamp(&self, segment: &SegmentId, number: u64) -> Stamp {
        let state = self.lock();
        let at = state.stamp_at(segment, number);
        Stamp(at, state.stamps[at])
    }

    /// Notes the moment before pages of a list are loaded.
    pub(super) fn stamps(&self) -> Vec<u64> {
        self.lock().stamps.clone()
    }

    /// Keeps a page of a loaded list, unless something newer was published since.
    pub(super) fn keep_listed(&self, page: Arc<Page>, stamps: &[u64]) {
        let mut state = self.lock();
        let at = state.stamp_at(page.index.segment(), page.index.number());
        if state.stamps[at] == stamps[at] {
            state.put_page(page);
        }
    }

    /// Keeps a loaded page, unless something newer was published since the stamp.
    pub(super) fn keep_page(&self, page: &Arc<Page>, stamp: Stamp) {
        let mut state = self.lock();
        if state.stamps[stamp.0] == stamp.1 {
            state.put_page(page.clone());
        }
    }

    /// Keeps a loaded chunk, unless something newer was published since the stamp.
    pub(super) fn keep_chunk(&self, key: &ChunkKey, chunk: &Arc<LevelChunk>, stamp: Stamp) {
        let mut state = self.lock();
        if state.stamps[stamp.0] == stamp.1 {
            state.chunks.put(key.clone(), chunk.clone(), CHUNK_SIZE);
        }
    }

    /// Keeps a content: it is named by its hash and cannot be stale.
    pub(super) fn keep_content(&self, content: &Content) {
        let size = content.bytes().len();
        self.lock().contents.put(content.hash(), content.clone(), size);
    }

    /// Replaces a page by a newer one, or drops it.
    pub(super) fn publish_page(&self, index: &PageIndex, page: Option<Arc<Page>>) {
        let mut state = self.lock();
        state.bump(index.segment(), index.number());
        let newer = |old: &Arc<Page>, new: &Arc<Page>| old.revision < new.revision;
        match page {
            Some(page) => {
                let old = state.kept.get(index).or_else(|| state.pages.peek(index)).cloned();
                if old.is_none_or(|old| newer(&old, &page)) {
                    state.put_page(page);
                }
            }
            None => state.drop_page(index),
        }
    }

    /// Drops a chunk that has changed.
    pub(super) fn drop_chunk(&self, key: &ChunkKey) {
        let mut state = self.lock();
        state.bump(&key.segment, key.chunk * LevelChunk::SPAN);
        state.chunks.remove(key);
        state.level_changes += 1;
        state.pins.remove(&(key.view.clone(), key.segment.clone()));
    }

    /// Drops a content, so that a purge leaves nothing behind.
    pub(super) fn drop_content(&self, hash: &ContentHash) {
        self.lock().contents.remove(hash);
    }

    /// Drops everything.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.stamps.iter_mut().for_each(|stamp| *stamp += 1);
        state.pages.clear();
        state.kept.clear();
        state.chunks.clear();
        state.level_changes += 1;
        state.pins.clear();
        state.contents.clear();
    }

    /// Returns how many pages and bytes of pages are resident.
    pub(super) fn usage(&self) -> (usize, usize) {
        let state = self.lock();
        (state.pages.len() + state.kept.len(), state.pages.bytes)
    }
}

/// What a chunk is taken to weigh; most hold a few ranges.
const CHUNK_SIZE: usize = 256;

impl State {
    fn stamp_at(&self, segment: &SegmentId, number: u64) -> usize {
        // Pages and chunks share stamps: a chunk's is that of the first page in it.
        let hash = self.kept.hasher().hash_one((segment, number));
        usize::try_from(hash % STAMPS as u64).unwrap_or(0)
    }

    fn bump(&mut self, segment: &SegmentId, number: u64) {
        let at = self.stamp_at(segment, number);
        self.stamps[at] += 1;
    }

    fn put_page(&mut self, page: Arc<Page>) {
        // A segment that was removed may have come back as another kind: an older copy may lie on
        // the other side.
        self.drop_page(&page.index);
        let kind = self.segments.get(page.index.segment()).map(|segment| segment.kind);
        if page.index.is_root() || kind == Some(SegmentKind::System) {
            self.kept.insert(page.index.clone(), page);
        } else {
            let size = page.size();
            self.pages.put(page.index.clone(), page, size);
        }
    }

    fn drop_page(&mut self, index: &PageIndex) {
        self.kept.remove(index);
        self.pages.remove(index);
    }
}

/// A least-recently-used map bounded by bytes.
#[derive(Debug)]
pub(super) struct Bounded<K: Hash + Eq, V> {
    entries: LruCache<K, (V, usize)>,
    bytes: usize,
    limit: usize,
}

impl<K: Hash + Eq, V> Bounded<K, V> {
    pub(super) fn new(limit: usize) -> Self {
        Self { entries: LruCache::unbounded(), bytes: 0, limit }
    }

    pub(super) fn get(&mut self, key: &K) -> Option<&V> {
        self.entries.get(key).map(|(value, _)| value)
    }

    fn peek(&self, key: &K) -> Option<&V> {
        self.entries.peek(key).map(|(value, _)| value)
    }

    pub(super) fn put(&mut self, key: K, value: V, size: usize) {
        // What would push out everything else is better read again.
        if size > self.limit / 2 {
            self.remove(&key);
            return;
        }
        if let Some((_, old)) = self.entries.put(key, (value, size)) {
            self.bytes -= old;
        }
        self.bytes += size;
        while self.bytes > self.limit {
            let Some((_, (_, size))) = self.entries.pop_lru() else { break };
            self.bytes -= size;
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some((_, size)) = self.entries.pop(key) {
            self.bytes -= size;
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-41, C25: least recently used first, down to the limit, never more.
    #[test]
    fn the_least_recently_used_goes_first() {
        let mut bounded = Bounded::new(100);
        for key in 0..10 {
            bounded.put(key, key, 10);
        }
        bounded.get(&0);
        bounded.put(10, 10, 10);
        assert_eq!((bounded.bytes, bounded.len()), (100, 10));
        assert!(bounded.peek(&0).is_some() && bounded.peek(&1).is_none());
        bounded.put(0, 0, 30);
        assert!(bounded.bytes <= 100 && bounded.peek(&0).is_some());
        bounded.put(99, 99, 90);
        assert!(bounded.peek(&99).is_none() && bounded.peek(&0).is_some());
    }
}
