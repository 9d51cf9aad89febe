//! A storage that can be switched for another between two writes.
//!
//! A write begins with a short lock. Whoever switches locks out writers and waits for those who are
//! writing; whoever comes meanwhile waits until the switch is done, and then finds the storage there is.

use std::{
    future::poll_fn,
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use crate::PageStorage;

/// Holds the storage of a context system.
pub(super) struct SwitchableStorage {
    state: Mutex<SwitchState>,
}

struct SwitchState {
    storage: Arc<dyn PageStorage>,
    /// How many are writing.
    writing: u64,
    /// How many ever began to write or were done: whoever was writing counts after as well.
    write_count: u64,
    closed: bool,
    /// Those who wait for either.
    waiting: Vec<Waker>,
}

/// The storage, to be written to. It is not switched while this is held.
pub(super) struct WriteGuard<'a> {
    switchable: &'a SwitchableStorage,
    storage: Arc<dyn PageStorage>,
}

/// Nobody writes while this is held.
pub(super) struct SwitchGuard<'a> {
    switchable: &'a SwitchableStorage,
}

impl SwitchableStorage {
    pub(super) fn new(storage: Arc<dyn PageStorage>) -> Self {
        let waiting = Vec::new();
        Self {
            state: Mutex::new(SwitchState {
                storage,
                writing: 0,
                write_count: 0,
                closed: false,
                waiting,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SwitchState> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the storage, to be read.
    pub(super) fn storage(&self) -> Arc<dyn PageStorage> {
        self.lock().storage.clone()
    }

    /// Returns how many writes have begun or were done. While it stays the same nothing was written
    /// since it was asked, also by those who were writing then.
    pub(super) fn write_count(&self) -> u64 {
        self.lock().write_count
    }

    /// Waits until writers are let in, and begins a write.
    pub(super) async fn begin_write(&self) -> WriteGuard<'_> {
        poll_fn(|context| {
            let mut state = self.lock();
            if state.closed {
                state.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            state.writing += 1;
            state.write_count += 1;
            Poll::Ready(WriteGuard { switchable: self, storage: state.storage.clone() })
        })
        .await
    }

    /// Locks out writers and waits until nobody is writing.
    pub(super) async fn lock_out_writers(&self) -> SwitchGuard<'_> {
        let closed = poll_fn(|context| {
            let mut state = self.lock();
            if state.closed {
                state.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            state.closed = true;
            // From here on, dropping it lets writers in again.
            Poll::Ready(SwitchGuard { switchable: self })
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

    fn wake(mut state: MutexGuard<'_, SwitchState>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl SwitchGuard<'_> {
    /// Puts another storage in place of the one there is.
    pub(super) fn replace(&self, storage: Arc<dyn PageStorage>) {
        let old = std::mem::replace(&mut self.switchable.lock().storage, storage);
        // Outside the lock: closing a storage may take a while.
        drop(old);
    }
}

impl Drop for SwitchGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.switchable.lock();
        state.closed = false;
        SwitchableStorage::wake(state);
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.switchable.lock();
        state.writing -= 1;
        state.write_count += 1;
        if state.writing == 0 {
            SwitchableStorage::wake(state);
        }
    }
}

impl Deref for WriteGuard<'_> {
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

    // A write under way when a copy begins may be made after the copy's snapshot.
    #[test]
    fn who_was_writing_when_it_was_asked_is_not_missed() {
        let switchable = SwitchableStorage::new(Arc::new(MemoryStorage::new()));
        let writing = block_on(switchable.begin_write());
        let before = switchable.write_count();
        drop(writing);
        assert_ne!(switchable.write_count(), before);
        let still = switchable.write_count();
        drop(block_on(switchable.lock_out_writers()));
        assert_eq!(switchable.write_count(), still);
    }
}
