//! What was read lately, bounded by bytes. Objects never change, so nothing here is ever stale.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OnceCell;

use super::{manifest::Manifest, root::Id, table::Table};

/// An object that was read.
#[derive(Debug, Clone)]
pub(crate) enum Held {
    Table(Arc<Table>),
    Manifest(Arc<Manifest>),
}

impl Held {
    fn weight(&self) -> usize {
        match self {
            Held::Table(table) => table.weight(),
            Held::Manifest(manifest) => manifest.weight(),
        }
    }
}

/// An object that is read once by all who want it at the same time.
pub(crate) type Cell = Arc<OnceCell<Held>>;

/// The least recently used go first.
#[derive(Debug)]
pub(crate) struct Cache {
    most: usize,
    state: Mutex<CacheState>,
}

#[derive(Debug, Default)]
struct CacheState {
    cells: HashMap<Id, Slot>,
    order: BTreeMap<u64, Id>,
    tick: u64,
    total: usize,
}

#[derive(Debug)]
struct Slot {
    cell: Cell,
    tick: u64,
    weight: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        // No code panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the place of an object, empty when it was not read yet.
    pub(crate) fn cell(&self, id: Id) -> Cell {
        let state = &mut *self.lock();
        state.tick += 1;
        let tick = state.tick;
        let new = || Slot { cell: Cell::default(), tick, weight: 0 };
        let slot = state.cells.entry(id).or_insert_with(new);
        state.order.remove(&slot.tick);
        slot.tick = tick;
        state.order.insert(tick, id);
        slot.cell.clone()
    }

    /// Counts an object that was read, and lets go of what is too much.
    pub(crate) fn weigh(&self, id: Id, held: &Held) {
        let state = &mut *self.lock();
        let Some(slot) = state.cells.get_mut(&id) else { return };
        if slot.weight == 0 {
            slot.weight = held.weight();
            state.total += slot.weight;
        }
        while state.total > self.most
            && let Some((_, id)) = state.order.pop_first()
        {
            let gone = state.cells.remove(&id);
            state.total -= gone.map_or(0, |slot| slot.weight);
        }
    }

    /// Forgets an object.
    pub(crate) fn forget(&self, id: Id) {
        let state = &mut *self.lock();
        if let Some(slot) = state.cells.remove(&id) {
            state.order.remove(&slot.tick);
            state.total -= slot.weight;
        }
    }

    #[cfg(test)]
    pub(crate) fn total(&self) -> usize {
        self.lock().total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_lately_goes_first() {
        let table = |bytes: usize| {
            let mut table = Table::default();
            table.push(&[1], Some(&vec![0; bytes]));
            Held::Table(Arc::new(table))
        };
        let cache = Cache::new(1_000);
        let ids: Vec<Id> = (0..3).map(|n| Id([n; 16])).collect();
        for id in &ids[..2] {
            let held = table(300);
            cache.cell(*id).set(held.clone()).unwrap();
            cache.weigh(*id, &held);
        }
        assert!(cache.cell(ids[0]).initialized(), "it was used last");
        let held = table(300);
        cache.cell(ids[2]).set(held.clone()).unwrap();
        cache.weigh(ids[2], &held);
        assert!(cache.total() <= 1_000);
        assert!(cache.cell(ids[0]).initialized());
        assert!(!cache.cell(ids[1]).initialized());
        cache.forget(ids[0]);
        assert!(!cache.cell(ids[0]).initialized());
    }
}
