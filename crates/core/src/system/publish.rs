//! Publishing what was committed here, and catching up with what others committed.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
};

use super::ContextSystem;
use crate::{
    Change, ChunkKey, HistoryEntry, Operation, Revision, Timestamp,
    decide::{Known, Segments},
    storage::{Committed, HistoryQuery, StorageError, StorageResult},
};

/// How many of others' edits are followed one by one; beyond that everything resident is dropped.
const FOLLOW: usize = 256;

/// Which revisions this context system has taken in.
#[derive(Debug)]
pub(super) struct Seen {
    /// All up to here.
    upto: Revision,
    /// Own commits beyond a gap.
    ahead: BTreeSet<Revision>,
    /// Own commits under way: a gap may be one of these.
    in_flight: u32,
    /// Own commits whose answer was lost.
    lost: u64,
    /// How many of these are settled: made and taken in, or not made.
    settled: u64,
}

impl Seen {
    pub(super) fn at(revision: Revision) -> Self {
        Self { upto: revision, ahead: BTreeSet::new(), in_flight: 0, lost: 0, settled: 0 }
    }

    fn take_in(&mut self, revision: Revision) {
        if revision > self.upto {
            self.ahead.insert(revision);
        }
        while self.ahead.remove(&self.upto.next()) {
            self.upto = self.upto.next();
        }
    }

    fn skip_to(&mut self, revision: Revision) {
        self.upto = self.upto.max(revision);
        self.ahead.retain(|ahead| *ahead > revision);
        self.take_in(self.upto);
    }

    /// Tells whether nothing later was taken in.
    fn is_newest(&self, revision: Revision) -> bool {
        self.upto.max(self.ahead.last().copied().unwrap_or_default()) < revision
    }

    /// Tells whether others have committed what is not known here.
    fn has_foreign_gap(&self) -> bool {
        self.in_flight == 0 && !self.ahead.is_empty()
    }
}

/// A commit under way.
///
/// Where its future is dropped, or the storage cannot say what became of it, the commit may have
/// been made or may yet be. Then nothing that is resident is trusted, and until this context system
/// has committed again every read first asks the storage whether the session has moved.
pub(super) struct Flight<'a> {
    system: &'a ContextSystem,
    /// How many were lost before this one set out.
    lost: u64,
    heard: bool,
}

impl Flight<'_> {
    /// Notes an error of the storage, most of which say that nothing was changed.
    pub(super) fn failed(mut self, error: &StorageError) {
        self.heard = match error {
            StorageError::Conflict { .. }
            | StorageError::RunMoved { .. }
            | StorageError::SessionExists { .. }
            | StorageError::SessionMissing { .. }
            | StorageError::Foreign { .. }
            | StorageError::Missing { .. }
            | StorageError::Newer { .. }
            | StorageError::ReadOnly { .. } => true,
            StorageError::Unavailable { .. } | StorageError::Corrupt { .. } => false,
        };
    }

    /// Ends it: what it did was taken in. Returns how many were lost before it.
    fn landed(mut self) -> u64 {
        self.heard = true;
        self.lost
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let system = self.system;
        let mut seen = system.seen();
        seen.in_flight -= 1;
        if !self.heard {
            seen.lost += 1;
            system.inner.unsure.store(true, Ordering::Release);
            drop(seen);
            system.forget_all();
        }
    }
}

impl ContextSystem {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.inner.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the state up to which everything is known here.
    pub(super) fn seen_upto(&self) -> Revision {
        self.seen().upto
    }

    pub(super) fn take_off(&self) -> Flight<'_> {
        let mut seen = self.seen();
        seen.in_flight += 1;
        Flight { system: self, lost: seen.lost, heard: false }
    }

    /// Drops everything resident, also what was derived from it.
    pub(super) fn forget_all(&self) {
        self.inner.lists.clear();
        self.inner.resident.clear();
        self.inner.measures.clear();
        self.inner.frozen.clear();
        self.inner.tails.clear();
        self.inner.moves.note_all();
    }

    /// Looks at what is resident while nothing is being published; the state is given up to which
    /// everything is known here.
    pub(super) fn settled<T>(&self, look: impl FnOnce(Revision) -> T) -> T {
        let seen = self.seen();
        look(seen.upto)
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
    pub(super) async fn publish(&self, committed: Committed, flight: Flight<'_>) {
        let revision = committed.revision;
        if let Err(error) = self.take_in(committed, flight).await {
            tracing::warn!(session = %self.inner.session, %revision, "not taken in: {error}");
            self.forget_all();
        }
    }

    async fn take_in(&self, committed: Committed, flight: Flight<'_>) -> StorageResult<()> {
        if let Some(change) = committed.change {
            if let Some(times) = change.times {
                self.made_at(times.created_at);
            }
            if !change.segments.is_empty() {
                self.reload_segments().await?;
            }
            self.publish_change(change, committed.revision);
        } else {
            self.seen().take_in(committed.revision);
        }
        let lost = flight.landed();
        let unsure = self.inner.unsure.load(Ordering::Acquire);
        let behind = self.seen().has_foreign_gap();
        if behind && (unsure || self.storage().capabilities().shared) {
            self.refresh().await?;
        }
        if unsure {
            self.settle(lost);
        }
        Ok(())
    }

    /// Notes that commits lost before one that landed are taken in or will never be: a storage takes
    /// those of a session one after the other.
    fn settle(&self, lost: u64) {
        let mut seen = self.seen();
        // A gap that another commit under way may fill says nothing yet.
        if seen.ahead.is_empty() {
            seen.settled = seen.settled.max(lost);
            self.inner.unsure.store(seen.lost > seen.settled, Ordering::Release);
        }
    }

    fn publish_change(&self, change: Change, revision: Revision) {
        let resident = &self.inner.resident;
        // Held throughout: what is put here is older than nothing that was published before.
        let mut seen = self.seen();
        let newest = seen.is_newest(revision);
        self.inner.moves.note(&change);
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
        seen.take_in(revision);
    }

    /// Notes when the session was made.
    fn made_at(&self, at: Timestamp) {
        self.inner.created_at.store(at.as_millis(), Ordering::Relaxed);
    }

    async fn reload_segments(&self) -> StorageResult<()> {
        // One after the other, so that an old list never replaces a newer one.
        let _turn = self.inner.reloading.lock().await;
        let segments = self.storage().segments(&self.inner.session).await?;
        self.inner.resident.set_segments(Segments::new(segments));
        Ok(())
    }

    /// Takes in what others have committed; tells whether there was anything.
    ///
    /// A process that only reads calls this when it wants to see what other processes did since.
    /// One that writes need not: every commit catches up by itself.
    pub async fn refresh(&self) -> StorageResult<bool> {
        let inner = &self.inner;
        let Some(info) = self.storage().session(&inner.session).await? else {
            return Err(StorageError::SessionMissing { session: inner.session.clone() });
        };
        if info.mark != inner.mark {
            // Removed and made again: nothing that is resident is true of it.
            self.forget_all();
            return Err(StorageError::SessionMissing { session: inner.session.clone() });
        }
        self.made_at(info.created_at);
        let upto = self.seen().upto;
        if info.revision <= upto {
            return Ok(false);
        }
        let query =
            HistoryQuery { after: Some(upto), limit: FOLLOW + 1, ..HistoryQuery::default() };
        let entries = self.storage().history(&inner.session, &query).await?;
        inner.lists.clear();
        if entries.len() > FOLLOW {
            // A purge may be among what is not looked at.
            self.forget_all();
        } else {
            entries.iter().for_each(|entry| self.drop_touched(entry));
        }
        self.reload_segments().await?;
        inner.moves.note_all();
        let newest = entries.iter().map(|entry| entry.revision).max();
        self.seen().skip_to(newest.unwrap_or(info.revision));
        Ok(true)
    }

    fn drop_touched(&self, entry: &HistoryEntry) {
        if entry.operation == Operation::PurgePage {
            // Contents of a purged page must not stay here either.
            self.forget_all();
        }
        for before in &entry.inverse.pages {
            self.inner.resident.publish_page(&before.index, None);
        }
        for delta in &entry.inverse.levels {
            self.inner.resident.drop_chunk(&ChunkKey::of(&delta.view, &delta.page));
        }
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
        self.inner.moves.note_all();
        self.reload_segments().await
    }
}
