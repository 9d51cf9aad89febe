//! A stand-in until the ranking is merged: BM25 over all fields.

use std::collections::HashMap;

use contexture_core::Timestamp;

use crate::{collection::Collection, document::DocKey, text::cut};

pub(crate) struct Query {
    terms: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Ranked {
    pub(crate) key: DocKey,
    pub(crate) score: f32,
    pub(crate) features: Vec<(&'static str, f32)>,
}

impl Query {
    pub(crate) fn weight(&self, term: &str) -> f32 {
        if self.terms.iter().any(|known| known == term) { 1.0 } else { 0.0 }
    }
}

pub(crate) fn parse(text: &str, _: Timestamp) -> Query {
    let mut terms: Vec<String> = Vec::new();
    let end = text.floor_char_boundary(4_096);
    cut(&text[..end], &mut |term| {
        if terms.len() < 64 && !terms.iter().any(|known| known == term.text) {
            terms.push(term.text.to_owned());
        }
    });
    Query { terms }
}

pub(crate) fn rank(
    collection: &dyn Collection,
    query: &Query,
    passes: &dyn Fn(DocKey) -> bool,
) -> Vec<Ranked> {
    let size = collection.size();
    let documents = size.documents.max(1) as f32;
    let average = size.terms.iter().sum::<u64>() as f32 / documents;
    let mut scores: HashMap<DocKey, f32> = HashMap::new();
    for term in &query.terms {
        let mut found = Vec::new();
        collection.postings(term, &mut |posting| {
            let count: u16 = posting.counts.iter().sum();
            let length: u32 = posting.lengths.iter().map(|length| u32::from(*length)).sum();
            let norm = 0.25 + 0.75 * length as f32 / average.max(1.0);
            found.push((posting.key, f32::from(count) / (f32::from(count) + 1.2 * norm)));
            true
        });
        let frequency = found.len() as f32;
        let idf = (1.0 + (documents - frequency + 0.5) / (frequency + 0.5)).ln();
        for (key, part) in found {
            *scores.entry(key).or_default() += idf * part;
        }
    }
    let ranked = scores.into_iter().filter(|(key, _)| passes(*key));
    let ranked = ranked.map(|(key, score)| Ranked { key, score, features: Vec::new() });
    let mut ranked: Vec<Ranked> = ranked.collect();
    ranked.sort_by(|one, other| other.score.total_cmp(&one.score).then(one.key.cmp(&other.key)));
    ranked.truncate(1_000);
    ranked
}
