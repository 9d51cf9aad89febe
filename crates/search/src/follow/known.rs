//! What is known of a followed session beside what is on disk.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use contexture_core::{PageIndex, Revision, SegmentId, SessionId};
use futures::lock::Mutex as Turn;

use super::anchor::Anchor;
use crate::index::{Batch, ChangedPage, Entry, MarkHash, SessionState, Space, State, Tail, Wanted};

/// How many edits that touched no page go by before that is written.
const QUIET: u64 = 10_000;

/// A session that is followed.
pub(crate) struct Followed {
    session: SessionId,
    /// Held by the one that reads the store.
    pub(super) turn: Turn<()>,
    /// Whether documents must carry what vectors are made of.
    pieces: bool,
    known: RwLock<Known>,
}

/// What is known of a session beside what is on disk.
#[derive(Default)]
pub(crate) struct Known {
    /// The session's mark; none where nothing is known.
    mark: Option<MarkHash>,
    /// The build on disk that the tails stand in front of; none where nothing on disk is true.
    build: Option<u64>,
    /// Everything up to this edit is in the tails or on disk; none while the session is read from the beginning.
    upto: Option<Revision>,
    /// The edit that `upto` names; none where nothing is known of it.
    anchor: Option<Anchor>,
    /// Everything up to this edit is on disk.
    committed: Option<Revision>,
    tails: BTreeMap<SegmentId, Tail>,
    /// Numbers the states of pages, so that two can be distinguished.
    stamp: u64,
    /// Counts how often everything was forgotten.
    epoch: u64,
    /// A build on disk that was made from another state of the session.
    refused: Option<u64>,
}

/// Where following stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch {
    number: u64,
    /// Whether the session must be read from the beginning.
    pub(super) whole: bool,
    /// How many edits are still to be read.
    pub(super) behind: u64,
}

/// How far a session is known: the last edit's number, and that edit where it is known.
pub(crate) type Reached = (Revision, Option<Anchor>);

/// What was taken to be written.
pub(crate) struct Taken {
    pub(crate) batch: Batch,
    stamps: Vec<u64>,
    epoch: u64,
}

impl Followed {
    pub(crate) fn new(session: &SessionId, pieces: bool) -> Self {
        Self { session: session.clone(), turn: Turn::default(), pieces, known: RwLock::default() }
    }

    fn lock(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is known, ready to be searched.
    pub(crate) fn sorted(&self) -> RwLockReadGuard<'_, Known> {
        loop {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if known.tails.values().all(Tail::is_sorted) {
                return known;
            }
            drop(known);
            self.lock().tails.values_mut().for_each(Tail::sort);
        }
    }

    /// Returns how many documents and bytes are in memory.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let sizes = known.tails.values().map(|tail| (tail.documents(), tail.bytes()));
        sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
    }

    /// Shows every document in memory.
    pub(crate) fn each_entry(&self, visit: &mut dyn FnMut(&Entry)) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.tails.values().flat_map(Tail::entries).for_each(visit);
    }

    /// Returns the pages in memory that name one of these turns.
    pub(super) fn pages_of(&self, turns: &BTreeSet<u64>) -> BTreeSet<PageIndex> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mut pages = BTreeSet::new();
        for (segment, tail) in &known.tails {
            let named =
                tail.entries().filter(|it| it.turn.is_some_and(|turn| turns.contains(&turn)));
            let index = |page: u32| PageIndex::new(segment.clone(), u64::from(page));
            pages.extend(named.map(|entry| index(entry.at.page)));
        }
        pages
    }

    /// Begins to follow a session with this mark, or goes on.
    pub(super) fn begin(&self, mark: &MarkHash, head: Revision, state: &State) -> Epoch {
        let mut known = self.lock();
        let reached = known.upto.is_some_and(|upto| upto <= head);
        let goes_on = known.mark.as_ref() == Some(mark) && reached;
        if !goes_on {
            known.forget();
            known.mark = Some(mark.clone());
            let indexed = state.sessions.get(&self.session);
            let wanted = Wanted { head, refused: known.refused, pieces: self.pieces };
            let is_true = |it: &&SessionState| it.mark == *mark && wanted.is_met_by(it);
            if let Some(indexed) = indexed.filter(is_true) {
                known.build = Some(indexed.build);
                known.reach(indexed);
            }
        }
        let behind = head.0.saturating_sub(known.upto.unwrap_or_default().0);
        Epoch { number: known.epoch, whole: known.upto.is_none(), behind }
    }

    /// Returns up to where the session is known, with the edit that was made there; none where it was forgotten.
    pub(super) fn upto(&self, epoch: Epoch) -> Option<Reached> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let upto = known.upto.filter(|_| known.epoch == epoch.number)?;
        Some((upto, known.anchor.clone()))
    }

    /// Returns how often everything was forgotten.
    pub(crate) fn epoch(&self) -> u64 {
        self.known.read().unwrap_or_else(PoisonError::into_inner).epoch
    }

    /// Takes pages in, and how far the session is known with them. Returns false where the session was forgotten
    /// meanwhile.
    pub(super) fn put(
        &self,
        epoch: Epoch,
        pages: Vec<(PageIndex, Vec<Entry>)>,
        upto: Option<Reached>,
    ) -> bool {
        let mut known = self.lock();
        if known.epoch != epoch.number {
            return false;
        }
        for (index, entries) in pages {
            let Ok(page) = u32::try_from(index.number()) else { continue };
            known.stamp += 1;
            let stamp = known.stamp;
            // What is not on disk need not be hidden.
            if entries.is_empty() && known.build.is_none() {
                if let Some(tail) = known.tails.get_mut(index.segment()) {
                    tail.remove(page);
                }
                continue;
            }
            known.tails.entry(index.segment().clone()).or_default().put(page, entries, stamp);
        }
        if let Some((upto, anchor)) = upto {
            (known.upto, known.anchor) = (Some(upto), anchor);
        }
        true
    }

    /// Forgets everything: the session is read again, as far as it is not on disk.
    pub(crate) fn forget(&self) {
        self.lock().forget();
    }

    /// Forgets everything: the session is read again, whatever is on disk of it.
    pub(crate) fn refuse(&self) {
        let mut known = self.lock();
        known.refused = known.build.or(known.refused);
        known.forget();
    }

    /// Returns what a build on disk must be to be true of a session with this head.
    pub(super) fn wanted(&self, head: Revision) -> Wanted {
        let refused = self.known.read().unwrap_or_else(PoisonError::into_inner).refused;
        Wanted { head, refused, pieces: self.pieces }
    }

    /// Hands over all pages in memory, while the session is read from the beginning.
    pub(super) fn hand_over(&self) -> Vec<ChangedPage> {
        let tails = std::mem::take(&mut self.lock().tails);
        let pages = tails.iter().flat_map(|(segment, tail)| {
            tail.pages()
                .iter()
                .map(|(number, page)| (segment.clone(), *number, page.entries.clone()))
        });
        pages.collect()
    }

    /// Notes that all of the session is on disk. Returns false where the session was forgotten meanwhile.
    pub(super) fn rebuilt(&self, epoch: Epoch, build: u64, reached: Reached) -> bool {
        let mut known = self.lock();
        if known.epoch != epoch.number {
            return false;
        }
        known.build = Some(build);
        (known.upto, known.committed) = (Some(reached.0), Some(reached.0));
        known.anchor = reached.1;
        true
    }

    /// Takes what is to be written; none where that is nothing.
    pub(crate) fn take(&self) -> Option<Taken> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let mark = known.mark.clone()?;
        let number = |revision: Option<Revision>| revision.unwrap_or_default().0;
        let quiet = number(known.upto).saturating_sub(number(known.committed)) <= QUIET;
        if known.build.is_some() && quiet && known.tails.values().all(Tail::is_empty) {
            return None;
        }
        let (mut pages, mut stamps) = (Vec::new(), Vec::new());
        for (segment, tail) in &known.tails {
            for (number, page) in tail.pages() {
                pages.push((segment.clone(), *number, page.entries.clone()));
                stamps.push(page.stamp);
            }
        }
        let (session, upto, build) = (self.session.clone(), known.upto, known.build);
        let anchor = known.anchor.clone();
        let batch = Batch { session, mark, upto, anchor, build, pages, pieces: self.pieces };
        Some(Taken { batch, stamps, epoch: known.epoch })
    }

    /// Notes that a batch is on disk, as part of this build.
    pub(crate) fn written(&self, taken: &Taken, build: u64) {
        let mut known = self.lock();
        if known.epoch != taken.epoch {
            return;
        }
        known.build = Some(build);
        known.committed = taken.batch.upto;
        for ((segment, page, _), stamp) in taken.batch.pages.iter().zip(&taken.stamps) {
            if let Some(tail) = known.tails.get_mut(segment) {
                tail.remove_if(*page, *stamp);
            }
        }
        known.tails.retain(|_, tail| !tail.is_empty());
    }

    /// Takes note of what is on disk now, by whichever process.
    pub(crate) fn adopt(&self, state: &State) {
        let mut known = self.lock();
        let Some(build) = known.build else { return };
        match state.sessions.get(&self.session).filter(|indexed| indexed.build == build) {
            None => known.forget(),
            Some(indexed) if indexed.revision.is_some() && indexed.revision >= known.upto => {
                known.reach(indexed);
                known.tails.clear();
            }
            Some(_) => {}
        }
    }
}

impl Known {
    /// Returns what is in memory of a segment.
    pub(crate) fn tail(&self, segment: &SegmentId) -> Option<&Tail> {
        self.tails.get(segment).filter(|tail| !tail.is_empty())
    }

    /// Returns the number of a segment whose documents on disk are true.
    pub(crate) fn space(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        state: &State,
    ) -> Option<Space> {
        self.is_current(session, state).then(|| state.space(session, segment)).flatten()
    }

    /// Returns whether what is on disk belongs to what is in memory.
    fn is_current(&self, session: &SessionId, state: &State) -> bool {
        let indexed = state.sessions.get(session).map(|indexed| indexed.build);
        self.build.is_some() && self.build == indexed
    }

    /// Returns whether a search can be answered from it.
    pub(crate) fn is_whole(&self, session: &SessionId, state: &State) -> bool {
        self.upto.is_some() && (self.build.is_none() || self.is_current(session, state))
    }

    /// Takes note that everything on disk is true.
    fn reach(&mut self, indexed: &SessionState) {
        (self.upto, self.committed) = (indexed.revision, indexed.revision);
        self.anchor = indexed.anchor.clone();
    }

    fn forget(&mut self) {
        let (epoch, stamp, refused) = (self.epoch + 1, self.stamp, self.refused);
        *self = Self { epoch, stamp, refused, ..Self::default() };
    }
}
