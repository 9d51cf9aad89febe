//! Publishing what was committed here.

use std::sync::{Arc, MutexGuard, PoisonError, atomic::Ordering};

use super::{ContextSystem, revisions::PendingCommit};
use crate::{
    FeedEntry, Revision, Timestamp,
    decide::Known,
    storage::{Change, ChunkKey, Committed, Segments, StorageResult},
};

impl ContextSystem {
    /// Drops everything resident, also what was derived from it.
    pub(super) fn forget_all(&self) {
        self.inner.lists.clear();
        self.inner.resident.clear();
        self.inner.derived.clear();
        self.inner.frozen.clear();
        self.inner.newest_windows.clear();
        self.inner.custom.clear();
        self.inner.moves.note_all();
    }

    /// Looks at what is resident while nothing is being published; the state is given up to which
    /// everything is known here.
    pub(super) fn while_unpublished<T>(&self, look: impl FnOnce(Revision) -> T) -> T {
        let revisions = self.revisions();
        look(revisions.upto())
    }

    /// Looks whether a commit was made whose answer was lost; at no cost where there is none.
    pub(super) async fn catch_up(&self) -> StorageResult<()> {
        if self.inner.unsure.load(Ordering::Acquire) {
            self.refresh().await?;
        }
        Ok(())
    }

    /// Makes a committed change visible to readers of this context system.
    ///
    /// The change is committed whatever happens here: where taking it in fails, everything resident
    /// is dropped and read again.
    pub(super) async fn publish(&self, committed: Committed, pending: PendingCommit<'_>) {
        let revision = committed.revision;
        if let Err(error) = self.take_in(committed, pending).await {
            tracing::warn!(session = %self.inner.session, %revision, "cannot take in the committed change: {error}");
            self.forget_all();
        }
    }

    async fn take_in(&self, committed: Committed, pending: PendingCommit<'_>) -> StorageResult<()> {
        if let Some(change) = committed.change {
            if let Some(times) = change.times {
                self.made_at(times.created_at);
            }
            if !change.segments.is_empty() {
                self.reload_segments().await?;
            }
            self.publish_change(change, committed.revision);
        } else {
            self.revisions().take_in(committed.revision, None, &self.inner.subscribers);
        }
        let lost = pending.committed();
        let unsure = self.inner.unsure.load(Ordering::Acquire);
        self.close_gap().await?;
        if unsure {
            self.resolve_lost(lost);
        }
        Ok(())
    }

    /// Takes in what others have committed, where own commits show that they have.
    pub(super) async fn close_gap(&self) -> StorageResult<()> {
        let unsure = self.inner.unsure.load(Ordering::Acquire);
        let behind = self.revisions().has_foreign_gap();
        if behind && (unsure || self.storage().capabilities().shared) {
            self.refresh().await?;
        }
        Ok(())
    }

    fn publish_change(&self, change: Change, revision: Revision) {
        let resident = &self.inner.resident;
        let subscribers = &self.inner.subscribers;
        let entry = subscribers.are_any().then(|| FeedEntry::of_change(&change, revision).into());
        // Held throughout: what is put here is older than nothing that was published before.
        let mut revisions = self.revisions();
        let newest = revisions.is_newest(revision);
        self.inner.moves.note(&change);
        if !change.custom.is_empty() {
            self.inner.custom.clear();
        }
        for claim in &change.numbers {
            resident.advance(&claim.segment, claim.first + claim.count);
        }
        for segment in change.touched_segments() {
            resident.touch(segment, revision);
        }
        for delta in &change.levels {
            resident.drop_chunk(&ChunkKey::of(&delta.view, &delta.page));
        }
        self.inner.lists.publish(&change.pages, newest);
        for delta in change.pages {
            if change.purge
                && let Some(detail) = delta.before.as_ref().and_then(|page| page.detail())
            {
                resident.drop_content(&detail.content);
            }
            resident.publish_page(&delta.index, delta.after.filter(|_| newest).map(Arc::new));
        }
        if change.purge {
            // Earlier contents of a purged page are known only to history.
            self.forget_all();
        }
        revisions.take_in(revision, entry, subscribers);
        drop(revisions);
        subscribers.wake();
    }

    /// Notes when the session was made.
    pub(super) fn made_at(&self, at: Timestamp) {
        self.inner.created_at.store(at.as_millis(), Ordering::Relaxed);
    }

    pub(super) async fn reload_segments(&self) -> StorageResult<()> {
        let number = self.inner.reloads().begin();
        let segments = self.storage().segments(&self.inner.session).await?;
        // Nobody waits for another one, which may be in the hands of somebody who does not go on with it. A list
        // that was asked for earlier never replaces one that was asked for later.
        let mut reloads = self.inner.reloads();
        if reloads.shown < number {
            reloads.shown = number;
            self.inner.resident.set_segments(Segments::new(segments));
        }
        Ok(())
    }

    /// Drops what a lost race was decided on.
    pub(super) async fn forget(&self, known: &Known) -> StorageResult<()> {
        for index in known.pages.keys() {
            self.inner.resident.publish_page(index, None);
        }
        for key in known.chunks.keys() {
            self.inner.resident.drop_chunk(key);
        }
        self.inner.lists.clear();
        self.inner.custom.clear();
        self.inner.moves.note_all();
        self.reload_segments().await
    }
}

/// Lists of segments that are being read or were.
#[derive(Debug, Default)]
pub(super) struct Reloads {
    begun: u64,
    /// The last that is shown.
    shown: u64,
}

impl super::Inner {
    fn reloads(&self) -> MutexGuard<'_, Reloads> {
        // Nothing panics while holding the lock.
        self.reloads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reloads {
    fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }
}
