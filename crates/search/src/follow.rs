//! Following a session: what its edits touched is read from the store and taken into the index.
//!
//! The rule is that of the change feed: what was purged is dropped first, then what was put and what is gone is taken
//! in. An edit only says which pages it touched. They are read as they stand now, so reading an edit twice, or
//! late, does no harm.

mod ahead;
mod anchor;
mod known;
mod read;

use std::{collections::BTreeSet, sync::atomic::Ordering};

use contexture_core::{
    ContextSystem, FeedEntry, Operation, PageIndex, Revision, SessionId,
    storage::{SessionInfo, StorageError},
};
use futures::StreamExt;

pub(crate) use anchor::Anchor;
pub(crate) use known::{Followed, Known, Reached};

use crate::{
    error::SearchError,
    index::{MarkHash, Rebuild, RebuildStart, Scrub, SearchIndex},
};
use ahead::ReadAhead;
use known::Epoch;
use read::ReadPage;

/// How many edits are read at a time.
const EDITS: usize = 512;

/// How many edits a follower takes in together.
const TOGETHER: usize = 128;

/// How often a session is begun again that another process indexes at the same time.
const ATTEMPTS: usize = 8;

impl SearchIndex {
    /// Takes in what was committed to a session of the store, up to now.
    ///
    /// Every search does this first. Callers that want searches to find little left to do have
    /// [`follow`](Self::follow) do it as edits are made.
    pub async fn catch_up(&self, session: &SessionId) -> Result<(), SearchError> {
        let followed = self.inner.followed(session);
        let _turn = followed.turn.lock().await;
        let info = self.inner.storage.session(session).await?;
        let missing = || StorageError::SessionMissing { session: session.clone() };
        let info = info.ok_or_else(missing)?;
        for _ in 0..ATTEMPTS {
            if self.reach(&followed, &info).await? {
                return Ok(());
            }
        }
        Err(SearchError::Busy)
    }

    /// Takes in what is committed to a session, some edits at a time, for as long as it is polled.
    ///
    /// A search takes in what is still missing, so nothing is gained by being faster, and one edit at a time costs
    /// several times as much. It ends when the session is removed.
    pub async fn follow(&self, system: &ContextSystem) -> Result<(), SearchError> {
        let mut events = system.subscribe().waking_at(TOGETHER).ready_chunks(EDITS);
        self.catch_up(system.session()).await?;
        let mut behind = 0;
        while let Some(edits) = events.next().await {
            behind += edits.len();
            if behind < TOGETHER {
                continue;
            }
            behind = 0;
            match self.catch_up(system.session()).await {
                Err(SearchError::Storage(StorageError::SessionMissing { .. })) => break,
                Err(error) => {
                    tracing::warn!(session = %system.session(), "cannot follow for search: {error}");
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    /// Takes in all edits up to a session's head; tells whether it got there.
    async fn reach(&self, followed: &Followed, info: &SessionInfo) -> Result<bool, SearchError> {
        let mark = MarkHash::of(&info.mark);
        // No snapshot is held: the files of one that is read cannot be removed.
        let mut epoch = followed.begin(&mark, info.revision, &self.inner.snapshot().state);
        if epoch.behind > EDITS as u64 || epoch.whole {
            // Another process may have done it.
            self.inner.reload()?;
            epoch = followed.begin(&mark, info.revision, &self.inner.snapshot().state);
        }
        if epoch.whole && !self.read_whole(followed, info, epoch).await? {
            return Ok(false);
        }
        loop {
            let Some((upto, anchor)) = followed.upto(epoch) else { return Ok(false) };
            let is_head = anchor.as_ref().is_none_or(|anchor| anchor.is_head(info));
            if upto == info.revision && is_head {
                return Ok(true);
            }
            // The edit that was reached is read again: an earlier state that was restored and edited has another one.
            let reached = usize::from(anchor.is_some());
            let after = Revision(upto.0.saturating_sub(reached as u64));
            let edits = self.inner.storage.changes(&info.id, after, EDITS + reached).await?;
            let same = anchor.is_none_or(|anchor| edits.first().is_some_and(|it| anchor.is(it)));
            let dense = (after.0 + 1..).zip(&edits).all(|(next, edit)| edit.revision.0 == next);
            let edits = edits.get(reached..).unwrap_or_default();
            if !same || !dense || edits.iter().any(|edit| edit.operation == Operation::Lost) {
                followed.refuse();
                return Ok(false);
            }
            let Some(last) = edits.last() else { return Ok(true) };
            let last = (last.revision, Some(Anchor::of(last)));
            let purged = edits.iter().any(|edit| !edit.purged.is_empty());
            let touched = self.touched(&info.id, edits);
            let pages = self.read(&info.id, touched).await?;
            if !followed.put(epoch, pages, Some(last)) {
                return Ok(false);
            }
            if purged {
                self.inner.unscrubbed.store(true, Ordering::Release);
                self.write_now(Scrub::Yes).await?;
            }
            self.make_room().await?;
        }
    }

    /// Reads a session from the beginning. A large one goes to disk at once instead of waiting in memory.
    async fn read_whole(
        &self,
        followed: &Followed,
        info: &SessionInfo,
        epoch: Epoch,
    ) -> Result<bool, SearchError> {
        let before = Revision(info.revision.0.saturating_sub(1));
        let head = self.inner.storage.changes(&info.id, before, 1).await?;
        let anchor = head.first().filter(|head| head.revision == info.revision).map(Anchor::of);
        let reached = (info.revision, anchor);
        let mut rebuild: Option<Box<Rebuild>> = None;
        let mut batches = ReadAhead::begin(self, info).await?;
        while let Some(raw) = batches.next().await? {
            let pages = raw.cut();
            if let Some(rebuild) = &mut rebuild {
                add(rebuild, pages)?;
            } else if !followed.put(epoch, pages, None) {
                return Ok(false);
            } else if self.is_over(1) {
                match self.begin_rebuild(followed, info)? {
                    RebuildStart::Begun(begun) => rebuild = Some(begun),
                    RebuildStart::Busy => self.make_room().await?,
                    RebuildStart::Done => return Ok(false),
                }
            }
        }
        // What was edited meanwhile is in the feed behind it.
        let Some(rebuild) = rebuild else {
            self.worker().changed();
            return Ok(followed.put(epoch, Vec::new(), Some(reached)));
        };
        let build = self.worker().commit(rebuild, reached.clone()).await?;
        Ok(followed.rebuilt(epoch, build, reached))
    }

    /// Begins to write a session as a whole, with what is in memory of it.
    fn begin_rebuild(
        &self,
        followed: &Followed,
        info: &SessionInfo,
    ) -> Result<RebuildStart, SearchError> {
        let mark = MarkHash::of(&info.mark);
        let mut start =
            self.inner.disk().rebuild(&info.id, &mark, followed.wanted(info.revision))?;
        match &mut start {
            RebuildStart::Begun(rebuild) => {
                for (segment, _, page) in followed.hand_over() {
                    rebuild.add(&segment, &page)?;
                }
            }
            RebuildStart::Done => {
                self.inner.reload()?;
                followed.forget();
            }
            RebuildStart::Busy => {}
        }
        Ok(start)
    }

    /// Returns the pages that edits touched, and those that are judged by them.
    fn touched(&self, session: &SessionId, edits: &[FeedEntry]) -> BTreeSet<PageIndex> {
        let touched = edits.iter().flat_map(|edit| edit.touched().chain(&edit.purged));
        let mut touched: BTreeSet<PageIndex> = touched.cloned().collect();
        // A turn is as old as its first page. Where that is gone, its other pages stand for themselves; where it
        // is back, they do not.
        let made = |edit: &FeedEntry| edit.undoes.is_some();
        let firsts = edits.iter().flat_map(|edit| {
            let back = edit.put.iter().filter(move |_| made(edit)).map(|put| &put.index);
            edit.gone.iter().chain(&edit.purged).chain(back)
        });
        let firsts: BTreeSet<&PageIndex> = firsts.collect();
        if !firsts.is_empty() {
            touched.extend(self.others_of_turns(session, &firsts));
        }
        touched
    }

    /// Lets the worker write if too much waits in memory.
    async fn make_room(&self) -> Result<(), SearchError> {
        self.worker().changed();
        if self.is_over(2) {
            return self.worker().flush_in_turn().await;
        }
        if self.is_over(1) {
            self.worker().flush_soon();
        }
        Ok(())
    }

    /// Returns whether more waits in memory than so many times the limits.
    fn is_over(&self, times: usize) -> bool {
        let limits = self.inner.limits;
        let (documents, bytes) = self.inner.waiting();
        documents > limits.documents.saturating_mul(times)
            || bytes > limits.bytes.saturating_mul(times)
    }

    /// Writes to disk; where another process is writing, it is done later.
    async fn write_now(&self, scrub: Scrub) -> Result<(), SearchError> {
        match self.worker().flush(scrub).await {
            Err(SearchError::Busy) => Ok(()),
            written => written,
        }
    }
}

fn add(rebuild: &mut Rebuild, pages: Vec<ReadPage>) -> Result<(), SearchError> {
    pages.iter().try_for_each(|(index, page)| rebuild.add(index.segment(), page))
}
