//! Ranking in two stages.
//!
//! ```text
//!  query ──► gather      the postings of every term, and BM25 over them
//!        ──► candidates  the best by BM25, and the messages beside the first of them
//!        ──► features    what speaks for each, from 0 to about 1
//!        ──► rank        a weighted sum, the same weights for every language
//! ```
//!
//! An answer to a matching question may hold no term of the query itself: it is a candidate because it
//! stands beside one. The work is proportional to the postings of the query's terms, plus a bounded number
//! of candidates. Everything is counted over the documents of the collection alone, and equal scores are
//! ordered by key, so equal documents and queries give equal answers.

mod candidate;
mod feature;
mod gather;

pub use feature::{Feature, Features, Weights};

use crate::{collection::Collection, document::DocKey, query::Query};
use candidate::Candidates;
use gather::Gathered;

/// How a search is ranked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankOptions {
    /// How many results there are at most.
    pub limit: usize,
    /// What each feature weighs.
    pub weights: Weights,
}

impl RankOptions {
    /// Asks for some results, with the weights that were fitted.
    pub fn new(limit: usize) -> Self {
        Self { limit, weights: Weights::FITTED }
    }
}

/// One result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// Which document.
    pub key: DocKey,
    /// The weighted sum of its features.
    pub score: f32,
    /// What speaks for it.
    pub features: Features,
}

/// Returns the documents that answer a query best, best first.
pub fn rank(collection: &dyn Collection, query: &Query, options: &RankOptions) -> Vec<Ranked> {
    let gathered = Gathered::of(collection, query);
    let candidates = Candidates::of(collection, query, &gathered);
    let mut ranked: Vec<Ranked> = candidates
        .features()
        .map(|(key, features)| Ranked { key, score: options.weights.score(&features), features })
        .collect();
    ranked.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    ranked.truncate(options.limit);
    ranked
}

#[cfg(test)]
#[path = "rank_tests.rs"]
mod tests;
