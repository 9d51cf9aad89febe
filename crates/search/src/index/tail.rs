//! What is not on disk yet, searched in memory: the pages of one segment that changed since the last commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{class::PARTS, entry::Entry, key::At};

/// How often a term stands in each part of a document.
pub(crate) type PartCounts = [u16; PARTS];

/// Pages of a segment that changed. A page without documents is gone.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pages: BTreeMap<u32, TailPage>,
    /// Documents by term. Filled when somebody searches: what goes to disk before that never gets here.
    postings: HashMap<Box<str>, BTreeMap<At, PartCounts>>,
    /// Pages whose documents are not among the postings yet.
    unsorted: Vec<u32>,
    documents: usize,
    bytes: usize,
}

/// A page in memory.
#[derive(Debug, Clone)]
pub(crate) struct TailPage {
    /// Tells two states of the page apart.
    pub(crate) stamp: u64,
    pub(crate) entries: Arc<[Entry]>,
    sorted: bool,
}

impl Tail {
    /// Puts a page in the place of what was known of it.
    pub(crate) fn put(&mut self, page: u32, entries: Vec<Entry>, stamp: u64) {
        self.remove(page);
        self.documents += entries.len();
        self.bytes += size(&entries);
        self.unsorted.push(page);
        self.pages.insert(page, TailPage { stamp, entries: entries.into(), sorted: false });
    }

    /// Forgets a page: what is on disk is true of it again.
    pub(crate) fn remove(&mut self, page: u32) {
        let Some(known) = self.pages.remove(&page) else { return };
        self.documents -= known.entries.len();
        self.bytes -= size(&known.entries);
        if !known.sorted {
            return;
        }
        for entry in &*known.entries {
            entry.each_term(|_, term| {
                if let Some(documents) = self.postings.get_mut(term) {
                    documents.remove(&entry.at);
                    if documents.is_empty() {
                        self.postings.remove(term);
                    }
                }
            });
        }
    }

    /// Forgets a page that is still in this state.
    pub(crate) fn remove_if(&mut self, page: u32, stamp: u64) {
        if self.pages.get(&page).is_some_and(|known| known.stamp == stamp) {
            self.remove(page);
        }
    }

    /// Makes everything searchable.
    pub(crate) fn sort(&mut self) {
        for page in std::mem::take(&mut self.unsorted) {
            let Some(known) = self.pages.get_mut(&page).filter(|known| !known.sorted) else {
                continue;
            };
            known.sorted = true;
            for entry in &*known.entries {
                entry.each_term(|part, term| {
                    let documents = match self.postings.get_mut(term) {
                        Some(documents) => documents,
                        None => self.postings.entry(term.into()).or_default(),
                    };
                    let counts = documents.entry(entry.at).or_default();
                    counts[part as usize] = counts[part as usize].saturating_add(1);
                });
            }
        }
    }

    /// Tells whether everything is searchable.
    pub(crate) fn is_sorted(&self) -> bool {
        self.unsorted.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(crate) fn documents(&self) -> usize {
        self.documents
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns its pages, in order.
    pub(crate) fn pages(&self) -> &BTreeMap<u32, TailPage> {
        &self.pages
    }

    /// Returns every document, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.pages.values().flat_map(|page| page.entries.iter())
    }

    /// Returns a document.
    pub(crate) fn entry(&self, at: At) -> Option<&Entry> {
        self.pages.get(&at.page)?.entries.iter().find(|entry| entry.at == at)
    }

    /// Returns the documents that have a term, in order.
    pub(crate) fn postings(&self, term: &str) -> Option<&BTreeMap<At, PartCounts>> {
        self.postings.get(term)
    }

    /// Returns its terms, in no order.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&str, &BTreeMap<At, PartCounts>)> {
        self.postings.iter().map(|(term, documents)| (&**term, documents))
    }

    /// Returns the documents before a place, nearest first.
    pub(crate) fn before(&self, at: At) -> impl Iterator<Item = &Entry> {
        let pages = self.pages.range(..=at.page).rev();
        pages.flat_map(|(_, page)| page.entries.iter().rev()).filter(move |entry| entry.at < at)
    }

    /// Returns the documents behind a place, nearest first.
    pub(crate) fn after(&self, at: At) -> impl Iterator<Item = &Entry> {
        let pages = self.pages.range(at.page..);
        pages.flat_map(|(_, page)| page.entries.iter()).filter(move |entry| entry.at > at)
    }
}

fn size(entries: &[Entry]) -> usize {
    64 + entries.iter().map(Entry::size).sum::<usize>()
}
