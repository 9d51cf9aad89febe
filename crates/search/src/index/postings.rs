//! Posting lists of one block, read side by side: the parts of a document that have a term come together.

use tantivy::{
    DocId, DocSet, TERMINATED,
    postings::{Postings, SegmentPostings, TermInfo},
};

use super::{class::PARTS, key::At, seen::RECORD, snapshot::Block, tail::PartCounts};
use crate::error::SearchError;

/// Posting lists of one block.
pub(crate) struct DiskPostings<'a> {
    lists: Vec<(usize, SegmentPostings)>,
    doc: DocId,
    block: &'a Block,
}

impl<'a> DiskPostings<'a> {
    pub(crate) fn new(block: &'a Block, terms: &[(usize, TermInfo)]) -> Result<Self, SearchError> {
        let lists = terms.iter().map(|(part, info)| {
            Ok((*part, block.terms.read_postings_from_terminfo(info, RECORD)?))
        });
        let lists: Vec<(usize, SegmentPostings)> = lists.collect::<Result<_, SearchError>>()?;
        let doc = lists.iter().map(|(_, list)| list.doc()).min().unwrap_or(TERMINATED);
        Ok(Self { lists, doc, block })
    }

    /// Returns the document it stands at.
    pub(crate) fn doc(&self) -> DocId {
        self.doc
    }

    /// Returns the document it stands at and goes to the next one.
    pub(crate) fn next(&mut self) -> Option<(DocId, PartCounts)> {
        let doc = self.doc;
        if doc == TERMINATED {
            return None;
        }
        let (mut counts, mut next) = ([0; PARTS], TERMINATED);
        for (part, list) in &mut self.lists {
            let mut stands = list.doc();
            if stands == doc {
                counts[*part] = u16::try_from(list.term_freq()).unwrap_or(u16::MAX);
                stands = list.advance();
            }
            next = next.min(stands);
        }
        self.doc = next;
        Some((doc, counts))
    }

    /// Goes to the next document.
    pub(crate) fn advance(&mut self) {
        self.next();
    }
}

/// How many postings are read at a time.
const BATCH: usize = 128;

/// A posting on disk, as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawPosting {
    pub(crate) doc: DocId,
    pub(crate) at: At,
    pub(crate) class: usize,
    pub(crate) counts: PartCounts,
    pub(crate) lengths: [u16; PARTS],
}

/// Postings with what every one of them needs from the columns, read many at a time. Deleted documents are left out.
pub(crate) struct PostingBatches<'a> {
    postings: DiskPostings<'a>,
    docs: Vec<DocId>,
    counts: Vec<PartCounts>,
    keys: [u64; BATCH],
    classes: [u64; BATCH],
    lengths: [u64; BATCH],
    next: usize,
    /// How many the next batch has: few at first, because some readers stop early.
    size: usize,
}

impl<'a> PostingBatches<'a> {
    pub(crate) fn new(postings: DiskPostings<'a>) -> Self {
        let (keys, classes, lengths) = ([0; BATCH], [0; BATCH], [0; BATCH]);
        let (docs, counts) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        Self { postings, docs, counts, keys, classes, lengths, next: 0, size: 8 }
    }

    fn fill(&mut self) {
        let block = self.postings.block;
        self.docs.clear();
        self.counts.clear();
        self.next = 0;
        while self.docs.len() < self.size {
            let Some((doc, counts)) = self.postings.next() else { break };
            if !block.reader.is_deleted(doc) {
                self.docs.push(doc);
                self.counts.push(counts);
            }
        }
        self.size = BATCH;
        let count = self.docs.len();
        let (keys, classes) = (&mut self.keys[..count], &mut self.classes[..count]);
        block.fill(&self.docs, keys, classes, &mut self.lengths[..count]);
    }
}

impl Iterator for PostingBatches<'_> {
    type Item = RawPosting;

    fn next(&mut self) -> Option<RawPosting> {
        if self.next == self.docs.len() {
            self.fill();
        }
        let (at, doc) = (self.next, *self.docs.get(self.next)?);
        self.next += 1;
        Some(RawPosting {
            doc,
            at: At::of(self.keys[at]),
            class: self.classes[at] as usize,
            counts: self.counts[at],
            lengths: self.postings.block.lengths_from(doc, self.lengths[at]),
        })
    }
}
