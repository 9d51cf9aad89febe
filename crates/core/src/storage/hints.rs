//! Hints: a storage's way to say that a session may have moved.
//!
//! A hint is a reason to look, never the truth: the revision is. Hints may come late, twice, or for
//! nothing, and where several wait only the newest is kept, so that nobody who is slow to look holds
//! memory or anybody up.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
};

use futures::Stream;

use crate::Revision;

/// Why to look at a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// It has reached this revision.
    Reached(Revision),
    /// Something else may have happened to it: it was removed, made again or taken back.
    Look,
}

/// The hints about one session. It ends when nobody is left to send any.
#[derive(Debug)]
pub struct Hints {
    slot: Arc<Mutex<Slot>>,
}

/// Sends hints about one session.
#[derive(Debug)]
pub struct HintSender {
    slot: Weak<Mutex<Slot>>,
}

#[derive(Debug, Default)]
struct Slot {
    waiting: Option<Hint>,
    /// Whether nobody sends any more.
    ended: bool,
    waker: Option<Waker>,
}

impl Hints {
    /// Returns a sender of hints and what receives them.
    pub fn channel() -> (HintSender, Self) {
        let slot = Arc::new(Mutex::new(Slot::default()));
        (HintSender { slot: Arc::downgrade(&slot) }, Self { slot })
    }

    /// Returns hints that never come, for storages that have none to give.
    pub fn never() -> Self {
        Self { slot: Arc::default() }
    }
}

impl HintSender {
    /// Sends a hint. Tells whether anybody is there to receive it.
    pub fn send(&self, hint: Hint) -> bool {
        let Some(slot) = self.slot.upgrade() else { return false };
        let mut state = lock(&slot);
        state.waiting = Some(match (state.waiting, hint) {
            (Some(Hint::Look), _) | (_, Hint::Look) => Hint::Look,
            (Some(Hint::Reached(one)), Hint::Reached(other)) => Hint::Reached(one.max(other)),
            (None, hint) => hint,
        });
        wake(state);
        true
    }

    /// Tells whether nobody is there to receive hints any more.
    pub fn is_closed(&self) -> bool {
        self.slot.strong_count() == 0
    }
}

impl Drop for HintSender {
    fn drop(&mut self) {
        let Some(slot) = self.slot.upgrade() else { return };
        let mut state = lock(&slot);
        state.ended = true;
        wake(state);
    }
}

impl Stream for Hints {
    type Item = Hint;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Hint>> {
        let mut state = lock(&self.slot);
        match state.waiting.take() {
            Some(hint) => Poll::Ready(Some(hint)),
            None if state.ended => Poll::Ready(None),
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    // Nothing panics while holding the lock.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake(mut state: MutexGuard<'_, Slot>) {
    let waker = state.waker.take();
    drop(state);
    waker.into_iter().for_each(Waker::wake);
}

#[cfg(test)]
mod tests {
    use futures::{StreamExt, executor::block_on};

    use super::*;

    #[test]
    fn only_the_newest_hint_waits_and_a_look_is_not_lost() {
        let (sender, mut hints) = Hints::channel();
        let reached = |at| Hint::Reached(Revision(at));
        for hint in [reached(3), reached(9), reached(4)] {
            assert!(sender.send(hint));
        }
        assert_eq!(block_on(hints.next()), Some(reached(9)));
        sender.send(Hint::Look);
        sender.send(reached(12));
        assert_eq!(block_on(hints.next()), Some(Hint::Look));
        drop(sender);
        assert_eq!(block_on(hints.next()), None);
    }

    #[test]
    fn a_sender_knows_when_nobody_listens() {
        let (sender, hints) = Hints::channel();
        assert!(!sender.is_closed());
        drop(hints);
        assert!(sender.is_closed() && !sender.send(Hint::Look));
    }
}
