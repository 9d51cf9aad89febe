//! Posting lists of one block, read side by side: the parts of a document that have a term come together.

use tantivy::{
    DocId, DocSet, TERMINATED,
    postings::{Postings, SegmentPostings, TermInfo},
};

use super::{
    class::PARTS,
    key::At,
    merge::Ordered,
    seen::{RECORD, by_field_counts, key},
    snapshot::Block,
    tail::PartCounts,
};
use crate::{collection::Posting, error::SearchError};

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

    /// Reads the next documents, and their facts.
    fn fill(&mut self) {
        self.fill_documents();
        let count = self.docs.len();
        let (keys, lengths) = (&mut self.keys[..count], &mut self.lengths[..count]);
        self.postings.block.fill(&self.docs, keys, lengths);
        self.postings.block.classes.get_vals(&self.docs, &mut self.classes[..count]);
    }

    fn fill_documents(&mut self) {
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

/// Postings of a block of which nothing is hidden: what nearly all searches read.
pub(crate) struct PlainPostings<'a> {
    segment: u16,
    batches: PostingBatches<'a>,
}

impl<'a> PlainPostings<'a> {
    pub(crate) fn new(segment: u16, postings: DiskPostings<'a>) -> Self {
        Self { segment, batches: PostingBatches::new(postings) }
    }

    /// Reads the next documents. Returns whether there are any.
    fn fill(&mut self) -> bool {
        let batches = &mut self.batches;
        batches.fill_documents();
        let count = batches.docs.len();
        let (keys, lengths) = (&mut batches.keys[..count], &mut batches.lengths[..count]);
        batches.postings.block.fill(&batches.docs, keys, lengths);
        count > 0
    }

    /// Returns one of the documents that were read.
    fn posting(&self, at: usize) -> Posting {
        let batches = &self.batches;
        let lengths = batches.postings.block.lengths_from(batches.docs[at], batches.lengths[at]);
        Posting {
            key: key(self.segment, At::of(batches.keys[at])),
            counts: by_field_counts(batches.counts[at]),
            lengths: by_field_counts(lengths),
        }
    }
}

impl Ordered for PlainPostings<'_> {
    fn next(&mut self) -> Option<Posting> {
        if self.batches.next == self.batches.docs.len() && !self.fill() {
            return None;
        }
        self.batches.next += 1;
        Some(self.posting(self.batches.next - 1))
    }

    fn show_all(&mut self, visit: &mut dyn FnMut(&Posting) -> bool) -> bool {
        loop {
            for at in self.batches.next..self.batches.docs.len() {
                if !visit(&self.posting(at)) {
                    return false;
                }
            }
            if !self.fill() {
                return true;
            }
        }
    }
}
