//! Which revisions a context system has taken in, and which of its own commits are in the air.
//!
//! Own commits come back in any order, and others commit in between. A revision that is missing below
//! one that is known is somebody else's, unless an own commit is in the air that may have been given
//! it. It may only if it took off before a later revision was known: revisions are given in order. So a
//! gap is judged by when the commits in the air took off, and those that keep coming hide nothing.

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
pub(super) struct Seen {
    /// All up to here.
    upto: Revision,
    /// Own commits beyond a gap, with what subscribers get of them, if there were any.
    ahead: BTreeMap<Revision, Option<Arc<FeedEntry>>>,
    /// Own commits in the air, counted by the newest revision that was known when they took off.
    aloft: BTreeMap<Revision, u32>,
    /// Own commits whose answer was lost.
    lost: u64,
    /// How many of these are settled: made and taken in, or not made.
    settled: u64,
}

impl Seen {
    pub(super) fn at(revision: Revision) -> Self {
        Self { upto: revision, ahead: BTreeMap::new(), aloft: BTreeMap::new(), lost: 0, settled: 0 }
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
        let may_be_own = self.aloft.first_key_value().is_some_and(|(since, _)| *since < missing);
        !may_be_own || self.ahead.len() > MOST_AHEAD
    }

    fn take_off(&mut self) -> Revision {
        let since = self.newest();
        *self.aloft.entry(since).or_default() += 1;
        since
    }

    fn land(&mut self, since: Revision) {
        if let Some(count) = self.aloft.get_mut(&since) {
            *count -= 1;
            if *count == 0 {
                self.aloft.remove(&since);
            }
        }
    }
}

/// An own commit in the air.
///
/// Where its future is dropped, or the storage cannot say what became of it, the commit may have
/// been made or may yet be. Then nothing that is resident is trusted, and until this context system
/// has committed again every read first asks the storage whether the session has moved.
pub(super) struct Flight<'a> {
    system: &'a ContextSystem,
    /// The newest revision that was known when it took off.
    since: Revision,
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
    pub(super) fn landed(mut self) -> u64 {
        self.heard = true;
        self.lost
    }
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let system = self.system;
        let mut seen = system.seen();
        seen.land(self.since);
        if !self.heard {
            seen.lost += 1;
            system.inner.unsure.store(true, Ordering::Release);
            drop(seen);
            system.forget_all();
        }
    }
}

impl ContextSystem {
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.inner.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state up to which everything is known here.
    pub(super) fn seen_upto(&self) -> Revision {
        self.seen().upto
    }

    pub(super) fn take_off(&self) -> Flight<'_> {
        let mut seen = self.seen();
        let since = seen.take_off();
        Flight { system: self, since, lost: seen.lost, heard: false }
    }

    /// Notes that commits lost before one that landed are taken in or will never be: a storage takes
    /// those of a session one after the other.
    pub(super) fn settle(&self, lost: u64) {
        let mut seen = self.seen();
        // A gap that another commit in the air may fill says nothing yet.
        if seen.ahead.is_empty() {
            seen.settled = seen.settled.max(lost);
            self.inner.unsure.store(seen.lost > seen.settled, Ordering::Release);
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
        let mut seen = Seen::at(at(4));
        let (one, other) = (seen.take_off(), seen.take_off());
        seen.take_in(at(6), None, &to);
        seen.land(other);
        assert!(!seen.has_foreign_gap(), "the first may be revision 5");
        let later = seen.take_off();
        seen.land(one);
        assert!(seen.has_foreign_gap(), "nothing in the air took off before 6 was known");
        seen.take_in(at(5), None, &to);
        assert_eq!((seen.upto(), seen.has_foreign_gap()), (at(6), false));
        seen.land(later);
    }

    #[test]
    fn a_commit_that_hangs_bounds_what_is_remembered() {
        let to = Subscribers::default();
        let mut seen = Seen::at(at(0));
        let _hangs = seen.take_off();
        let first = (2..).find(|revision| {
            let since = seen.take_off();
            seen.take_in(at(*revision), None, &to);
            seen.land(since);
            seen.has_foreign_gap()
        });
        assert_eq!(first, Some(MOST_AHEAD as u64 + 2));
        seen.skip_to(at(MOST_AHEAD as u64 + 2), &to);
        assert!(seen.ahead.is_empty() && !seen.has_foreign_gap());
    }
}
