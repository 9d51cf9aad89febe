//! The gate every write goes through, so that the storage can be switched between two of them.
//!
//! It stands open, and passing it costs a short lock. Whoever closes it waits for those who are
//! writing; whoever comes meanwhile waits until it is open again, and then finds the storage there is.

use std::{
    future::poll_fn,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use crate::PageStorage;

/// Holds the storage of a context system.
pub(super) struct Gate {
    state: Mutex<State>,
}

struct State {
    storage: Arc<dyn PageStorage>,
    /// How many are writing.
    writing: u64,
    /// How many ever began to write or were done: whoever was writing counts after as well.
    passed: u64,
    closed: bool,
    /// Those who wait for either.
    waiting: Vec<Waker>,
}

/// The storage, to be written to. It is not switched while this is held.
pub(super) struct Writing<'a> {
    gate: &'a Gate,
    storage: Arc<dyn PageStorage>,
}

/// A closed gate. Nobody writes while this is held.
pub(super) struct Closed<'a> {
    gate: &'a Gate,
}

impl Gate {
    pub(super) fn new(storage: Arc<dyn PageStorage>) -> Self {
        let waiting = Vec::new();
        Self { state: Mutex::new(State { storage, writing: 0, passed: 0, closed: false, waiting }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the storage, to be read.
    pub(super) fn storage(&self) -> Arc<dyn PageStorage> {
        self.lock().storage.clone()
    }

    /// Returns how many writes have begun or were done. While it stays the same nothing was written
    /// since it was asked, also by those who were writing then.
    pub(super) fn passed(&self) -> u64 {
        self.lock().passed
    }

    /// Waits until the gate is open, and passes.
    pub(super) async fn pass(&self) -> Writing<'_> {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.closed {
                state.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            state.writing += 1;
            state.passed += 1;
            Poll::Ready(Writing { gate: self, storage: state.storage.clone() })
        })
        .await
    }

    /// Closes the gate and waits until nobody is writing.
    pub(super) async fn close(&self) -> Closed<'_> {
        let closed = poll_fn(|context| {
            let mut state = self.lock();
            if state.closed {
                state.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            state.closed = true;
            // From here on, dropping it opens the gate again.
            Poll::Ready(Closed { gate: self })
        })
        .await;
        poll_fn(|context| {
            let mut state = self.lock();
            if state.writing > 0 {
                state.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
        closed
    }

    fn wake(mut state: MutexGuard<'_, State>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Closed<'_> {
    /// Puts another storage in place of the one there is.
    pub(super) fn replace(&self, storage: Arc<dyn PageStorage>) {
        let old = std::mem::replace(&mut self.gate.lock().storage, storage);
        // Outside the lock: closing a storage may take a while.
        drop(old);
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.closed = false;
        Gate::wake(state);
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.writing -= 1;
        state.passed += 1;
        if state.writing == 0 {
            Gate::wake(state);
        }
    }
}

impl Deref for Writing<'_> {
    type Target = dyn PageStorage;

    fn deref(&self) -> &Self::Target {
        &*self.storage
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::MemoryStorage;

    // C23: a write under way when a copy begins may be made after the copy's snapshot.
    #[test]
    fn who_was_writing_when_it_was_asked_is_not_missed() {
        let gate = Gate::new(Arc::new(MemoryStorage::new()));
        let writing = block_on(gate.pass());
        let before = gate.passed();
        drop(writing);
        assert_ne!(gate.passed(), before);
        let still = gate.passed();
        drop(block_on(gate.close()));
        assert_eq!(gate.passed(), still);
    }
}
