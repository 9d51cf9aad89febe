//! Which revisions a context system has taken in, and which of its own commits are pending.
//!
//! Own commits come back in any order, and others commit in between. A revision that is missing below
//! one that is known is somebody else's, unless an own commit is pending that may have been given
//! it. It may only if it began before a later revision was known: revisions are given in order. So a
//! gap is judged by when the pending commits began, and those that keep coming hide nothing.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, PoisonError, atomic::Ordering},
};

use super::{ContextSystem, subscribe::Subscribers};
use crate::{FeedEntry, Revision, storage::StorageError};

/// How many own commits are remembered beyond a gap. A commit that hangs may hide what others did for
/// that long; then the feed is read.
const MOST_AHEAD: usize = 256;

/// Which revisions this context system has taken in.
#[derive(Debug)]
pub(super) struct KnownRevisions {
    /// All up to here.
    upto: Revision,
    /// Own commits beyond a gap, with what subscribers get of them, if there were any.
    ahead: BTreeMap<Revision, Option<Arc<FeedEntry>>>,
    /// Own commits that are pending, counted by the newest revision that was known when they began.
    pending: BTreeMap<Revision, u32>,
    /// Own commits whose answer was lost.
    lost: u64,
    /// How many of these are resolved: made and taken in, or not made.
    resolved: u64,
}

impl KnownRevisions {
    pub(super) fn at(revision: Revision) -> Self {
        Self {
            upto: revision,
            ahead: BTreeMap::new(),
            pending: BTreeMap::new(),
            lost: 0,
            resolved: 0,
        }
    }

    /// Returns the state up to which everything is known.
    pub(super) fn upto(&self) -> Revision {
        self.upto
    }

    fn newest(&self) -> Revision {
        self.ahead.last_key_value().map_or(self.upto, |(newest, _)| *newest.max(&self.upto))
    }

    /// Tells whether nothing later was taken in.
    pub(super) fn is_newest(&self, revision: Revision) -> bool {
        self.newest() < revision
    }

    /// Takes in a revision, and hands on all that is complete by it, in order.
    pub(super) fn take_in(
        &mut self,
        revision: Revision,
        entry: Option<Arc<FeedEntry>>,
        to: &Subscribers,
    ) {
        if revision > self.upto {
            let known = self.ahead.entry(revision).or_default();
            *known = known.take().or(entry);
        }
        while let Some(entry) = self.ahead.remove(&self.upto.next()) {
            self.upto = self.upto.next();
            to.hand(self.upto, entry);
        }
    }

    /// Takes in everything up to a revision without saying what it was.
    pub(super) fn skip_to(&mut self, revision: Revision, to: &Subscribers) {
        if revision > self.upto {
            self.upto = revision;
            self.ahead.retain(|ahead, _| *ahead > revision);
            to.hand(revision, None);
            self.take_in(revision, None, to);
        }
    }

    /// Notes that the session stands at an earlier revision than was known.
    pub(super) fn fall_back_to(&mut self, revision: Revision, to: &Subscribers) {
        self.upto = revision;
        self.ahead.clear();
        to.hand(revision, None);
    }

    /// Tells whether others have committed what is not known here.
    pub(super) fn has_foreign_gap(&self) -> bool {
        if self.ahead.is_empty() {
            return false;
        }
        let missing = self.upto.next();
        let may_be_own = self.pending.first_key_value().is_some_and(|(since, _)| *since < missing);
        !may_be_own || self.ahead.len() > MOST_AHEAD
    }

    fn begin_commit(&mut self) -> Revision {
        let since = self.newest();
        *self.pending.entry(since).or_default() += 1;
        since
    }

    fn end_commit(&mut self, since: Revision) {
        if let Some(count) = self.pending.get_mut(&since) {
            *count -= 1;
            if *count == 0 {
                self.pending.remove(&since);
            }
        }
    }
}

/// An own commit whose answer has not come yet.
///
/// Where its future is dropped, or the storage cannot say what became of it, the commit may have
/// been made or may yet be. Then nothing that is resident is trusted, and until this context system
/// has committed again every read first asks the storage whether the session has moved.
pub(super) struct PendingCommit<'a> {
    system: &'a ContextSystem,
    /// The newest revision that was known when it began.
    since: Revision,
    /// How many were lost before this one set out.
    lost: u64,
    heard: bool,
}

impl PendingCommit<'_> {
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
    pub(super) fn committed(mut self) -> u64 {
        self.heard = true;
        self.lost
    }
}

impl Drop for PendingCommit<'_> {
    fn drop(&mut self) {
        let system = self.system;
        let mut revisions = system.revisions();
        revisions.end_commit(self.since);
        if !self.heard {
            revisions.lost += 1;
            system.inner.unsure.store(true, Ordering::Release);
            drop(revisions);
            system.forget_all();
        }
    }
}

impl ContextSystem {
    pub(super) fn revisions(&self) -> MutexGuard<'_, KnownRevisions> {
        self.inner.revisions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state up to which everything is known here.
    pub(crate) fn seen_upto(&self) -> Revision {
        self.revisions().upto
    }

    pub(super) fn begin_commit(&self) -> PendingCommit<'_> {
        let mut revisions = self.revisions();
        let since = revisions.begin_commit();
        PendingCommit { system: self, since, lost: revisions.lost, heard: false }
    }

    /// Notes that commits lost before one that was made are taken in or will never be: a storage takes
    /// those of a session one after the other.
    pub(super) fn resolve_lost(&self, lost: u64) {
        let mut revisions = self.revisions();
        // A gap that another pending commit may fill says nothing yet.
        if revisions.ahead.is_empty() {
            revisions.resolved = revisions.resolved.max(lost);
            self.inner.unsure.store(revisions.lost > revisions.resolved, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(revision: u64) -> Revision {
        Revision(revision)
    }

    #[test]
    fn a_gap_that_a_commit_in_the_air_may_fill_is_not_foreign() {
        let to = Subscribers::default();
        let mut revisions = KnownRevisions::at(at(4));
        let (one, other) = (revisions.begin_commit(), revisions.begin_commit());
        revisions.take_in(at(6), None, &to);
        revisions.end_commit(other);
        assert!(!revisions.has_foreign_gap(), "the first may be revision 5");
        let later = revisions.begin_commit();
        revisions.end_commit(one);
        assert!(revisions.has_foreign_gap(), "nothing pending began before 6 was known");
        revisions.take_in(at(5), None, &to);
        assert_eq!((revisions.upto(), revisions.has_foreign_gap()), (at(6), false));
        revisions.end_commit(later);
    }

    #[test]
    fn a_commit_that_hangs_bounds_what_is_remembered() {
        let to = Subscribers::default();
        let mut revisions = KnownRevisions::at(at(0));
        let _hangs = revisions.begin_commit();
        let first = (2..).find(|revision| {
            let since = revisions.begin_commit();
            revisions.take_in(at(*revision), None, &to);
            revisions.end_commit(since);
            revisions.has_foreign_gap()
        });
        assert_eq!(first, Some(MOST_AHEAD as u64 + 2));
        revisions.skip_to(at(MOST_AHEAD as u64 + 2), &to);
        assert!(revisions.ahead.is_empty() && !revisions.has_foreign_gap());
    }
}
