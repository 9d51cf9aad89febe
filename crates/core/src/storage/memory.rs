//! The memory storage: tests, short runs, and the model every other storage is compared with.
//!
//! It clones in and out, so nobody can change what it holds but through a commit.

mod import;
mod ledgers;
mod session;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{
    Capabilities, ChildQuery, Commit, Committed, CountKey, HistoryQuery, ImportPart, Keep,
    LedgerQuery, Order, PageStorage, ScanQuery, SessionInfo, StorageError, StorageResult, ViewHead,
};
use import::Import;
use session::Session;

use crate::{
    Actor, HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId, Tokens,
    storage::{
        ChunkKey, Content, ContentHash, CustomKey, LedgerKey, LevelChunk, Place, RunRecord,
        SentWindow, ViewId,
    },
};

/// Keeps sessions in memory. Everything is gone with it.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    state: Mutex<StoredSessions>,
    is_snapshot: bool,
}

#[derive(Debug, Default, Clone)]
struct StoredSessions {
    sessions: BTreeMap<SessionId, Session>,
    /// Sessions being taken over, not whole yet.
    imports: BTreeMap<SessionId, Import>,
    /// Contents with how many assignments refer to them.
    contents: BTreeMap<ContentHash, (Content, u64)>,
    counts: BTreeMap<CountKey, Tokens>,
}

impl MemoryStorage {
    /// Makes an empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    fn writable(&self) -> StorageResult<()> {
        if self.is_snapshot { Err(StorageError::snapshot("memory")) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, StoredSessions> {
        // No code panics while holding the lock, so a poisoned one still guards whole commits.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T: Default>(
        &self,
        session: &SessionId,
        read: impl FnOnce(&Session) -> T,
    ) -> StorageResult<T> {
        Ok(self.lock().sessions.get(session).map(read).unwrap_or_default())
    }
}

impl StoredSessions {
    fn release(&mut self, hashes: &[ContentHash]) {
        for hash in hashes {
            if let Some((_, references)) = self.contents.get_mut(hash) {
                *references -= 1;
                if *references == 0 {
                    self.contents.remove(hash);
                }
            }
        }
    }

    fn commit(&mut self, id: &SessionId, commit: Commit) -> StorageResult<Committed> {
        match (commit.create, self.sessions.contains_key(id)) {
            (Some(_), true) => return Err(StorageError::SessionExists { session: id.clone() }),
            (None, false) => return Err(StorageError::SessionMissing { session: id.clone() }),
            (None, true) => {}
            (Some(new), false) => {
                let session = Session::new(id, new);
                if let Some(change) = &commit.change {
                    session.check(change)?;
                }
                self.sessions.insert(id.clone(), session);
            }
        }
        let session = self.sessions.get_mut(id).expect("it was there or was just made");
        let Some(mut change) = commit.change else {
            return Ok(Committed { revision: session.info.revision, change: None });
        };
        session.check(&change)?;
        // Nothing below can fail, so a commit is never half done.
        let assigned = session.assign(&change);
        change.assign(&assigned);
        session.write(&change);
        let freed = if change.purge { session.scrub(&change) } else { Vec::new() };
        for mark in &change.marks {
            if let Some(entry) = session.history.get_mut(&mark.revision) {
                entry.mark(mark, assigned.revision);
            }
        }
        session.history.insert(assigned.revision, change.history_entry(assigned.revision));
        let new: HashMap<ContentHash, &Content> =
            change.contents.iter().map(|content| (content.hash(), content)).collect();
        for hash in change.pages.iter().filter_map(crate::storage::PageDelta::assigned_content) {
            if let Some((_, references)) = self.contents.get_mut(&hash) {
                *references += 1;
            } else if let Some(&content) = new.get(&hash) {
                self.contents.insert(hash, (content.clone(), 1));
            }
        }
        self.release(&freed);
        Ok(Committed { revision: assigned.revision, change: Some(change) })
    }
}

#[async_trait]
impl PageStorage for MemoryStorage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "memory", durable: false, shared: false }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        let state = self.lock();
        let sessions = state.sessions.values().map(|session| session.info.clone());
        Ok(sessions.filter(|info| after.is_none_or(|after| info.id > *after)).take(limit).collect())
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.read(session, |session| Some(session.info.clone()))
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        self.writable()?;
        let mut state = self.lock();
        state.drop_import(session);
        let Some(removed) = state.sessions.remove(session) else { return Ok(false) };
        state.release(&removed.references());
        Ok(true)
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        self.read(session, |session| {
            let mut segments: Vec<Segment> = session.segments.values().cloned().collect();
            segments.sort_by(Segment::in_order);
            segments
        })
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        let state = self.lock();
        let pages = state.sessions.get(session).map(|session| &session.pages);
        Ok(indices.iter().map(|index| pages?.get(index).cloned()).collect())
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        self.read(session, |session| {
            let pages = session.under(&query.parent).filter(|page| query.standing.admits(page));
            match query.order {
                Order::Forward => pages
                    .filter(|page| query.after.is_none_or(|after| page.place > after))
                    .take(query.limit)
                    .cloned()
                    .collect(),
                Order::Backward => pages
                    .rev()
                    .filter(|page| query.after.is_none_or(|after| page.place < after))
                    .take(query.limit)
                    .cloned()
                    .collect(),
            }
        })
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        self.read(session, |session| {
            session.under(parent).filter(|page| page.standing.is_listed()).count() as u64
        })
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        self.read(session, |session| session.under(parent).next_back().map(|page| page.place))
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        self.read(session, |session| {
            let first = query.after.map_or(0, |after| after.saturating_add(1));
            let from = PageIndex::new(query.segment.clone(), first);
            session
                .pages
                .range(from..)
                .map(|(_, page)| page)
                .take_while(|page| *page.index.segment() == query.segment)
                .filter(|page| query.standing.admits(page))
                .take(query.limit)
                .cloned()
                .collect()
        })
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        self.read(session, |session| {
            session.turn_pages(segment, author, Place(0)).next_back().cloned()
        })
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        self.read(session, |session| session.turn_pages(segment, author, after).next().cloned())
    }

    async fn contents(
        &self,
        _: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let state = self.lock();
        Ok(hashes
            .iter()
            .map(|hash| state.contents.get(hash).map(|(content, _)| content.clone()))
            .collect())
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        let state = self.lock();
        let levels = state.sessions.get(session).map(|session| &session.levels);
        let chunk = |key| levels.and_then(|levels| levels.get(key).cloned()).unwrap_or_default();
        Ok(keys.iter().map(chunk).collect())
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        self.read(session, |session| session.levels.keys().cloned().collect())
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        self.read(session, |session| {
            let head = |(view, touched): (&ViewId, &Revision)| ViewHead {
                view: view.clone(),
                focus: session.focus.get(view).cloned(),
                touched: *touched,
            };
            session.views.iter().map(head).collect()
        })
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        self.read(session, |session| session.custom.clone().into_iter().collect())
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        self.read(session, |session| {
            let first = query.after.map_or(Revision(0), Revision::next);
            let entries = session.history.range(first..).map(|(_, entry)| entry);
            let entries = entries.filter(|entry| query.admits(entry));
            match query.order {
                Order::Forward => entries.take(query.limit).cloned().collect(),
                Order::Backward => entries.rev().take(query.limit).cloned().collect(),
            }
        })
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        self.read(session, |session| {
            let records = session.runs.values();
            records.filter(|record| record.key.as_str().starts_with(prefix)).cloned().collect()
        })
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        self.writable()?;
        match self.lock().sessions.get_mut(session) {
            Some(session) => {
                keep.runs.iter().try_for_each(|put| session.check_run(put))?;
                keep.runs.iter().for_each(|put| session.keep_run(put));
                Ok(keep.report.as_ref().is_none_or(|report| session.ledgers.report(report)))
            }
            None if keep.runs.is_empty() => Ok(keep.report.is_none()),
            None => Err(StorageError::SessionMissing { session: session.clone() }),
        }
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.writable()?;
        self.lock().commit(session, commit)
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        self.writable()?;
        self.lock().import(session, part)
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        self.read(session, |session| session.ledgers.keys())
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        self.read(session, |session| session.ledgers.read(key, query))
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        self.writable()?;
        match self.lock().sessions.get_mut(session) {
            Some(session) => session.ledgers.record(key, sent),
            None => Err(StorageError::SessionMissing { session: session.clone() }),
        }
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        let state = self.lock();
        Ok(keys.iter().map(|key| state.counts.get(key).copied()).collect())
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        self.writable()?;
        self.lock().counts.extend(counts.iter().copied());
        Ok(())
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let state = Mutex::new(self.lock().clone());
        Ok(Arc::new(Self { state, is_snapshot: true }))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        let state = self.lock();
        let mut expected: BTreeMap<ContentHash, u64> = BTreeMap::new();
        for session in
            state.sessions.values().chain(state.imports.values().map(|import| &import.session))
        {
            for hash in session.references() {
                *expected.entry(hash).or_default() += 1;
            }
        }
        let counted = state.contents.iter().map(|(hash, (_, references))| (*hash, *references));
        if counted.eq(expected) {
            Ok(Vec::new())
        } else {
            Ok(vec!["content references do not match history".to_owned()])
        }
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.writable()?;
        // Nothing here can be unreadable, and nothing is derived but what every commit keeps right.
        Ok(Vec::new())
    }
}
