//! Vanished pages: creations that were undone. They are in no tree and no archive, but history holds
//! their records and keeps their contents, so that a redo can bring them back.

use std::collections::{HashMap, HashSet};

use crate::{HistoryEntry, Operation, Page, PageIndex, Revision, storage::PageStanding};

/// The vanished pages of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct UndonePages {
    pages: HashMap<PageIndex, Revision>,
    /// Which of them stood in a directory.
    under: HashMap<PageIndex, Vec<PageIndex>>,
    /// Which of them were what a page lived on as, while it was moved to another segment.
    copies: HashMap<PageIndex, Vec<PageIndex>>,
    /// Pages of which a later entry has told already.
    told: HashSet<PageIndex>,
}

impl UndonePages {
    /// Takes in a history entry. They come newest first; only undos and purges take pages away.
    pub(crate) fn note(&mut self, entry: &HistoryEntry) {
        if !matches!(entry.operation, Operation::Undo | Operation::PurgePage) {
            return;
        }
        let pages = &entry.inverse.pages;
        let moves = pages.iter().filter_map(|item| match &item.before.as_ref()?.standing {
            PageStanding::Moved(to) => Some((to, &item.index)),
            _ => None,
        });
        let originals: HashMap<&PageIndex, &PageIndex> = moves.collect();
        for item in pages {
            if !self.told.insert(item.index.clone()) {
                continue;
            }
            let gone = item.before.as_ref().filter(|_| item.after.is_none() && !item.purged);
            if let Some(page) = gone {
                self.add(page, entry.revision, originals.get(&page.index).copied());
            }
        }
    }

    fn add(&mut self, page: &Page, by: Revision, original: Option<&PageIndex>) {
        let index = &page.index;
        self.pages.insert(index.clone(), by);
        if let Some(parent) = &page.parent {
            self.under.entry(parent.clone()).or_default().push(index.clone());
        }
        if let Some(original) = original {
            self.copies.entry(original.clone()).or_default().push(index.clone());
        }
    }

    /// Returns the edit that took a page away; none for a page that has not vanished.
    pub(crate) fn taken_by(&self, page: &PageIndex) -> Option<Revision> {
        self.pages.get(page).copied()
    }

    /// Returns the pages that go where a page goes: those that stood under it, and those that it
    /// lived on as. Their texts are its own, or were part of it.
    pub(crate) fn along_with(&self, page: &PageIndex) -> impl Iterator<Item = &PageIndex> {
        let under = self.under.get(page).into_iter().flatten();
        under.chain(self.copies.get(page).into_iter().flatten())
    }
}
