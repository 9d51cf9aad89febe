//! The newest window of each ledger, whole, as this process recorded or read it last: a window that is
//! sent is compared with the one before, which the storage keeps in parts.
//!
//! A record that is not the next one is a conflict, so a tail that is out of date is noticed when it is
//! built upon. What a purge took must not stay here: then all are dropped.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use lru::LruCache;

use crate::{
    storage::{LedgerKey, SentWindow},
    system::memory::{Bytes, Memory},
};

/// How many ledgers are remembered by their newest window.
const MOST: NonZeroUsize = NonZeroUsize::new(32).expect("it is not zero");

/// What a piece takes, about.
const PIECE_BYTES: usize = 192;

/// The newest windows of ledgers.
#[derive(Debug)]
pub(crate) struct NewestWindows(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    windows: LruCache<LedgerKey, Arc<SentWindow>>,
    bytes: Bytes,
    /// Counts how often all were dropped: what was made before is not kept afterwards.
    drops: u64,
}

impl NewestWindows {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        let (windows, bytes) = (LruCache::new(MOST), Bytes::new(memory));
        Self(Mutex::new(Kept { windows, bytes, drops: 0 }))
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often all were dropped.
    pub(super) fn drops(&self) -> u64 {
        self.lock().drops
    }

    pub(super) fn get(&self, key: &LedgerKey) -> Option<Arc<SentWindow>> {
        self.lock().windows.get(key).cloned()
    }

    /// Keeps a window with all its pieces, unless all were dropped since.
    pub(super) fn keep(&self, key: &LedgerKey, window: Arc<SentWindow>, since: u64) {
        let mut kept = self.lock();
        if kept.drops == since {
            kept.windows.put(key.clone(), window);
            let pieces = kept.windows.iter().map(|(_, window)| window.pieces.len()).sum::<usize>();
            kept.bytes.set(pieces * PIECE_BYTES);
        }
    }

    pub(super) fn remove(&self, key: &LedgerKey) {
        self.lock().windows.pop(key);
    }

    /// Drops all of them.
    pub(crate) fn clear(&self) {
        let mut kept = self.lock();
        kept.windows.clear();
        kept.bytes.set(0);
        kept.drops += 1;
    }
}
