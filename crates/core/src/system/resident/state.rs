//! The resident set itself: what lies where, and what goes when room is short.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash},
    sync::Arc,
};

use super::{Pins, ResidentLimits, weight, windows::Windows};
use crate::{
    Page, PageIndex, Revision, Segment, SegmentId, SegmentKind,
    storage::{ChunkKey, Content, ContentHash, LevelChunk, Segments, ViewId},
    system::{
        bounded::Aged,
        memory::{Bytes, Memory},
    },
};

/// How many stamps guard against putting an old copy back after a newer one was published.
const STAMPS: usize = 256;

#[derive(Debug)]
pub(super) struct ResidentSet {
    pub(super) segments: Arc<Segments>,
    /// Counters that have moved on since the segments were read.
    pub(super) counters: HashMap<SegmentId, u64>,
    /// The last edits of segments' pages since the segments were read.
    pub(super) touched: HashMap<SegmentId, Revision>,
    /// Counts uses, across all that may be dropped.
    pub(super) now: u64,
    pub(super) pages: Aged<PageIndex, Arc<Page>>,
    pub(super) chunks: Aged<ChunkKey, Arc<LevelChunk>>,
    pub(super) contents: Aged<ContentHash, Content>,
    /// Pages that are pinned.
    pub(super) kept: HashMap<PageIndex, Arc<Page>>,
    pub(super) kept_bytes: Bytes,
    pub(super) windows: Windows,
    pub(super) limit: usize,
    /// What views say of pins, by segment.
    pub(super) pins: HashMap<(ViewId, SegmentId), Pins>,
    /// Counts changes of levels: pins that were read before one are not kept after it.
    pub(super) level_changes: u64,
    pub(super) stamps: Vec<u64>,
}

impl ResidentSet {
    pub(super) fn new(limits: ResidentLimits, segments: Segments, memory: &Arc<Memory>) -> Self {
        Self {
            segments: Arc::new(segments),
            counters: HashMap::new(),
            touched: HashMap::new(),
            now: 0,
            pages: Aged::new(memory),
            chunks: Aged::new(memory),
            contents: Aged::new(memory),
            kept: HashMap::new(),
            kept_bytes: Bytes::new(memory),
            windows: Windows::new(limits.bytes / 2),
            limit: limits.bytes,
            pins: HashMap::new(),
            level_changes: 0,
            stamps: vec![0; STAMPS],
        }
    }

    pub(super) fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    pub(super) fn stamp_at(&self, what: impl Hash) -> usize {
        // Pages and chunks share stamps: a chunk's is that of the first page in it.
        let hash = self.kept.hasher().hash_one(what);
        usize::try_from(hash % STAMPS as u64).unwrap_or(0)
    }

    pub(super) fn bump(&mut self, what: impl Hash) -> usize {
        let at = self.stamp_at(what);
        self.stamps[at] += 1;
        at
    }

    /// Returns why a page is never dropped for lack of room, if it is not.
    pub(super) fn pin_of(&self, index: &PageIndex) -> Option<&'static str> {
        if index.is_root() {
            return Some("it is the root of its segment");
        }
        let segment = self.segments.get(index.segment());
        if segment.is_some_and(|segment| segment.kind == SegmentKind::System) {
            return Some("its segment is of kind system");
        }
        self.windows.hold(index).then_some("it is in the window of a view")
    }

    pub(super) fn put_page(&mut self, page: Arc<Page>) {
        // A segment that was removed may have come back as another kind: an older copy may lie on
        // the other side.
        drop(self.take_page(&page.index));
        let size = weight::page(&page);
        if self.pin_of(&page.index).is_some() {
            self.kept_bytes.add(size);
            self.kept.insert(page.index.clone(), page);
        } else if self.is_fit(size) {
            let now = self.tick();
            self.pages.put(page.index.clone(), page, size, now);
        }
        self.trim();
    }

    pub(super) fn put_chunk(&mut self, key: ChunkKey, chunk: Arc<LevelChunk>) {
        let size = weight::chunk(&chunk);
        self.chunks.remove(&key);
        if self.is_fit(size) {
            let now = self.tick();
            self.chunks.put(key, chunk, size, now);
            self.trim();
        }
    }

    pub(super) fn put_content(&mut self, content: Content) {
        let size = weight::content(&content);
        if self.is_fit(size) {
            let now = self.tick();
            self.contents.put(content.hash(), content, size, now);
            self.trim();
        }
    }

    pub(super) fn take_page(&mut self, index: &PageIndex) -> Option<Arc<Page>> {
        if let Some(page) = self.kept.remove(index) {
            self.kept_bytes.sub(weight::page(&page));
            return Some(page);
        }
        self.pages.remove(index)
    }

    /// Puts a page on the side where it belongs now; tells whether it is resident.
    pub(super) fn rehome_page(&mut self, index: &PageIndex) -> bool {
        let Some(page) = self.take_page(index) else { return false };
        self.put_page(page);
        true
    }

    /// Puts pages where they belong whose segments have become System-kind ones, or no longer are.
    pub(super) fn rehome_kinds(&mut self, before: &Segments) {
        let is_system = |segment: &Segment| segment.kind == SegmentKind::System;
        let turned = |segment: &Segment| {
            is_system(segment) != before.get(&segment.id).is_some_and(|before| is_system(before))
        };
        let turned: Vec<SegmentId> = {
            let turned = self.segments.all().filter(|segment| turned(segment));
            turned.map(|segment| segment.id.clone()).collect()
        };
        if turned.is_empty() {
            return;
        }
        let pages = self.pages.keys().chain(self.kept.keys());
        let pages = pages.filter(|index| turned.contains(index.segment()));
        for index in pages.cloned().collect::<Vec<_>>() {
            self.rehome_page(&index);
        }
    }

    /// Tells whether something of that size is kept: what would push out much else is better read
    /// again.
    fn is_fit(&self, size: usize) -> bool {
        size <= self.limit / 4
    }

    /// Returns the bytes of what may be dropped.
    pub(super) fn droppable(&self) -> usize {
        self.pages.bytes() + self.chunks.bytes() + self.contents.bytes()
    }

    fn trim(&mut self) {
        // However much is pinned, what is read often must find room beside it.
        self.shrink_to(self.limit.saturating_sub(self.kept_bytes.get()).max(self.limit / 2));
    }

    pub(super) fn shrink_to(&mut self, room: usize) {
        while self.droppable() > room {
            let ages = [self.pages.oldest(), self.chunks.oldest(), self.contents.oldest()];
            let oldest = ages.into_iter().flatten().min();
            let dropped = match ages {
                [age, _, _] if age == oldest => self.pages.drop_oldest(),
                [_, age, _] if age == oldest => self.chunks.drop_oldest(),
                _ => self.contents.drop_oldest(),
            };
            if !dropped {
                break;
            }
        }
    }
}
