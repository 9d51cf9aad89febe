//! Lists of a directory's pages that stay in memory, so that a window need not ask for them again.
//!
//! A list covers the places between two runs, or behind the last one, where new pages go. A page
//! that is appended or goes is added to or taken from the list it belongs to; any other change drops
//! the directory's lists.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    ContextSystem,
    memory::{Bytes, Memory},
};
use crate::{
    Page, PageIndex,
    storage::{ChildQuery, Order, PageDelta, Place, StandingFilter, StorageResult},
};

/// How many directories are remembered, and how many pages in all their lists together; one list may
/// be longer by itself.
const MOST: usize = 1_024;
const MOST_LISTED: usize = 512 << 10;

/// How many pages of one edit are put into lists and taken out of them one by one.
const MOST_AMENDED: usize = 256;

/// How many rows are read at first, and at a time later on.
const BATCHES: (usize, usize) = (64, 1_024);

/// The places a list covers: beyond `after`, before `before`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Gap {
    pub(super) after: Option<Place>,
    pub(super) before: Option<Place>,
}

impl Gap {
    fn holds(self, place: Place) -> bool {
        self.after.is_none_or(|after| place > after)
            && self.before.is_none_or(|before| place < before)
    }
}

type List = Arc<Vec<(Place, PageIndex)>>;

/// What a page takes in a list, about.
const ITEM_BYTES: usize = 64;

/// The lists in memory.
#[derive(Debug)]
pub(super) struct Lists {
    state: Mutex<KeptLists>,
}

#[derive(Debug)]
struct KeptLists {
    lists: HashMap<PageIndex, Vec<(Gap, List)>>,
    /// As of the last list that was kept: single pages added since do not count.
    bytes: Bytes,
    /// Counts changes: what was read before one is not kept after it.
    changes: u64,
}

impl Lists {
    pub(super) fn new(memory: &Arc<Memory>) -> Self {
        let state = KeptLists { lists: HashMap::new(), bytes: Bytes::new(memory), changes: 0 };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, KeptLists> {
        // Copies of what the storage holds cannot be left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, parent: &PageIndex, gap: Gap) -> (Option<List>, u64) {
        let state = self.lock();
        let lists = state.lists.get(parent);
        let list = lists.and_then(|lists| lists.iter().find(|(covers, _)| *covers == gap));
        (list.map(|(_, list)| list.clone()), state.changes)
    }

    fn keep(&self, parent: &PageIndex, gap: Gap, list: &List, since: u64) {
        let mut state = self.lock();
        if state.changes != since {
            return;
        }
        let listed = state.lists.values().flatten().map(|(_, list)| list.len()).sum::<usize>();
        if state.lists.len() >= MOST || listed + list.len() > MOST_LISTED {
            state.lists.clear();
        }
        let lists = state.lists.entry(parent.clone()).or_default();
        // Runs grow, so gaps come and go; a few are enough.
        if lists.len() >= 64 {
            lists.clear();
        }
        lists.push((gap, list.clone()));
        let listed = state.lists.values().flatten().map(|(_, list)| list.len()).sum::<usize>();
        state.bytes.set(listed * ITEM_BYTES);
    }

    /// Takes in pages that were committed; `newest` tells that nothing later was taken in before.
    pub(super) fn publish(&self, deltas: &[PageDelta], newest: bool) {
        let mut state = self.lock();
        state.changes += 1;
        // Putting many pages into a long list one by one takes longer than reading it again.
        let newest = newest && deltas.len() <= MOST_AMENDED;
        for delta in deltas {
            let stood = delta.before.as_ref().and_then(stands);
            let stands = delta.after.as_ref().and_then(stands);
            match (stood, stands) {
                (None, Some((parent, place))) if newest => {
                    state.add(parent, place, &delta.index);
                }
                (Some((parent, place)), None) if newest => state.take(parent, place),
                (stood, stands) if stood == stands => {}
                (stood, stands) => {
                    for (parent, _) in stood.into_iter().chain(stands) {
                        state.lists.remove(parent);
                    }
                }
            }
        }
    }

    pub(super) fn clear(&self) {
        let mut state = self.lock();
        state.changes += 1;
        state.lists.clear();
        state.bytes.set(0);
    }
}

/// Returns where a page is listed.
fn stands(page: &Page) -> Option<(&PageIndex, Place)> {
    let parent = page.parent.as_ref().filter(|_| page.standing.is_listed())?;
    Some((parent, page.place))
}

impl KeptLists {
    fn take(&mut self, parent: &PageIndex, place: Place) {
        for (gap, list) in self.lists.get_mut(parent).into_iter().flatten() {
            if gap.holds(place) {
                Arc::make_mut(list).retain(|(other, _)| *other != place);
            }
        }
    }

    fn add(&mut self, parent: &PageIndex, place: Place, index: &PageIndex) {
        for (gap, list) in self.lists.get_mut(parent).into_iter().flatten() {
            if gap.holds(place) {
                let list = Arc::make_mut(list);
                let at = list.partition_point(|(other, _)| *other < place);
                list.insert(at, (place, index.clone()));
            }
        }
    }
}

impl ContextSystem {
    /// Returns the pages a directory lists within a gap, in order.
    pub(super) async fn listed(&self, parent: &PageIndex, gap: Gap) -> StorageResult<List> {
        let (list, since) = self.inner.lists.get(parent, gap);
        if let Some(list) = list {
            return Ok(list);
        }
        let mut items: Vec<(Place, PageIndex)> = Vec::new();
        let mut after = gap.after;
        let mut limit = BATCHES.0;
        'read: loop {
            let (standing, order) = (StandingFilter::Listed, Order::Forward);
            let query = ChildQuery { parent: parent.clone(), standing, order, after, limit };
            let stamps = self.inner.resident.stamps();
            let pages = self.storage().children(&self.inner.session, &query).await?;
            let done = pages.len() < limit;
            for page in pages {
                if !gap.holds(page.place) {
                    break 'read;
                }
                after = Some(page.place);
                items.push((page.place, page.index.clone()));
                self.inner.resident.keep_listed(Arc::new(page), &stamps);
            }
            if done {
                break;
            }
            limit = BATCHES.1;
        }
        let list = Arc::new(items);
        self.inner.lists.keep(parent, gap, &list, since);
        Ok(list)
    }
}
