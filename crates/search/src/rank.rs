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
    ranked(collection, query, options, Gathered::of(collection, query))
}

/// Returns some documents, given in the order of keys, as [`rank`] orders them.
pub(crate) fn rank_among(
    collection: &dyn Collection,
    query: &Query,
    options: &RankOptions,
    keys: &[DocKey],
) -> Vec<Ranked> {
    let mut gathered = Gathered::of(collection, query);
    gathered.scores.retain(|(key, _)| keys.binary_search(key).is_ok());
    ranked(collection, query, options, gathered)
}

/// Returns the documents that have all words of the phrases of a query, in the order in which they match it.
pub(crate) fn with_words_of_phrases(collection: &dyn Collection, query: &Query) -> Vec<DocKey> {
    let Gathered { mut scores, only_phrases, .. } = Gathered::of(collection, query);
    if !only_phrases {
        return Vec::new();
    }
    scores.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    scores.into_iter().map(|(key, _)| key).collect()
}

fn ranked(
    collection: &dyn Collection,
    query: &Query,
    options: &RankOptions,
    gathered: Gathered,
) -> Vec<Ranked> {
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
