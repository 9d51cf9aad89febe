//! The documents that one search may see: those on disk, and before them those in memory.
//!
//! ```text
//!  overlay   pages as they stood when a branch began        hides what is below
//!  tail      pages that changed since the last commit       hides what is below
//!  blocks    what was committed, sorted by key
//! ```

mod pieces;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
    ops::{Range, RangeInclusive},
    rc::Rc,
};

use contexture_core::Timestamp;
use tantivy::{DocId, TERMINATED, Term, postings::TermInfo, schema::IndexRecordOption};

use super::{
    class::{PARTS, Part, Parts},
    entry::Entry,
    key::{At, Space},
    merge::{self, Ordered, Source},
    narrow::Narrow,
    postings::{DiskPostings, PlainPostings, PostingBatches},
    range,
    schema::{self, Fields},
    sight::{self, Sight},
    snapshot::{Block, PartSizes, Snapshot},
    tail::{PartCounts, Tail},
};
use crate::{
    collection::{Collection, Counts, Facts, Posting, Size},
    document::{DocKey, Field},
    error::SearchError,
};

/// How many terms are looked at for completions, at most, in each part of each block.
const MOST_COMPLETED: usize = 65_536;

/// The documents that one search may see.
pub(crate) struct SeenDocuments<'a> {
    fields: &'a Fields,
    snapshot: &'a Snapshot,
    segments: Vec<SeenSegment<'a>>,
    /// Terms of documents that were read for this search, and those that are wanted.
    read: HashMap<DocKey, Vec<(String, u32)>>,
    wanted: RefCell<BTreeSet<DocKey>>,
    /// Where the lists of terms are that were looked up: for each block of each segment.
    lists: RefCell<HashMap<String, Rc<[BlockLists]>>>,
    fault: Cell<Option<SearchError>>,
    size: Size,
    narrow: Option<Narrowed<'a>>,
}

/// What a search is narrowed to, made ready.
struct Narrowed<'a> {
    narrow: &'a Narrow,
    /// Whether each class on disk may pass.
    classes: Vec<bool>,
    /// The messages that use one of the tools.
    using: Option<BTreeSet<DocKey>>,
}

/// A segment as a search sees it.
pub(crate) struct SeenSegment<'a> {
    pub(crate) space: Option<Space>,
    /// What is in memory: each hides what comes after it, and what is on disk.
    pub(crate) tails: Vec<&'a Tail>,
    pub(crate) sight: Sight,
    /// Pages with smaller numbers are not there, but for the root.
    pub(crate) first: u32,
    blocks: Vec<SeenBlock<'a>>,
}

/// The documents of a segment in one block.
pub(crate) struct SeenBlock<'a> {
    pub(crate) block: &'a Block,
    pub(crate) docs: Range<DocId>,
    /// The first and the last place in it.
    places: RangeInclusive<At>,
    /// Pages of which something newer is in memory.
    pub(crate) hidden: Vec<u32>,
}

/// Where the lists of a term are in a block: the part, and what the dictionary says of its list.
type BlockLists = Vec<(usize, TermInfo)>;

/// Where a document is.
enum Found<'a> {
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

    fn open(&mut self, snapshot: &'a Snapshot) {
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

    fn has(&self, page: u32) -> bool {
        page == 0 || page >= self.first
    }

    /// Returns what is seen of a document on disk; nothing where something newer hides it.
    pub(crate) fn parts(&self, block: &SeenBlock<'_>, doc: DocId, at: At) -> Parts {
        if block.block.reader.is_deleted(doc) || block.hides(at.page) || !self.has(at.page) {
            return Parts::NONE;
        }
        self.sight.of_document(block.block, doc)
    }

    fn lengths(&self, block: &SeenBlock<'_>, doc: DocId, at: At) -> Option<[u16; PARTS]> {
        let parts = self.parts(block, doc, at);
        (parts != Parts::NONE).then(|| masked(block.block.lengths(doc), parts))
    }

    /// Returns a document in memory as it is seen, unless a tail before this one hides it.
    fn entry_lengths(&self, tail: usize, entry: &Entry) -> Option<[u16; PARTS]> {
        let page = entry.at.page;
        if !self.has(page) || self.tails[..tail].iter().any(|it| it.pages().contains_key(&page)) {
            return None;
        }
        let parts = self.sight.of_entry(entry);
        (parts != Parts::NONE).then(|| masked(entry.lengths, parts))
    }

    /// Returns how much of it is seen.
    fn size(&self, snapshot: &Snapshot) -> PartSizes {
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

    fn find(&self, at: At) -> Option<(Found<'a>, Parts)> {
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
    fn neighbours(&self, at: At, direction: Direction) -> impl Iterator<Item = At> {
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
enum Direction {
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

    fn hides(&self, page: u32) -> bool {
        !self.hidden.is_empty() && self.hidden.binary_search(&page).is_ok()
    }

    fn page(&self, space: Space, page: u32) -> Range<DocId> {
        let keys = space.page(page);
        let first = range::first_from(&*self.block.keys, self.docs.clone(), keys.start);
        first..range::first_from(&*self.block.keys, first..self.docs.end, keys.end)
    }
}

impl<'a> SeenDocuments<'a> {
    pub(crate) fn new(
        fields: &'a Fields,
        snapshot: &'a Snapshot,
        mut segments: Vec<SeenSegment<'a>>,
        read: HashMap<DocKey, Vec<(String, u32)>>,
    ) -> Self {
        segments.iter_mut().for_each(|segment| segment.open(snapshot));
        let mut size = PartSizes::default();
        segments.iter().for_each(|segment| size.join(&segment.size(snapshot)));
        let size = Size { documents: size.documents, terms: by_field(size.terms) };
        let (wanted, lists, fault) = (RefCell::default(), RefCell::default(), Cell::default());
        Self { fields, snapshot, segments, read, wanted, lists, fault, size, narrow: None }
    }

    /// Narrows what its postings show.
    pub(crate) fn narrowed(mut self, narrow: Option<&'a Narrow>) -> Self {
        self.narrow = narrow.map(|narrow| Narrowed {
            narrow,
            classes: self.snapshot.state.classes.iter().map(|it| narrow.admits(it)).collect(),
            using: (!narrow.tools.is_empty()).then(|| self.using(&narrow.tools)),
        });
        self
    }

    /// Tells whether a document is one of those that the search is narrowed to.
    pub(crate) fn passes(&self, key: DocKey) -> bool {
        let Some(narrow) = &self.narrow else { return true };
        let segment = self.segments.get(usize::from(key.segment));
        match segment.and_then(|segment| segment.find(place(key))) {
            Some((Found::Disk(block, doc), _)) => narrow.has_document(block, doc, key),
            Some((Found::Memory(entry), _)) => narrow.has_entry(entry, key),
            None => false,
        }
    }

    /// Returns the documents whose terms were asked for and are not known.
    pub(crate) fn wanted(&self) -> BTreeSet<DocKey> {
        self.wanted.borrow().clone()
    }

    /// Reports what went wrong while it was read.
    pub(crate) fn check(&self) -> Result<(), SearchError> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Returns the messages that call one of these tools, or have its result.
    fn using(&self, tools: &[String]) -> BTreeSet<DocKey> {
        let mut found = BTreeSet::new();
        for (number, segment) in self.numbered() {
            for tool in tools {
                for block in &segment.blocks {
                    self.noted(segment, block, &schema::tool_note(tool), &mut |doc| {
                        let at = block.block.at(doc);
                        if segment.parts(block, doc, at).has(Part::Tool) {
                            found.insert(key(number, at));
                        }
                        true
                    });
                }
                for (at, tail) in segment.tails.iter().enumerate() {
                    let uses = |entry: &&Entry| {
                        entry.tools.contains(tool)
                            && segment.entry_lengths(at, entry).is_some()
                            && segment.sight.of_entry(entry).has(Part::Tool)
                    };
                    found.extend(tail.entries().filter(uses).map(|entry| key(number, entry.at)));
                }
            }
        }
        found
    }

    /// Returns the number and the directory of each page of a segment on disk that carries a note.
    pub(crate) fn noted_pages(
        fields: &Fields,
        snapshot: &Snapshot,
        space: Space,
        note: &str,
    ) -> Result<Vec<(u32, u32)>, SearchError> {
        let mut found = Vec::new();
        for block in snapshot.blocks.iter() {
            let term = fields.note(space, note);
            let Some(info) = block.terms.get_term_info(&term)? else { continue };
            let mut postings = DiskPostings::new(block, &[(0, info)])?;
            while postings.doc() != TERMINATED {
                if !block.reader.is_deleted(postings.doc()) {
                    let at = block.at(postings.doc());
                    found.push((at.page, block.chapter(postings.doc())));
                }
                postings.advance();
            }
        }
        Ok(found)
    }

    fn numbered(&self) -> impl Iterator<Item = (u16, &SeenSegment<'a>)> {
        // A view has as many segments as fit, which a search takes the first of.
        (0..=u16::MAX).zip(&self.segments)
    }

    fn note(&self, fault: impl Into<SearchError>) {
        self.fault.set(Some(fault.into()));
    }

    /// Shows the documents of a block that carry a note, until told to stop.
    fn noted(
        &self,
        segment: &SeenSegment<'_>,
        block: &SeenBlock<'_>,
        note: &str,
        visit: &mut dyn FnMut(DocId) -> bool,
    ) {
        let Some(space) = segment.space else { return };
        let found = self.look_up(block, [(0, self.fields.note(space, note))]);
        let Some(mut postings) = self.open(block, &found) else { return };
        while postings.doc() != TERMINATED && visit(postings.doc()) {
            postings.advance();
        }
    }

    /// Looks terms up in the dictionary of a block.
    fn look_up(
        &self,
        block: &SeenBlock<'_>,
        terms: impl IntoIterator<Item = (usize, Term)>,
    ) -> BlockLists {
        let mut found = Vec::new();
        for (part, term) in terms {
            match block.block.terms.get_term_info(&term) {
                Ok(info) => found.extend(info.map(|info| (part, info))),
                Err(error) => self.note(error),
            }
        }
        found
    }

    /// Looks a term up in all blocks of all segments, once in a search.
    fn lists(&self, term: &str) -> Rc<[BlockLists]> {
        if let Some(known) = self.lists.borrow().get(term) {
            return known.clone();
        }
        let blocks = self.segments.iter().filter_map(|it| Some((it.space?, &it.blocks)));
        let found = blocks.flat_map(|(space, blocks)| {
            blocks.iter().map(move |block| self.look_up(block, self.all_parts(space, term)))
        });
        let found: Rc<[BlockLists]> = found.collect();
        self.lists.borrow_mut().insert(term.to_owned(), found.clone());
        found
    }

    /// Opens posting lists of a block together; none where there are none.
    fn open<'b>(&self, block: &SeenBlock<'b>, lists: &BlockLists) -> Option<DiskPostings<'b>> {
        if lists.is_empty() {
            return None;
        }
        DiskPostings::new(block.block, lists).map_err(|error| self.note(error)).ok()
    }

    /// Returns postings of a block as they are seen.
    fn on_disk<'b>(
        &'b self,
        number: u16,
        segment: &'b SeenSegment<'_>,
        block: &'b SeenBlock<'_>,
        found: DiskPostings<'b>,
    ) -> Box<dyn Ordered + 'b> {
        // Most views leave nothing out, and most segments have nothing newer in memory.
        if segment.sight.is_open()
            && segment.first == 0
            && block.hidden.is_empty()
            && self.narrow.is_none()
        {
            return Box::new(PlainPostings::new(number, found));
        }
        Box::new(PostingBatches::new(found).filter_map(move |raw| {
            let (doc, at) = (raw.doc, raw.at);
            if block.hides(at.page) || !segment.has(at.page) {
                return None;
            }
            let parts = segment.sight.of_class(block.block, doc, at, raw.class);
            let posting = posting(number, at, raw.counts, raw.lengths, parts)?;
            let passes = |it: &Narrowed<'_>| it.has_document(block.block, doc, posting.key);
            self.narrow.as_ref().is_none_or(passes).then_some(posting)
        }))
    }

    /// Returns a posting in memory as it is seen.
    fn in_memory(
        &self,
        number: u16,
        segment: &SeenSegment<'_>,
        (place, tail): (usize, &Tail),
        at: At,
        counts: PartCounts,
    ) -> Option<Posting> {
        let entry = tail.entry(at)?;
        segment.entry_lengths(place, entry)?;
        let passes = |it: &Narrowed<'_>| it.has_entry(entry, key(number, at));
        if !self.narrow.as_ref().is_none_or(passes) {
            return None;
        }
        posting(number, at, counts, entry.lengths, segment.sight.of_entry(entry))
    }

    fn all_parts(&self, space: Space, term: &str) -> [(usize, Term); PARTS] {
        Part::ALL.map(|part| (part as usize, self.fields.term(space, part, term)))
    }

    /// Returns the first terms of a part of a block that begin with a prefix and are seen.
    fn completed(
        &self,
        segment: &SeenSegment<'_>,
        block: &SeenBlock<'_>,
        part: Part,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<String>, SearchError> {
        let Some(space) = segment.space else { return Ok(Vec::new()) };
        let spelt = self.fields.term(space, part, prefix);
        let skipped = spelt.serialized_value_bytes().len() - prefix.len();
        let from = spelt.serialized_value_bytes();
        let mut stream = block.block.terms.terms().range().ge(from).into_stream()?;
        let mut found = Vec::new();
        for _ in 0..MOST_COMPLETED {
            if found.len() >= limit || !stream.advance() || !stream.key().starts_with(from) {
                break;
            }
            let mut postings =
                DiskPostings::new(block.block, &[(part as usize, stream.value().clone())])?;
            let is_seen = loop {
                let doc = postings.doc();
                if doc == TERMINATED {
                    break false;
                }
                if segment.parts(block, doc, block.block.at(doc)).has(part) {
                    break true;
                }
                postings.advance();
            };
            if let Ok(term) = std::str::from_utf8(&stream.key()[skipped..])
                && is_seen
            {
                found.push(term.to_owned());
            }
        }
        Ok(found)
    }
}

impl Narrowed<'_> {
    fn has_document(&self, block: &Block, doc: DocId, key: DocKey) -> bool {
        self.classes.get(block.class(doc)).copied().unwrap_or(false)
            && self.narrow.has(block.said(doc))
            && self.using.as_ref().is_none_or(|using| using.contains(&key))
    }

    fn has_entry(&self, entry: &Entry, key: DocKey) -> bool {
        self.narrow.admits(&entry.class)
            && self.narrow.has(entry.said)
            && self.using.as_ref().is_none_or(|using| using.contains(&key))
    }
}

impl Collection for SeenDocuments<'_> {
    fn size(&self) -> Size {
        self.size
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(&Posting) -> bool) {
        let lists = self.lists(term);
        let mut lists = lists.iter();
        for (number, segment) in self.numbered() {
            let mut sources: Vec<Source<'_>> = Vec::new();
            for (block, lists) in segment.blocks.iter().zip(&mut lists) {
                if let Some(found) = self.open(block, lists) {
                    let places = (*block.places.start(), *block.places.end());
                    let found = self.on_disk(number, segment, block, found);
                    sources.push(Source { places, found });
                }
            }
            for (place, tail) in segment.tails.iter().enumerate() {
                let Some(found) = tail.postings(term) else { continue };
                let (Some(first), Some(last)) = (found.keys().next(), found.keys().next_back())
                else {
                    continue;
                };
                let places = (*first, *last);
                let found = found.iter().filter_map(move |(at, counts)| {
                    self.in_memory(number, segment, (place, tail), *at, *counts)
                });
                sources.push(Source { places, found: Box::new(found) });
            }
            if !merge::in_order(sources, visit) {
                return;
            }
        }
    }

    fn at_least(&self, term: &str) -> usize {
        if self.narrow.is_some() {
            return 0;
        }
        let lists = self.lists(term);
        let blocks =
            self.segments.iter().flat_map(|it| it.blocks.iter().map(move |block| (it, block)));
        let mut sum = 0;
        for ((segment, block), lists) in blocks.zip(lists.iter()) {
            if segment.sight.is_open() && segment.first == 0 && block.hidden.is_empty() {
                // A document has a term in one part or in several.
                let most = lists.iter().map(|(_, info)| info.doc_freq).max().unwrap_or(0);
                sum += most.saturating_sub(block.block.reader.num_deleted_docs()) as usize;
            }
        }
        sum
    }

    fn completions(&self, prefix: &str, limit: usize) -> Vec<String> {
        let mut found = BTreeSet::new();
        for (_, segment) in self.numbered() {
            for block in &segment.blocks {
                for part in Part::ALL {
                    match self.completed(segment, block, part, prefix, limit) {
                        Ok(terms) => found.extend(terms),
                        Err(error) => self.note(error),
                    }
                }
            }
            for (place, tail) in segment.tails.iter().enumerate() {
                for (term, documents) in tail.terms().filter(|(term, _)| term.starts_with(prefix)) {
                    let is_seen = documents.iter().any(|(at, counts)| {
                        let entry = tail.entry(*at);
                        let entry = entry.filter(|it| segment.entry_lengths(place, it).is_some());
                        entry.is_some_and(|entry| is_counted(counts, segment.sight.of_entry(entry)))
                    });
                    if is_seen {
                        found.insert(term.to_owned());
                    }
                }
            }
        }
        found.into_iter().take(limit).collect()
    }

    fn speaks(&self, speaker: u32) -> bool {
        let note = schema::speaker_note(speaker);
        self.numbered().any(|(_, segment)| {
            let mut speaks = segment.tails.iter().enumerate().any(|(place, tail)| {
                let mut said = tail.entries().filter(|entry| entry.speaker == speaker);
                said.any(|entry| segment.entry_lengths(place, entry).is_some())
            });
            for block in &segment.blocks {
                if speaks {
                    break;
                }
                self.noted(segment, block, &note, &mut |doc| {
                    speaks = segment.lengths(block, doc, block.block.at(doc)).is_some();
                    !speaks
                });
            }
            speaks
        })
    }

    fn facts(&self, key: DocKey) -> Option<Facts> {
        let segment = self.segments.get(usize::from(key.segment))?;
        let (found, parts) = segment.find(place(key))?;
        let lengths = |lengths| by_field_counts(masked(lengths, parts));
        Some(match found {
            Found::Disk(block, doc) => Facts {
                lengths: lengths(block.lengths(doc)),
                marks: self.snapshot.state.classes.get(block.class(doc))?.marks(parts),
                speaker: block.speaker(doc),
                at: Timestamp::from_millis(block.said(doc)),
                chapter: block.chapter(doc),
            },
            Found::Memory(entry) => Facts {
                lengths: lengths(entry.lengths),
                marks: entry.class.marks(parts),
                speaker: entry.speaker,
                at: Timestamp::from_millis(entry.said),
                chapter: entry.chapter,
            },
        })
    }

    fn around(&self, key: DocKey, reach: usize, visit: &mut dyn FnMut(DocKey)) {
        let Some(segment) = self.segments.get(usize::from(key.segment)) else { return };
        let step = |direction| segment.neighbours(place(key), direction).take(reach);
        let mut before: Vec<At> = step(Direction::Back).collect();
        before.reverse();
        before.into_iter().for_each(|at| visit(self::key(key.segment, at)));
        visit(key);
        step(Direction::On).for_each(|at| visit(self::key(key.segment, at)));
    }

    fn terms(&self, key: DocKey) -> Vec<(String, u32)> {
        if let Some(known) = self.read.get(&key) {
            return known.clone();
        }
        let segment = self.segments.get(usize::from(key.segment));
        match segment.and_then(|segment| Some((segment, segment.find(place(key))?.0))) {
            Some((segment, Found::Memory(entry))) => terms_of(entry, segment.sight.of_entry(entry)),
            Some((_, Found::Disk(..))) => {
                self.wanted.borrow_mut().insert(key);
                Vec::new()
            }
            None => Vec::new(),
        }
    }
}

/// Returns the terms of the parts of a document that are seen, each with how often it stands there.
pub(crate) fn terms_of(entry: &Entry, parts: Parts) -> Vec<(String, u32)> {
    let mut counted: std::collections::BTreeMap<&str, u32> = Default::default();
    entry.each_term(|part, term| {
        if parts.has(part) {
            *counted.entry(term).or_default() += 1;
        }
    });
    counted.into_iter().map(|(term, count)| (term.to_owned(), count)).collect()
}

fn posting(
    segment: u16,
    at: At,
    counts: PartCounts,
    lengths: [u16; PARTS],
    parts: Parts,
) -> Option<Posting> {
    if !is_counted(&counts, parts) {
        return None;
    }
    let counts = by_field_counts(masked(counts, parts));
    let lengths = by_field_counts(masked(lengths, parts));
    Some(Posting { key: key(segment, at), counts, lengths })
}

fn is_counted(counts: &PartCounts, parts: Parts) -> bool {
    Part::ALL.iter().any(|part| counts[*part as usize] > 0 && parts.has(*part))
}

fn masked(mut counts: [u16; PARTS], parts: Parts) -> [u16; PARTS] {
    sight::mask(&mut counts, parts);
    counts
}

fn place(key: DocKey) -> At {
    At { page: key.page, message: key.message }
}

pub(super) fn key(segment: u16, at: At) -> DocKey {
    DocKey { segment, page: at.page, message: at.message }
}

/// A page's name and its description are one field.
pub(super) fn by_field_counts(parts: [u16; PARTS]) -> Counts {
    let [name, description, request, answer, thinking, tool] = parts;
    [name.saturating_add(description), request, answer, thinking, tool]
}

fn by_field(parts: [u64; PARTS]) -> [u64; Field::ALL.len()] {
    let [name, description, request, answer, thinking, tool] = parts;
    [name + description, request, answer, thinking, tool]
}

/// The lists that are read: which documents, and how often.
pub(crate) const RECORD: IndexRecordOption = IndexRecordOption::WithFreqs;
