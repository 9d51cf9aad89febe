//! The documents of a search, compared with the direction of what was asked.

use super::{Piece, table::Table, vector::Vector};
use crate::{
    collection::{Collection, Facts, Nearest, Posting, Size},
    document::DocKey,
    index::SeenDocuments,
};

/// How closely similarities are added up.
const STEP: f64 = 1e-9;

/// Documents with what they mean. Only those that the search may see are compared.
pub(crate) struct Meanings<'a> {
    documents: &'a SeenDocuments<'a>,
    table: &'a Table,
    asked: &'a Vector,
}

impl<'a> Meanings<'a> {
    pub(crate) fn new(
        documents: &'a SeenDocuments<'a>,
        table: &'a Table,
        asked: &'a Vector,
    ) -> Self {
        Self { documents, table, asked }
    }

    fn alike(&self, piece: Piece) -> Option<f32> {
        self.table.similarity(piece.hash(), self.asked)
    }
}

impl Collection for Meanings<'_> {
    fn nearest(&self, count: usize) -> Nearest {
        let mut found = Closest::default();
        self.documents.each_piece(&mut |key, piece| {
            if let Some(similarity) = self.alike(piece) {
                found.add(key, similarity, count);
            }
        });
        found.nearest(count)
    }

    fn similarity(&self, key: DocKey) -> Option<f32> {
        let mut best: Option<f32> = None;
        self.documents.pieces_of(key, &mut |piece| {
            let similarity = self.alike(piece);
            best = best.into_iter().chain(similarity).reduce(f32::max);
        });
        best
    }

    fn size(&self) -> Size {
        self.documents.size()
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(&Posting) -> bool) {
        self.documents.postings(term, visit);
    }

    fn at_least(&self, term: &str) -> usize {
        self.documents.at_least(term)
    }

    fn completions(&self, prefix: &str, limit: usize) -> Vec<String> {
        self.documents.completions(prefix, limit)
    }

    fn speaks(&self, speaker: u32) -> bool {
        self.documents.speaks(speaker)
    }

    fn facts(&self, key: DocKey) -> Option<Facts> {
        self.documents.facts(key)
    }

    fn around(&self, key: DocKey, reach: usize, visit: &mut dyn FnMut(DocKey)) {
        self.documents.around(key, reach, visit);
    }

    fn terms(&self, key: DocKey) -> Vec<(String, u32)> {
        self.documents.terms(key)
    }
}

/// The best of many similarities, and their average.
#[derive(Debug, Default)]
pub(crate) struct Closest {
    /// The best document so far, each by its best piece; up to twice as many as are wanted.
    best: Vec<(DocKey, f32)>,
    /// Documents below this are not among the best.
    least: f32,
    /// The document whose pieces come now.
    now: Option<(DocKey, f32)>,
    count: usize,
    /// The sum of similarities in steps of [`STEP`]: whole numbers give the same sum in any order.
    sum: i64,
}

impl Closest {
    /// Takes a piece in. Pieces of a document come together.
    pub(crate) fn add(&mut self, key: DocKey, similarity: f32, wanted: usize) {
        match &mut self.now {
            Some((now, best)) if *now == key => *best = best.max(similarity),
            _ => {
                self.close(wanted);
                self.now = Some((key, similarity));
            }
        }
    }

    fn close(&mut self, wanted: usize) {
        let Some((key, similarity)) = self.now.take() else { return };
        self.count += 1;
        self.sum += (f64::from(similarity) / STEP) as i64;
        if self.best.len() >= wanted && similarity < self.least {
            return;
        }
        self.best.push((key, similarity));
        if self.best.len() >= 2 * wanted.max(1) {
            self.trim(wanted);
        }
    }

    fn trim(&mut self, wanted: usize) {
        // Keys make it the same whatever order documents come in.
        self.best.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        self.best.truncate(wanted);
        self.least = self.best.last().map_or(0.0, |(_, least)| *least);
    }

    pub(crate) fn nearest(mut self, wanted: usize) -> Nearest {
        self.close(wanted);
        self.trim(wanted);
        self.best.sort_unstable_by_key(|(key, _)| *key);
        Nearest {
            keys: self.best.into_iter().map(|(key, _)| key).collect(),
            compared: self.count,
            mean: (self.sum as f64 * STEP / self.count.max(1) as f64) as f32,
        }
    }
}
