//! Posting lists of one block, read side by side: the parts of a document that have a term come together.

use tantivy::{
    DocId, DocSet, TERMINATED,
    postings::{Postings, SegmentPostings, TermInfo},
};

use super::{class::PARTS, seen::RECORD, snapshot::Block, tail::PartCounts};
use crate::error::SearchError;

/// Posting lists of one block.
pub(crate) struct DiskPostings<'a> {
    lists: Vec<(usize, SegmentPostings)>,
    doc: DocId,
    _block: &'a Block,
}

impl<'a> DiskPostings<'a> {
    pub(crate) fn new(block: &'a Block, terms: &[(usize, TermInfo)]) -> Result<Self, SearchError> {
        let lists = terms.iter().map(|(part, info)| {
            Ok((*part, block.terms.read_postings_from_terminfo(info, RECORD)?))
        });
        let lists: Vec<(usize, SegmentPostings)> = lists.collect::<Result<_, SearchError>>()?;
        let doc = lists.iter().map(|(_, list)| list.doc()).min().unwrap_or(TERMINATED);
        Ok(Self { lists, doc, _block: block })
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
