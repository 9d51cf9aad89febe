//! The documents that one search may see: those on disk, and before them those in memory.
//!
//! ```text
//!  overlay   pages as they stood when a branch began        hides what is below
//!  tail      pages that changed since the last commit       hides what is below
//!  blocks    what was committed, sorted by key
//! ```

mod counts;
mod lists;
mod narrowed;
mod pieces;
mod segment;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use contexture_core::Timestamp;
use tantivy::schema::IndexRecordOption;

use super::{
    class::{PARTS, Part, Parts},
    entry::Entry,
    key::At,
    merge::{self, Source},
    narrow::Narrow,
    schema::{self, Fields},
    snapshot::{PartSizes, Snapshot},
    tail::PartCounts,
};
use crate::{
    collection::{Collection, Facts, Posting, Size},
    document::DocKey,
    error::SearchError,
};
use counts::{by_field, is_counted, masked, place};
use lists::BlockLists;
use narrowed::Narrowed;
use segment::{Direction, Found, SeenBlock};

pub(super) use counts::{by_field_counts, key};
pub(crate) use segment::SeenSegment;

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

    fn numbered(&self) -> impl Iterator<Item = (u16, &SeenSegment<'a>)> {
        // A view has as many segments as fit, which a search takes the first of.
        (0..=u16::MAX).zip(&self.segments)
    }

    fn note(&self, fault: impl Into<SearchError>) {
        self.fault.set(Some(fault.into()));
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

/// The lists that are read: which documents, and how often.
pub(crate) const RECORD: IndexRecordOption = IndexRecordOption::WithFreqs;
