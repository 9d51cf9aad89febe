//! One budget in bytes for what sessions hold in memory.
//!
//! Every cache of a session counts its bytes here too. Where they come to more than the budget, room is made
//! ([`Memory::make_room`]): sessions that nobody holds are closed, the one used longest ago first; then, in the
//! same order, sessions in use drop what can be read or made again. What is pinned stays: it is in use.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use super::ContextSystem;
use crate::SessionId;

/// The budget, what is used of it, and the sessions that share it.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: usize,
    used: AtomicUsize,
    /// Counts uses of sessions.
    uses: AtomicU64,
    open: Mutex<HashMap<SessionId, Arc<Slot>>>,
    /// Held while room is made.
    making_room: Mutex<()>,
}

/// Where a session is open, or about to be.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    system: Mutex<Option<ContextSystem>>,
    /// Held while the session is opened: those who want it meanwhile wait and get the same.
    pub(crate) opening: futures::lock::Mutex<()>,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<ContextSystem>> {
        self.system.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session, if it is open and still there.
    pub(crate) fn system(&self) -> Option<ContextSystem> {
        self.lock().clone().filter(|system| !system.is_gone())
    }

    pub(crate) fn put(&self, system: &ContextSystem) {
        *self.lock() = Some(system.clone());
    }

    /// Returns when the session was last used; none where it is not open.
    fn used(&self) -> Option<u64> {
        self.lock().as_ref().map(|system| system.inner.used.load(Ordering::Relaxed))
    }

    /// Closes the session unless somebody holds it.
    fn close_idle(&self) {
        let mut open = self.lock();
        if open.as_ref().is_some_and(|system| Arc::strong_count(&system.inner) == 1) {
            *open = None;
        }
    }
}

impl Memory {
    /// A budget that sessions share.
    pub(crate) fn bounded(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            used: AtomicUsize::new(0),
            uses: AtomicU64::new(0),
            open: Mutex::default(),
            making_room: Mutex::new(()),
        })
    }

    /// No budget: a session that stands alone is bounded by the limits of its own caches.
    pub(crate) fn unbounded() -> Arc<Self> {
        Self::bounded(usize::MAX)
    }

    /// Returns how many bytes all sessions hold.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn is_over(&self, limit: usize) -> bool {
        self.used() > limit
    }

    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Slot>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a session's slot.
    pub(crate) fn slot(&self, session: &SessionId) -> Arc<Slot> {
        self.open().entry(session.clone()).or_default().clone()
    }

    /// Forgets a session: it is opened again when it is next wanted. Those who hold it go on.
    pub(crate) fn close(&self, session: &SessionId) {
        self.open().remove(session);
    }

    /// Forgets all sessions.
    pub(crate) fn close_all(&self) {
        self.open().clear();
    }

    /// Counts the sessions that are open.
    pub(crate) fn sessions(&self) -> usize {
        self.open().values().filter(|slot| slot.used().is_some()).count()
    }

    /// Drops what was used longest ago until an eighth of the budget is free, or only what is in use is
    /// left.
    fn make_room(&self) {
        // Whoever comes meanwhile goes on: room is being made.
        let Ok(_turn) = self.making_room.try_lock() else { return };
        let target = self.limit - self.limit / 8;
        let mut slots: Vec<(u64, SessionId, Arc<Slot>)> = {
            let open = self.open();
            let used = |(id, slot): (&SessionId, &Arc<Slot>)| {
                slot.used().map(|used| (used, id.clone(), slot.clone()))
            };
            open.iter().filter_map(used).collect()
        };
        slots.sort_unstable_by_key(|(used, ..)| *used);
        for (_, session, slot) in &slots {
            if !self.is_over(target) {
                return;
            }
            slot.close_idle();
            let mut open = self.open();
            // Beside the list above nobody has it, so nobody is opening it.
            let is_free = slot.used().is_none() && Arc::strong_count(slot) == 2;
            if is_free {
                open.remove(session);
            }
        }
        for (_, _, slot) in &slots {
            if !self.is_over(target) {
                return;
            }
            if let Some(system) = slot.system() {
                system.drop_unpinned();
            }
        }
    }
}

/// The bytes that a cache holds, counted for itself and in the budget.
#[derive(Debug)]
pub(super) struct Bytes {
    held: usize,
    memory: Arc<Memory>,
}

impl Bytes {
    pub(super) fn new(memory: &Arc<Memory>) -> Self {
        Self { held: 0, memory: memory.clone() }
    }

    pub(super) fn get(&self) -> usize {
        self.held
    }

    pub(super) fn add(&mut self, bytes: usize) {
        self.held += bytes;
        self.memory.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn sub(&mut self, bytes: usize) {
        self.held -= bytes;
        self.memory.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn set(&mut self, bytes: usize) {
        match bytes.checked_sub(self.held) {
            Some(more) => self.add(more),
            None => self.sub(self.held - bytes),
        }
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl ContextSystem {
    /// Notes that the session was used, and makes room where the budget is exceeded. It holds no lock of
    /// any cache meanwhile.
    pub(super) fn used(&self) {
        let memory = &self.inner.memory;
        let now = memory.uses.fetch_add(1, Ordering::Relaxed);
        self.inner.used.store(now, Ordering::Relaxed);
        if memory.is_over(memory.limit) {
            memory.make_room();
        }
    }

    /// Drops all that can be read or made again, but what is pinned.
    fn drop_unpinned(&self) {
        self.inner.derived.drop_all();
        self.inner.frozen.clear();
        self.inner.newest_windows.clear();
        self.inner.lists.clear();
        self.inner.resident.evict_lru(0);
    }
}
