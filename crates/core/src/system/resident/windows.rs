//! The pages that stand in views' windows: they stay in memory while the views are used.
//!
//! What this may hold is bounded twice: by the number of views, and by a share of the cache. The
//! window that was rendered longest ago is let go first. One that is larger than the share by itself
//! is held from its end, which is where an agent works.

use std::{collections::HashMap, sync::Arc};

use lru::LruCache;

use super::weight;
use crate::{Page, PageIndex, storage::ViewId};

/// How many views' windows are held.
const MOST: usize = 64;

#[derive(Debug)]
pub(super) struct Windows {
    views: LruCache<ViewId, Held>,
    /// How often each page stands in them.
    pages: HashMap<PageIndex, usize>,
    bytes: usize,
    share: usize,
}

/// A window that is held.
#[derive(Debug, Default)]
struct Held {
    /// Its pages, the last first.
    pages: Vec<PageIndex>,
    bytes: usize,
}

/// What a new window changed.
#[derive(Debug, Default)]
pub(super) struct Turnover {
    /// Pages that are held now and were not.
    pub(super) taken: Vec<PageIndex>,
    /// Pages that were held and are no longer.
    pub(super) let_go: Vec<PageIndex>,
}

impl Windows {
    pub(super) fn new(share: usize) -> Self {
        Self { views: LruCache::unbounded(), pages: HashMap::new(), bytes: 0, share }
    }

    /// Tells whether a page stands in a window that is held.
    pub(super) fn hold(&self, index: &PageIndex) -> bool {
        self.pages.contains_key(index)
    }

    /// Takes a view's window in place of the one before.
    pub(super) fn take<'a>(
        &mut self,
        view: &ViewId,
        pages: impl DoubleEndedIterator<Item = &'a Arc<Page>>,
    ) -> Turnover {
        let mut bytes = 0;
        let mut held: Vec<&PageIndex> = Vec::new();
        for page in pages.rev() {
            let size = weight::page(page);
            if bytes + size > self.share {
                break;
            }
            bytes += size;
            held.push(&page.index);
        }
        // Most windows are as they were.
        if self.views.get(view).is_some_and(|known| known.pages.iter().eq(held.iter().copied())) {
            return Turnover::default();
        }
        let after: Vec<PageIndex> = held.into_iter().cloned().collect();
        let before = self.views.pop(view).unwrap_or_default();
        let mut turnover = Turnover::default();
        let (gone, new) = differing(&before.pages, &after);
        for index in new {
            let count = self.pages.entry(index.clone()).or_default();
            *count += 1;
            if *count == 1 {
                turnover.taken.push(index.clone());
            }
        }
        self.let_go(gone, &mut turnover);
        self.bytes = self.bytes - before.bytes + bytes;
        self.views.put(view.clone(), Held { pages: after, bytes });
        while self.views.len() > MOST || (self.bytes > self.share && self.views.len() > 1) {
            let Some((_, held)) = self.views.pop_lru() else { break };
            self.bytes -= held.bytes;
            self.let_go(&held.pages, &mut turnover);
        }
        turnover
    }

    fn let_go(&mut self, pages: &[PageIndex], turnover: &mut Turnover) {
        for index in pages {
            let Some(count) = self.pages.get_mut(index) else { continue };
            *count -= 1;
            if *count == 0 {
                self.pages.remove(index);
                turnover.let_go.push(index.clone());
            }
        }
    }
}

/// Returns what two lists hold between what they begin and end with alike.
fn differing<'a, T: PartialEq>(before: &'a [T], after: &'a [T]) -> (&'a [T], &'a [T]) {
    let front = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let (before, after) = (&before[front..], &after[front..]);
    let pairs = before.iter().rev().zip(after.iter().rev());
    let back = pairs.take_while(|(old, new)| old == new).count();
    (&before[..before.len() - back], &after[..after.len() - back])
}
