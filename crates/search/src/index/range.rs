//! Documents by their keys: a range of an index that is sorted by them.

use std::ops::Range;

use tantivy::{
    DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError,
    columnar::ColumnValues,
    query::{EnableScoring, Explanation, Query, Scorer, Weight},
};

use super::schema::KEY;

/// Returns the documents of a sorted column whose keys lie in a range.
pub(crate) fn documents(keys: &dyn ColumnValues<u64>, range: &Range<u64>) -> Range<DocId> {
    let first = first_from(keys, 0..keys.num_vals(), range.start);
    first..first_from(keys, first..keys.num_vals(), range.end)
}

/// Returns the first document in a range whose key is at least this one, or the range's end.
pub(crate) fn first_from(keys: &dyn ColumnValues<u64>, within: Range<DocId>, key: u64) -> DocId {
    let Range { mut start, mut end } = within;
    while start < end {
        let middle = start + (end - start) / 2;
        if keys.get_val(middle) < key {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

/// Selects the documents whose keys lie in one of these ranges, which do not overlap.
#[derive(Debug, Clone)]
pub(crate) struct KeyRanges(pub(crate) Vec<Range<u64>>);

impl Query for KeyRanges {
    fn weight(&self, _: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        Ok(Box::new(self.clone()))
    }
}

impl Weight for KeyRanges {
    fn scorer(&self, reader: &SegmentReader, _: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let keys = reader.fast_fields().u64(KEY)?.first_or_default_col(0);
        let mut ranges: Vec<Range<DocId>> =
            self.0.iter().map(|range| documents(&*keys, range)).collect();
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| range.start);
        ranges.reverse();
        let doc = ranges.last().map_or(TERMINATED, |range| range.start);
        Ok(Box::new(Documents { ranges, doc }))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Err(TantivyError::InvalidArgument("a range of keys scores nothing".to_owned()))
    }
}

/// Walks ranges of documents, the first of them last.
struct Documents {
    ranges: Vec<Range<DocId>>,
    doc: DocId,
}

impl DocSet for Documents {
    fn advance(&mut self) -> DocId {
        if let Some(range) = self.ranges.last_mut() {
            range.start += 1;
            if range.start >= range.end {
                self.ranges.pop();
            }
        }
        self.doc = self.ranges.last().map_or(TERMINATED, |range| range.start);
        self.doc
    }

    fn doc(&self) -> DocId {
        self.doc
    }

    fn size_hint(&self) -> u32 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

impl Scorer for Documents {
    fn score(&mut self) -> Score {
        1.0
    }
}
