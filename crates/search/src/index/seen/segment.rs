//! A segment as a search sees it: its documents on disk, and before them those in memory.

use std::ops::{Range, RangeInclusive};

use tantivy::DocId;

use super::{PARTS, Parts, counts::masked};
use crate::index::{
    entry::Entry,
    key::{At, Space},
    range,
    sight::Sight,
    snapshot::{Block, PartSizes, Snapshot},
    tail::Tail,
};

/// A segment as a search sees it.
pub(crate) struct SeenSegment<'a> {
    pub(crate) space: Option<Space>,
    /// What is in memory: each hides what comes after it, and what is on disk.
    pub(crate) tails: Vec<&'a Tail>,
    pub(crate) sight: Sight,
    /// Pages with smaller numbers are not there, but for the root.
    pub(crate) first: u32,
    pub(super) blocks: Vec<SeenBlock<'a>>,
}

/// The documents of a segment in one block.
pub(crate) struct SeenBlock<'a> {
    pub(crate) block: &'a Block,
    pub(crate) docs: Range<DocId>,
    /// The first and the last place in it.
    pub(super) places: RangeInclusive<At>,
    /// Pages of which something newer is in memory.
    pub(crate) hidden: Vec<u32>,
}

/// Where a document is.
pub(super) enum Found<'a> {
    Disk(&'a Block, DocId),
    Memory(&'a Entry),
}

impl<'a> SeenSegment<'a> {
    pub(crate) fn new(
        space: Option<Space>,
        tails: Vec<&'a Tail>,
        sight: Sight,
        first: u32,
    ) -> Self {
        Self { space, tails, sight, first, blocks: Vec::new() }
    }

    pub(super) fn open(&mut self, snapshot: &'a Snapshot) {
        let Some(space) = self.space else { return };
        for block in snapshot.blocks.iter() {
            let docs = block.documents(space);
            if docs.is_empty() {
                continue;
            }
            let places = block.at(docs.start)..=block.at(docs.end - 1);
            let pages = places.start().page..=places.end().page;
            let newer = self.tails.iter().flat_map(|tail| tail.pages().range(pages.clone()));
            let mut hidden: Vec<u32> = newer.map(|(page, _)| *page).collect();
            hidden.sort_unstable();
            hidden.dedup();
            self.blocks.push(SeenBlock { block, docs, places, hidden });
        }
    }

    pub(super) fn has(&self, page: u32) -> bool {
        page == 0 || page >= self.first
    }

    /// Returns what is seen of a document on disk; nothing where something newer hides it.
    pub(crate) fn parts(&self, block: &SeenBlock<'_>, doc: DocId, at: At) -> Parts {
        if block.block.reader.is_deleted(doc) || block.hides(at.page) || !self.has(at.page) {
            return Parts::NONE;
        }
        self.sight.of_document(block.block, doc)
    }

    pub(super) fn lengths(
        &self,
        block: &SeenBlock<'_>,
        doc: DocId,
        at: At,
    ) -> Option<[u16; PARTS]> {
        let parts = self.parts(block, doc, at);
        (parts != Parts::NONE).then(|| masked(block.block.lengths(doc), parts))
    }

    /// Returns a document in memory as it is seen, unless a tail before this one hides it.
    pub(super) fn entry_lengths(&self, tail: usize, entry: &Entry) -> Option<[u16; PARTS]> {
        let page = entry.at.page;
        if !self.has(page) || self.tails[..tail].iter().any(|it| it.pages().contains_key(&page)) {
            return None;
        }
        let parts = self.sight.of_entry(entry);
        (parts != Parts::NONE).then(|| masked(entry.lengths, parts))
    }

    /// Returns how much of it is seen.
    pub(super) fn size(&self, snapshot: &Snapshot) -> PartSizes {
        let mut size = PartSizes::default();
        for block in &self.blocks {
            let Some(space) = self.space else { continue };
            if self.first > 0 {
                // A branch's own segment, which is small.
                for doc in block.docs.clone() {
                    if let Some(lengths) = self.lengths(block, doc, block.block.at(doc)) {
                        size.add(&lengths);
                    }
                }
                continue;
            }
            let mut whole = snapshot.size(block.block, space, block.docs.clone(), &self.sight);
            for page in &block.hidden {
                for doc in block.page(space, *page) {
                    let alive = !block.block.reader.is_deleted(doc);
                    if let Some(lengths) =
                        block.block.seen_lengths(doc, &self.sight).filter(|_| alive)
                    {
                        whole.subtract(&lengths);
                    }
                }
            }
            size.join(&whole);
        }
        for (at, tail) in self.tails.iter().enumerate() {
            let seen = tail.entries().filter_map(|entry| self.entry_lengths(at, entry));
            seen.for_each(|lengths| size.add(&lengths));
        }
        size
    }

    pub(super) fn find(&self, at: At) -> Option<(Found<'a>, Parts)> {
        for (number, tail) in self.tails.iter().enumerate() {
            if tail.pages().contains_key(&at.page) {
                let entry = tail.entry(at)?;
                self.entry_lengths(number, entry)?;
                return Some((Found::Memory(entry), self.sight.of_entry(entry)));
            }
        }
        let key = self.space?.key(at);
        for block in self.blocks.iter().filter(|block| block.places.contains(&at)) {
            let doc = range::first_from(&*block.block.keys, block.docs.clone(), key);
            if doc < block.docs.end && block.block.keys.get_val(doc) == key {
                // A deleted document may stand in one block and its successor in another.
                let parts = self.parts(block, doc, at);
                if parts != Parts::NONE {
                    return Some((Found::Disk(block.block, doc), parts));
                }
            }
        }
        None
    }

    /// Returns the messages that are seen on one side of a place, nearest first.
    pub(super) fn neighbours(&self, at: At, direction: Direction) -> impl Iterator<Item = At> {
        let mut sources: Vec<Box<dyn Iterator<Item = At> + '_>> = Vec::new();
        for (number, tail) in self.tails.iter().enumerate() {
            let is_seen = move |entry: &&Entry| {
                entry.at.message > 0 && self.entry_lengths(number, entry).is_some()
            };
            sources.push(match direction {
                Direction::Back => Box::new(tail.before(at).filter(is_seen).map(|entry| entry.at)),
                Direction::On => Box::new(tail.after(at).filter(is_seen).map(|entry| entry.at)),
            });
        }
        for block in &self.blocks {
            let place = move |doc: DocId| {
                let at = block.block.at(doc);
                (at.message > 0 && self.parts(block, doc, at) != Parts::NONE).then_some(at)
            };
            let from = block.first_from(self.space, at);
            sources.push(match direction {
                Direction::Back => Box::new((block.docs.start..from).rev().filter_map(place)),
                Direction::On => {
                    let behind = move |found: &At| *found > at;
                    Box::new((from..block.docs.end).filter_map(place).filter(behind))
                }
            });
        }
        let mut heads: Vec<Option<At>> = sources.iter_mut().map(Iterator::next).collect();
        std::iter::from_fn(move || {
            let standing =
                heads.iter().enumerate().filter_map(|(from, head)| Some(((*head)?, from)));
            let (nearest, from) = match direction {
                Direction::Back => standing.max()?,
                Direction::On => standing.min()?,
            };
            heads[from] = sources[from].next();
            Some(nearest)
        })
    }
}

#[derive(Clone, Copy)]
pub(super) enum Direction {
    Back,
    On,
}

impl SeenBlock<'_> {
    /// Returns the first document at a place or behind it.
    fn first_from(&self, space: Option<Space>, at: At) -> DocId {
        match space {
            Some(_) if at < *self.places.start() => self.docs.start,
            Some(_) if at > *self.places.end() => self.docs.end,
            Some(space) => range::first_from(&*self.block.keys, self.docs.clone(), space.key(at)),
            None => self.docs.end,
        }
    }

    pub(super) fn hides(&self, page: u32) -> bool {
        !self.hidden.is_empty() && self.hidden.binary_search(&page).is_ok()
    }

    fn page(&self, space: Space, page: u32) -> Range<DocId> {
        let keys = space.page(page);
        let first = range::first_from(&*self.block.keys, self.docs.clone(), keys.start);
        first..range::first_from(&*self.block.keys, first..self.docs.end, keys.end)
    }
}
