//! The memory storage: tests, short runs, and the model every other storage is compared with.
//!
//! It clones in and out, so nobody can change what it holds but through a commit.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use super::{
    Capabilities, ChildQuery, Commit, Committed, HistoryQuery, NewSession, Order, PageStorage,
    ScanQuery, SessionInfo, StorageError, StorageResult,
};
use crate::{
    Actor, Assigned, Basis, Change, ChunkKey, Content, ContentHash, CustomKey, HistoryEntry,
    LevelChunk, Page, PageIndex, Place, Revision, Segment, SegmentId, SessionId, ViewId,
};

/// Keeps sessions in memory. Everything is gone with it.
#[derive(Debug, Default)]
pub struct MemoryStorage {
    state: Mutex<State>,
    is_snapshot: bool,
}

#[derive(Debug, Default, Clone)]
struct State {
    sessions: BTreeMap<SessionId, Session>,
    /// Contents with how many assignments refer to them.
    contents: BTreeMap<ContentHash, (Content, u64)>,
}

#[derive(Debug, Clone)]
struct Session {
    info: SessionInfo,
    segments: BTreeMap<SegmentId, Segment>,
    pages: BTreeMap<PageIndex, Page>,
    /// Every page with a parent, by parent and place.
    children: BTreeSet<(PageIndex, Place, PageIndex)>,
    levels: BTreeMap<ChunkKey, LevelChunk>,
    focus: BTreeMap<ViewId, PageIndex>,
    custom: BTreeMap<CustomKey, String>,
    history: BTreeMap<Revision, HistoryEntry>,
}

impl MemoryStorage {
    /// Makes an empty storage.
    pub fn new() -> Self {
        Self::default()
    }

    fn writable(&self) -> StorageResult<()> {
        if self.is_snapshot { Err(StorageError::snapshot("memory")) } else { Ok(()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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

impl Session {
    fn new(id: &SessionId, new: NewSession) -> Self {
        let info = SessionInfo {
            id: id.clone(),
            app: new.app,
            revision: Revision(0),
            next_place: Place(1),
            created_at: new.at,
            updated_at: new.at,
        };
        Self {
            info,
            segments: BTreeMap::new(),
            pages: BTreeMap::new(),
            children: BTreeSet::new(),
            levels: BTreeMap::new(),
            focus: BTreeMap::new(),
            custom: BTreeMap::new(),
            history: BTreeMap::new(),
        }
    }

    fn under(&self, parent: &PageIndex) -> impl DoubleEndedIterator<Item = &Page> {
        let nowhere: PageIndex = PageIndex::new(parent.segment().clone(), 0);
        let from = (parent.clone(), Place(0), nowhere.clone());
        let to = (parent.clone(), Place(u64::MAX), nowhere);
        self.children.range(from..to).filter_map(|(_, _, index)| self.pages.get(index))
    }

    /// Returns the listed pages that belong to turns of an author.
    fn turn_pages(&self, segment: &SegmentId, author: &Actor) -> impl Iterator<Item = &Page> {
        self.pages.values().filter(move |page| {
            page.turn.is_some()
                && page.standing.is_listed()
                && page.index.segment() == segment
                && page.author == *author
        })
    }

    fn check(&self, change: &Change) -> StorageResult<()> {
        let basis: &Basis = &change.basis;
        let moved = |subject: String| Err(StorageError::Conflict { subject });
        for (index, version) in &basis.pages {
            if self.pages.get(index).map(|page| page.version) != *version {
                return moved(format!("page {index}"));
            }
        }
        for (index, parent) in &basis.standing {
            let stands = |page: &Page| page.standing.is_listed() && page.parent == *parent;
            if !self.pages.get(index).is_some_and(stands) {
                return moved(format!("where page {index} stands"));
            }
        }
        for (id, version) in &basis.segments {
            if self.segments.get(id).map(|segment| segment.version) != *version {
                return moved(format!("segment {id}"));
            }
        }
        for (parent, last) in &basis.lists {
            if self.under(parent).next_back().map(|page| page.place) != *last {
                return moved(format!("the list of pages in {parent}"));
            }
        }
        for (view, page, entry) in &basis.levels {
            let chunk = self.levels.get(&ChunkKey::of(view, page));
            if chunk.map(|chunk| chunk.entry(page.number())).unwrap_or_default() != *entry {
                return moved(format!("the level of {page} in view {view}"));
            }
        }
        for (view, focus) in &basis.focus {
            if self.focus.get(view) != focus.as_ref() {
                return moved(format!("the focus of view {view}"));
            }
        }
        for (key, value) in &basis.custom {
            if self.custom.get(key) != value.as_ref() {
                return moved(format!("custom state '{key}'"));
            }
        }
        for mark in &change.marks {
            if self.history.get(&mark.revision).and_then(|entry| entry.undone_by) != mark.before {
                return moved(format!("revision {}", mark.revision));
            }
        }
        Ok(())
    }

    fn assign(&mut self, change: &Change) -> Assigned {
        let revision = self.info.revision.next();
        self.info.revision = revision;
        self.info.updated_at = change.at;
        let place = self.info.next_place;
        self.info.next_place = Place(place.0 + change.places.count);
        self.write_segments(change, revision);
        let mut numbers = Vec::with_capacity(change.numbers.len());
        for claim in &change.numbers {
            let segment = self.segments.get_mut(&claim.segment);
            let segment = segment.expect("a claim names a segment that was read or is being added");
            numbers.push(segment.next_number);
            segment.next_number += claim.count;
        }
        Assigned { revision, numbers, place }
    }

    /// Segments come first: claims may be on one that this very change adds.
    fn write_segments(&mut self, change: &Change, revision: Revision) {
        for delta in &change.segments {
            let mut after = Segment { revision, ..delta.after.clone() };
            if let Some(stored) = self.segments.get(&after.id) {
                after.next_number = stored.next_number;
            }
            self.segments.insert(after.id.clone(), after);
        }
        for (id, floor) in &change.floors {
            if let Some(segment) = self.segments.get_mut(id) {
                segment.next_number = segment.next_number.max(*floor);
            }
        }
    }

    fn write(&mut self, change: &Change) {
        for delta in &change.pages {
            self.put_page(&delta.index, delta.after.clone());
        }
        for delta in &change.levels {
            let key = ChunkKey::of(&delta.view, &delta.page);
            let chunk = self.levels.entry(key.clone()).or_default();
            chunk.set(delta.page.number(), delta.after);
            if chunk.is_empty() {
                self.levels.remove(&key);
            }
        }
        for delta in &change.focus {
            match &delta.after {
                Some(page) => self.focus.insert(delta.view.clone(), page.clone()),
                None => self.focus.remove(&delta.view),
            };
        }
        for delta in &change.custom {
            match &delta.after {
                Some(value) => self.custom.insert(delta.key.clone(), value.clone()),
                None => self.custom.remove(&delta.key),
            };
        }
    }

    fn put_page(&mut self, index: &PageIndex, after: Option<Page>) {
        let link = |page: &Page| {
            page.parent.clone().map(|parent| (parent, page.place, page.index.clone()))
        };
        if let Some(old) = self.pages.remove(index).as_ref().and_then(link) {
            self.children.remove(&old);
        }
        if let Some(page) = after {
            self.children.extend(link(&page));
            self.pages.insert(index.clone(), page);
        }
    }

    /// Follows each purged page through history and scrubs it; returns the content references freed.
    fn scrub(&mut self, change: &Change) -> Vec<ContentHash> {
        let mut freed = Vec::new();
        for delta in &change.pages {
            let mut next = delta.previous;
            while let Some(revision) = next {
                let Some(entry) = self.history.get_mut(&revision) else { break };
                let mut pages = entry.inverse.pages.iter_mut();
                let Some(before) = pages.find(|before| before.index == delta.index) else { break };
                next = before.previous;
                freed.extend(before.scrub());
            }
        }
        freed
    }
}

impl State {
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
        change.settle(&assigned);
        session.write(&change);
        let freed = if change.purge { session.scrub(&change) } else { Vec::new() };
        for mark in &change.marks {
            if let Some(entry) = session.history.get_mut(&mark.revision) {
                entry.mark(mark, assigned.revision);
            }
        }
        session.history.insert(assigned.revision, change.history_entry(assigned.revision));
        for hash in change.pages.iter().filter_map(crate::PageDelta::assigned_content) {
            if let Some((_, references)) = self.contents.get_mut(&hash) {
                *references += 1;
            } else if let Some(content) = change.contents.iter().find(|new| new.hash() == hash) {
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
        let Some(removed) = state.sessions.remove(session) else { return Ok(false) };
        let pages = removed.history.values().flat_map(|entry| &entry.inverse.pages);
        let hashes: Vec<ContentHash> = pages.filter_map(|before| before.assigned).collect();
        state.release(&hashes);
        Ok(true)
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        self.read(session, |session| {
            let mut segments: Vec<Segment> = session.segments.values().cloned().collect();
            segments.sort_by_key(|segment| segment.ordinal);
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
            session.turn_pages(segment, author).max_by_key(|page| page.place).cloned()
        })
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        self.read(session, |session| {
            let later = session.turn_pages(segment, author).filter(|page| page.place > after);
            later.min_by_key(|page| page.place).cloned()
        })
    }

    async fn contents(&self, hashes: &[ContentHash]) -> StorageResult<Vec<Option<Content>>> {
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

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<(ViewId, Option<PageIndex>)>> {
        self.read(session, |session| {
            let views: BTreeSet<&ViewId> =
                session.levels.keys().map(|key| &key.view).chain(session.focus.keys()).collect();
            let focus = |view: &ViewId| session.focus.get(view).cloned();
            views.into_iter().map(|view| (view.clone(), focus(view))).collect()
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
            let entries = session.history.values().rev().filter(|entry| {
                query.before.is_none_or(|before| entry.revision < before)
                    && query.after.is_none_or(|after| entry.revision > after)
                    && query.actor.as_ref().is_none_or(|actor| entry.actor == *actor)
                    && (!query.undoable || (entry.undoes.is_none() && entry.undone_by.is_none()))
            });
            entries.take(query.limit).cloned().collect()
        })
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.writable()?;
        self.lock().commit(session, commit)
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let state = Mutex::new(self.lock().clone());
        Ok(Arc::new(Self { state, is_snapshot: true }))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        let state = self.lock();
        let mut expected: BTreeMap<ContentHash, u64> = BTreeMap::new();
        for session in state.sessions.values() {
            let pages = session.history.values().flat_map(|entry| &entry.inverse.pages);
            for hash in pages.filter_map(|before| before.assigned) {
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
}
