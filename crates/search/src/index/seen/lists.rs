//! Posting lists, and what they show of documents.

use std::{collections::BTreeSet, rc::Rc};

use tantivy::{DocId, TERMINATED, Term, postings::TermInfo};

use super::{
    MOST_COMPLETED, PARTS, PartCounts, SeenBlock, SeenDocuments, SeenSegment,
    counts::{key, posting},
    narrowed::Narrowed,
};
use crate::{
    collection::Posting,
    document::DocKey,
    error::SearchError,
    index::{
        class::Part,
        entry::Entry,
        key::{At, Space},
        merge::Ordered,
        postings::{DiskPostings, PlainPostings, PostingBatches},
        schema::{self, Fields},
        snapshot::Snapshot,
        tail::Tail,
    },
};

/// Where the lists of a term are in a block: the part, and what the dictionary says of its list.
pub(super) type BlockLists = Vec<(usize, TermInfo)>;

impl SeenDocuments<'_> {
    /// Returns the messages that call one of these tools, or have its result.
    pub(super) fn using(&self, tools: &[String]) -> BTreeSet<DocKey> {
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

    /// Shows the documents of a block that carry a note, until told to stop.
    pub(super) fn noted(
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
    pub(super) fn look_up(
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
    pub(super) fn lists(&self, term: &str) -> Rc<[BlockLists]> {
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
    pub(super) fn open<'b>(
        &self,
        block: &SeenBlock<'b>,
        lists: &BlockLists,
    ) -> Option<DiskPostings<'b>> {
        if lists.is_empty() {
            return None;
        }
        DiskPostings::new(block.block, lists).map_err(|error| self.note(error)).ok()
    }

    /// Returns postings of a block as they are seen.
    pub(super) fn on_disk<'b>(
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
    pub(super) fn in_memory(
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

    pub(super) fn all_parts(&self, space: Space, term: &str) -> [(usize, Term); PARTS] {
        Part::ALL.map(|part| (part as usize, self.fields.term(space, part, term)))
    }

    /// Returns the first terms of a part of a block that begin with a prefix and are seen.
    pub(super) fn completed(
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
