//! Catching up with what others committed: by the feed, one look at a time, however many ask for it.
//!
//! Every caller that waits for a look also drives it: one begun by a subscription that is not polled keeps no other
//! caller waiting.

use std::sync::{Mutex, MutexGuard, PoisonError, atomic::Ordering};

use futures::{
    FutureExt, StreamExt,
    channel::oneshot,
    future::{BoxFuture, Shared, WeakShared},
};

use super::ContextSystem;
use crate::{
    FeedEntry, Operation, Revision,
    storage::{Hint, StorageError, StorageResult},
};

/// How many of others' edits are followed one by one; beyond that everything resident is dropped.
const FOLLOW: u64 = 256;

/// Whether a look found anything.
type Found = StorageResult<bool>;

type Look = BoxFuture<'static, Found>;

/// Looks at the storage that are going on or were made.
#[derive(Debug, Default)]
pub(super) struct Looks {
    state: Mutex<LookState>,
    /// Those who follow the storage there is, to be called when it is switched.
    followers: Mutex<Vec<oneshot::Sender<()>>>,
}

#[derive(Debug, Default)]
struct LookState {
    /// How many have begun.
    begun: u64,
    /// The one that is going on. Those who wait hold it, so that nothing is left of it without them.
    going: Option<WeakShared<Look>>,
    /// The last that ended: its number, and what it found.
    last: Option<(u64, Found)>,
}

impl Looks {
    fn state(&self) -> MutexGuard<'_, LookState> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, number: u64, found: Found) {
        let mut state = self.state();
        state.going = None;
        state.last = Some((number, found));
    }

    /// Returns what ends when the storage is switched.
    fn until_switched(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|follower| !follower.is_canceled());
        followers.push(sender);
        receiver
    }

    /// Calls those who follow a storage that is not used any more.
    pub(super) fn switched(&self) {
        // Dropping a sender ends what waits for it.
        let followers =
            std::mem::take(&mut *self.followers.lock().unwrap_or_else(PoisonError::into_inner));
        drop(followers);
    }
}

impl ContextSystem {
    /// Takes in what others have committed; tells whether there was anything.
    ///
    /// A process that only reads calls this when it wants to see what other processes did since, or has
    /// [`follow`](Self::follow) do it. One that writes need not: every commit catches up by itself.
    /// However many ask at the same time, the storage is asked by one of them.
    pub async fn refresh(&self) -> StorageResult<bool> {
        let (asked, before) = (self.inner.looks.state().begun, self.seen_upto());
        // One that began after this one was asked for serves as well.
        while let Some(look) = self.look_after(asked) {
            let _ = look.await;
        }
        let found = match &self.inner.looks.state().last {
            Some((_, found)) => found.clone()?,
            None => false,
        };
        Ok(found || self.seen_upto() != before)
    }

    /// Returns the look to wait for before one has ended that began behind `asked`.
    fn look_after(&self, asked: u64) -> Option<Shared<Look>> {
        let mut state = self.inner.looks.state();
        if state.last.as_ref().is_some_and(|(number, _)| *number > asked) {
            return None;
        }
        if let Some(going) = state.going.as_ref().and_then(WeakShared::upgrade) {
            return Some(going);
        }
        state.begun += 1;
        let (number, system) = (state.begun, self.clone());
        let look = async move {
            let found = system.look().await;
            system.inner.looks.ended(number, found.clone());
            found
        };
        let look = look.boxed().shared();
        state.going = look.downgrade();
        Some(look)
    }

    /// Takes in what others have committed, if this revision is not known here yet; returns the one that
    /// is. It is smaller only if the session has not got there.
    pub async fn refresh_to(&self, at_least: Revision) -> StorageResult<Revision> {
        if self.seen_upto() < at_least {
            self.refresh().await?;
        }
        Ok(self.seen_upto())
    }

    /// Takes in what others commit, as soon as the storage hints at it, for as long as it is polled.
    ///
    /// Any executor will do. It ends with an error when the session is removed, and without one when the
    /// storage has no more hints to give; where the storage cannot be reached it waits for the next hint.
    pub async fn follow(&self) -> StorageResult<()> {
        loop {
            let storage = self.storage();
            let switched = self.inner.looks.until_switched();
            let mut hints = storage.watch(&self.inner.session).take_until(switched);
            // What was committed before anybody listened.
            self.heed(Hint::Look).await?;
            while let Some(hint) = hints.next().await {
                self.heed(hint).await?;
            }
            if !hints.is_stopped() {
                return Ok(());
            }
        }
    }

    async fn heed(&self, hint: Hint) -> StorageResult<()> {
        let heeded = match hint {
            Hint::Reached(revision) => self.refresh_to(revision).await.map(drop),
            Hint::Look => self.refresh().await.map(drop),
        };
        match heeded {
            Err(gone @ StorageError::SessionMissing { .. }) => Err(gone),
            Err(error) => {
                tracing::warn!(session = %self.inner.session, "cannot follow changes by others: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    async fn look(&self) -> StorageResult<bool> {
        let inner = &self.inner;
        let known = self.seen_upto();
        let gone = || StorageError::SessionMissing { session: inner.session.clone() };
        let info = self.storage().session(&inner.session).await?;
        // Removed and made again: nothing that is resident is true of it.
        let Some(info) = info.filter(|info| info.mark == inner.mark) else {
            inner.gone.store(true, Ordering::Relaxed);
            self.forget_all();
            return Err(gone());
        };
        self.made_at(info.created_at);
        if info.revision < known {
            self.forget_all();
            inner.resident.begin_again();
            self.reload_segments().await?;
            inner.moves.note_all();
            self.revisions().fall_back_to(info.revision, &inner.subscribers);
            inner.subscribers.wake();
            return Ok(true);
        }
        let missing = info.revision.0 - known.0;
        if missing == 0 {
            return Ok(false);
        }
        let entries = match usize::try_from(missing) {
            Ok(limit) if missing <= FOLLOW => {
                self.storage().changes(&inner.session, known, limit).await?
            }
            _ => Vec::new(),
        };
        inner.lists.clear();
        inner.custom.clear();
        let is_known = |entry: &FeedEntry| {
            entry.purged.is_empty() && !matches!(entry.operation, Operation::Lost)
        };
        if entries.len() as u64 == missing && entries.iter().all(is_known) {
            entries.iter().for_each(|entry| self.drop_touched(entry));
        } else {
            // What was purged must not stay here, and a purge may be among what is not known.
            self.forget_all();
        }
        self.reload_segments().await?;
        inner.moves.note_all();
        let mut revisions = self.revisions();
        for entry in entries {
            // One that is lost is passed over, and said to be.
            revisions.skip_to(Revision(entry.revision.0.saturating_sub(1)), &inner.subscribers);
            revisions.take_in(entry.revision, Some(entry.into()), &inner.subscribers);
        }
        revisions.skip_to(info.revision, &inner.subscribers);
        drop(revisions);
        inner.subscribers.wake();
        Ok(true)
    }

    fn drop_touched(&self, entry: &FeedEntry) {
        entry.touched().for_each(|index| self.inner.resident.publish_page(index, None));
        entry.levels.iter().for_each(|key| self.inner.resident.drop_chunk(key));
    }
}
