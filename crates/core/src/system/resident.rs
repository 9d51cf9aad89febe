//! What stays in memory: recently used pages, chunks of level state and contents.
//!
//! Only clean copies of what the storage holds lie here, for every edit is committed before it is
//! published: there are no dirty pages, so anything may be dropped at any time and none is ever
//! written back. Pages, chunks and contents share one bound; what was used longest ago goes
//! first. Roots, pages of System-kind segments and pages that stand in a window are pinned: they are
//! not dropped for lack of room.

mod state;
mod weight;
mod windows;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{
    Page, PageIndex, Revision, Segment, SegmentId,
    storage::{ChunkKey, Content, ContentHash, LevelChunk, Segments, ViewId},
};
use state::ResidentSet;

use super::memory::Memory;

/// How much stays in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentLimits {
    /// Bytes of pages, level chunks and contents together. Windows may pin half of it. Roots and
    /// pages of System-kind segments count, and leave at least half of it to the others. What is
    /// derived for windows, counts and rendered pieces, has bounds of its own.
    pub bytes: usize,
}

impl Default for ResidentLimits {
    fn default() -> Self {
        Self { bytes: 64 << 20 }
    }
}

/// What is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentUsage {
    /// How many pages.
    pub pages: usize,
    /// How many of them are pinned.
    pub pinned: usize,
    /// Bytes of pages, level chunks and contents.
    pub bytes: usize,
    /// How many of them are pinned.
    pub pinned_bytes: usize,
}

/// What became of a page that was to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eviction {
    Dropped,
    NotResident,
    /// It stays, and why.
    Pinned(&'static str),
}

#[derive(Debug)]
pub(super) struct Resident {
    state: Mutex<ResidentSet>,
}

/// What a view says of pins in a segment: ranges of page numbers, in order.
pub(super) type Pins = Arc<[(u64, u64, bool)]>;

/// How many segments of views are remembered by their pins.
const MOST_PINS: usize = 1_024;

/// When a load began: what it brings is only kept if nothing was published meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(usize, u64);

impl Resident {
    pub(super) fn new(limits: ResidentLimits, segments: Segments, memory: &Arc<Memory>) -> Self {
        Self { state: Mutex::new(ResidentSet::new(limits, segments, memory)) }
    }

    fn lock(&self) -> MutexGuard<'_, ResidentSet> {
        // Copies of what the storage holds cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn segments(&self) -> Arc<Segments> {
        self.lock().segments.clone()
    }

    pub(super) fn set_segments(&self, segments: Segments) {
        let state = &mut *self.lock();
        let before = std::mem::replace(&mut state.segments, Arc::new(segments));
        state.rehome_kinds(&before);
        // What the segments say themselves need not be remembered beside them.
        let segments = &state.segments;
        let known = |id: &SegmentId| segments.get(id);
        state.counters.retain(|id, next| known(id).is_none_or(|known| known.next_number < *next));
        state.touched.retain(|id, last| known(id).is_none_or(|known| known.touched < *last));
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
        let now = state.tick();
        state.pages.get(index, now).cloned()
    }

    pub(super) fn chunk(&self, key: &ChunkKey) -> Option<Arc<LevelChunk>> {
        let mut state = self.lock();
        let now = state.tick();
        state.chunks.get(key, now).cloned()
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
        let mut state = self.lock();
        let now = state.tick();
        state.contents.get(hash, now).cloned()
    }

    /// Tells whether a content is here. It is not used by that.
    pub(super) fn has_content(&self, hash: &ContentHash) -> bool {
        self.lock().contents.peek(hash).is_some()
    }

    /// Notes the moment before a page or chunk of a segment is loaded.
    pub(super) fn stamp(&self, segment: &SegmentId, number: u64) -> Stamp {
        let state = self.lock();
        let at = state.stamp_at((segment, number));
        Stamp(at, state.stamps[at])
    }

    /// Notes the moment before a content is loaded.
    pub(super) fn content_stamp(&self, hash: &ContentHash) -> Stamp {
        let state = self.lock();
        let at = state.stamp_at(hash);
        Stamp(at, state.stamps[at])
    }

    /// Notes the moment before a page is loaded whatever is resident; no earlier load is kept.
    pub(super) fn fresh_stamp(&self, index: &PageIndex) -> Stamp {
        let mut state = self.lock();
        let at = state.bump((index.segment(), index.number()));
        Stamp(at, state.stamps[at])
    }

    /// Notes the moment before pages of a list are loaded.
    pub(super) fn stamps(&self) -> Vec<u64> {
        self.lock().stamps.clone()
    }

    /// Keeps a page of a loaded list, unless something newer was published since.
    pub(super) fn keep_listed(&self, page: Arc<Page>, stamps: &[u64]) {
        let mut state = self.lock();
        let at = state.stamp_at((page.index.segment(), page.index.number()));
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
            state.put_chunk(key.clone(), chunk.clone());
        }
    }

    /// Keeps a loaded content, unless it may have been purged since the stamp.
    pub(super) fn keep_content(&self, content: &Content, stamp: Stamp) {
        let mut state = self.lock();
        if state.stamps[stamp.0] == stamp.1 {
            state.put_content(content.clone());
        }
    }

    /// Replaces a page by a newer one, or drops it.
    pub(super) fn publish_page(&self, index: &PageIndex, page: Option<Arc<Page>>) {
        let mut state = self.lock();
        state.bump((index.segment(), index.number()));
        let newer = |old: &Arc<Page>, new: &Arc<Page>| old.revision < new.revision;
        match page {
            Some(page) => {
                let old = state.kept.get(index).or_else(|| state.pages.peek(index)).cloned();
                if old.is_none_or(|old| newer(&old, &page)) {
                    state.put_page(page);
                }
            }
            None => drop(state.take_page(index)),
        }
    }

    /// Drops a chunk that has changed.
    pub(super) fn drop_chunk(&self, key: &ChunkKey) {
        let mut state = self.lock();
        state.bump((&key.segment, key.chunk * LevelChunk::SPAN));
        state.chunks.remove(key);
        state.level_changes += 1;
        state.pins.remove(&(key.view.clone(), key.segment.clone()));
    }

    /// Drops a content, so that a purge leaves nothing behind.
    pub(super) fn drop_content(&self, hash: &ContentHash) {
        let mut state = self.lock();
        state.bump(hash);
        state.contents.remove(hash);
    }

    /// Pins the pages of a view's window in place of the one before; returns those that are not
    /// resident.
    pub(super) fn hold_window<'a>(
        &self,
        view: &ViewId,
        pages: impl DoubleEndedIterator<Item = &'a Arc<Page>>,
    ) -> Vec<PageIndex> {
        let mut state = self.lock();
        let turnover = state.windows.take(view, pages);
        for index in &turnover.let_go {
            state.rehome_page(index);
        }
        let mut missing = turnover.taken;
        missing.retain(|index| !state.rehome_page(index));
        missing
    }

    /// Drops a page with its content, unless it is pinned.
    pub(super) fn evict(&self, index: &PageIndex) -> Eviction {
        let mut state = self.lock();
        if !state.rehome_page(index) {
            return Eviction::NotResident;
        }
        if let Some(why) = state.pin_of(index) {
            return Eviction::Pinned(why);
        }
        let Some(page) = state.take_page(index) else { return Eviction::NotResident };
        if let Some(detail) = page.detail() {
            state.contents.remove(&detail.content);
        }
        Eviction::Dropped
    }

    /// Drops what was used longest ago until no more than `most` bytes are left, or only what is
    /// pinned; returns how many bytes went.
    pub(super) fn evict_lru(&self, most: usize) -> usize {
        let mut state = self.lock();
        let before = state.droppable();
        let room = most.saturating_sub(state.kept_bytes.get());
        state.shrink_to(room);
        before - state.droppable()
    }

    /// Drops the pages that were used longest ago, with their contents, until no more than `most` are
    /// left, or only what is pinned; returns how many went.
    pub(super) fn evict_lru_pages(&self, most: usize) -> usize {
        let state = &mut *self.lock();
        let resident = state.pages.keys().count() + state.kept.len();
        let mut dropped = 0;
        while resident - dropped > most {
            let Some(page) = state.pages.take_oldest() else { break };
            if let Some(detail) = page.detail() {
                state.contents.remove(&detail.content);
            }
            dropped += 1;
        }
        dropped
    }

    /// Drops everything, what is pinned included.
    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.stamps.iter_mut().for_each(|stamp| *stamp += 1);
        state.pages.clear();
        state.kept.clear();
        state.kept_bytes.set(0);
        state.chunks.clear();
        state.level_changes += 1;
        state.pins.clear();
        state.contents.clear();
    }

    /// Forgets how far segments had got: they stand at an earlier state.
    pub(super) fn begin_again(&self) {
        let mut state = self.lock();
        state.counters.clear();
        state.touched.clear();
    }

    /// Returns what is resident.
    pub(super) fn usage(&self) -> ResidentUsage {
        let state = self.lock();
        ResidentUsage {
            pages: state.pages.keys().count() + state.kept.len(),
            pinned: state.kept.len(),
            bytes: state.droppable() + state.kept_bytes.get(),
            pinned_bytes: state.kept_bytes.get(),
        }
    }

    /// Returns the pages that are resident, by segment and number. None is used by that.
    pub(super) fn pages(&self) -> Vec<Arc<Page>> {
        let state = self.lock();
        let mut pages: Vec<Arc<Page>> =
            state.pages.values().chain(state.kept.values()).cloned().collect();
        pages.sort_unstable_by(|one, other| one.index.cmp(&other.index));
        pages
    }

    /// Returns the indices of the pages that are resident, by segment and number.
    pub(super) fn page_indices(&self) -> Vec<PageIndex> {
        let state = self.lock();
        let mut indices: Vec<PageIndex> =
            state.pages.keys().chain(state.kept.keys()).cloned().collect();
        indices.sort_unstable();
        indices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A content whose load began before a purge is not kept after it.
    #[test]
    fn a_content_from_before_a_purge_is_not_kept() {
        let (limits, segments) = (ResidentLimits::default(), Segments::new(Vec::new()));
        let resident = Resident::new(limits, segments, &Memory::unbounded());
        let content = Content::encode(&[]);
        let hash = content.hash();
        let early = resident.content_stamp(&hash);
        resident.keep_content(&content, early);
        assert!(resident.content(&hash).is_some());
        resident.clear();
        resident.keep_content(&content, early);
        assert!(resident.content(&hash).is_none());
        resident.keep_content(&content, resident.content_stamp(&hash));
        assert!(resident.content(&hash).is_some());
    }
}
