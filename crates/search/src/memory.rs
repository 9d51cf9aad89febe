//! A collection in memory: for small searches, for tests, and for documents that an index on disk has not
//! committed yet.

use std::collections::{BTreeMap, HashMap};

use crate::{
    collection::{Collection, Counts, Facts, Nearest, Posting, Size},
    document::{DocKey, Document, Field},
    embedding::{Closest, Vector},
    text::cut,
};

/// Documents in memory, with the statistics of these alone.
#[derive(Debug, Default)]
pub struct MemoryCollection {
    documents: BTreeMap<DocKey, Known>,
    postings: BTreeMap<String, BTreeMap<DocKey, Counts>>,
    speakers: HashMap<u32, usize>,
    size: Size,
    vectors: HashMap<DocKey, Vec<Vector>>,
    asked: Option<Vector>,
}

#[derive(Debug)]
struct Known {
    facts: Facts,
    terms: Vec<String>,
}

impl MemoryCollection {
    /// Makes one without documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document, replacing one with the same key.
    pub fn insert(&mut self, key: DocKey, document: &Document<'_>) {
        self.remove(key);
        let mut lengths = [0_u16; Field::ALL.len()];
        let mut counts: HashMap<String, Counts> = HashMap::new();
        for (field, text) in &document.texts {
            let field = *field as usize;
            cut(text, &mut |term| {
                lengths[field] = lengths[field].saturating_add(u16::from(term.counts()));
                let count = match counts.get_mut(term.text) {
                    Some(counts) => &mut counts[field],
                    None => &mut counts.entry(term.text.to_owned()).or_default()[field],
                };
                *count = count.saturating_add(1);
            });
        }
        let facts = Facts {
            lengths,
            marks: document.marks(|_| true),
            speaker: document.speaker_hash(),
            at: document.at,
            chapter: document.chapter,
        };
        let mut terms = Vec::with_capacity(counts.len());
        for (term, counts) in counts {
            terms.push(term.clone());
            self.postings.entry(term).or_default().insert(key, counts);
        }
        terms.sort_unstable();
        *self.speakers.entry(facts.speaker).or_default() += 1;
        self.size.documents += 1;
        for (sum, length) in self.size.terms.iter_mut().zip(lengths) {
            *sum += u64::from(length);
        }
        self.documents.insert(key, Known { facts, terms });
    }

    /// Sets what a document means: a direction for each of its pieces.
    pub fn insert_vectors(&mut self, key: DocKey, vectors: Vec<Vector>) {
        self.vectors.insert(key, vectors);
    }

    /// Sets what the next query means; none: only words are compared.
    pub fn ask(&mut self, asked: Option<Vector>) {
        self.asked = asked;
    }

    /// Removes a document. Returns whether there was one.
    pub fn remove(&mut self, key: DocKey) -> bool {
        let Some(known) = self.documents.remove(&key) else { return false };
        self.vectors.remove(&key);
        for term in known.terms {
            if let Some(postings) = self.postings.get_mut(&term) {
                postings.remove(&key);
                if postings.is_empty() {
                    self.postings.remove(&term);
                }
            }
        }
        if let Some(count) = self.speakers.get_mut(&known.facts.speaker) {
            *count -= 1;
        }
        self.size.documents -= 1;
        for (sum, length) in self.size.terms.iter_mut().zip(known.facts.lengths) {
            *sum -= u64::from(length);
        }
        true
    }
}

impl Collection for MemoryCollection {
    fn size(&self) -> Size {
        self.size
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(&Posting) -> bool) {
        for (key, counts) in self.postings.get(term).into_iter().flatten() {
            let lengths = self.documents[key].facts.lengths;
            if !visit(&Posting { key: *key, counts: *counts, lengths }) {
                return;
            }
        }
    }

    fn completions(&self, prefix: &str, limit: usize) -> Vec<String> {
        let from = self.postings.range(prefix.to_owned()..).map(|(term, _)| term);
        from.take_while(|term| term.starts_with(prefix)).take(limit).cloned().collect()
    }

    fn speaks(&self, speaker: u32) -> bool {
        self.speakers.get(&speaker).is_some_and(|count| *count > 0)
    }

    fn facts(&self, key: DocKey) -> Option<Facts> {
        self.documents.get(&key).map(|known| known.facts)
    }

    fn around(&self, key: DocKey, reach: usize, visit: &mut dyn FnMut(DocKey)) {
        let is_message = |key: &DocKey| key.message > 0;
        let within = |other: &DocKey| other.segment == key.segment;
        let before = self.documents.range(..key).rev().map(|(key, _)| *key);
        let mut before: Vec<DocKey> =
            before.take_while(within).filter(is_message).take(reach).collect();
        before.reverse();
        before.into_iter().for_each(&mut *visit);
        let behind = self.documents.range(key..).map(|(key, _)| *key);
        let own = usize::from(is_message(&key) && self.documents.contains_key(&key));
        behind.take_while(within).filter(is_message).take(reach + own).for_each(visit);
    }

    fn nearest(&self, count: usize) -> Nearest {
        let mut closest = Closest::default();
        for key in self.documents.keys() {
            if let Some(similarity) = self.similarity(*key) {
                closest.add(*key, similarity, count);
            }
        }
        closest.nearest(count)
    }

    fn similarity(&self, key: DocKey) -> Option<f32> {
        let asked = self.asked.as_ref()?;
        let vectors = self.vectors.get(&key)?;
        vectors.iter().map(|vector| vector.similarity(asked)).reduce(f32::max)
    }

    fn terms(&self, key: DocKey) -> Vec<(String, u32)> {
        let known = self.documents.get(&key);
        let count = |term: &String| {
            let counts = self.postings.get(term).and_then(|postings| postings.get(&key));
            (
                term.clone(),
                counts.map_or(0, |counts| counts.iter().map(|count| u32::from(*count)).sum()),
            )
        };
        known.map_or_else(Vec::new, |known| known.terms.iter().map(count).collect())
    }
}
