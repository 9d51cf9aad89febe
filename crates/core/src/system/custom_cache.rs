//! The session's custom state as it was read last: every append looks at it.
//!
//! A commit is checked against what was read, so a state that is out of date costs a retry and nothing
//! else.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::storage::CustomKey;

/// The most bytes that are kept: custom state is small by custom, and may be large.
const MOST_BYTES: usize = 64 * 1024;

pub(crate) type CustomState = Arc<HashMap<CustomKey, String>>;

/// Keeps the custom state while nothing changes it.
#[derive(Debug, Default)]
pub(crate) struct CustomCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    state: Option<CustomState>,
    /// Counts how often it was dropped: what was read before is not kept afterwards.
    drops: u64,
}

impl CustomCache {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self) -> Option<CustomState> {
        self.lock().state.clone()
    }

    /// Returns how often it was dropped.
    pub(super) fn drops(&self) -> u64 {
        self.lock().drops
    }

    /// Keeps what was read, unless it was dropped since or is large.
    pub(super) fn keep(&self, state: &CustomState, since: u64) {
        let bytes: usize = state.iter().map(|(key, value)| key.as_str().len() + value.len()).sum();
        let mut kept = self.lock();
        if kept.drops == since && bytes <= MOST_BYTES {
            kept.state = Some(state.clone());
        }
    }

    pub(super) fn clear(&self) {
        let mut kept = self.lock();
        kept.state = None;
        kept.drops += 1;
    }
}
