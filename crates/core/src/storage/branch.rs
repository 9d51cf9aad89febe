//! A branch: the pages of a session as they stood at a moment, and a segment of its own.
//!
//! ```text
//!  revision  1 ─── 2 ─── 3 ─── 4 ─── 5 ─── 6      the session
//!                        │ point             
//!                        └──── a ─── b            the branch: what stood at 3, and its own segment
//! ```
//!
//! [`BranchStorage`] stands between a context system and the session's storage. Reads of inherited
//! segments answer what stood at the branch's point, whatever was edited since; reads and writes of the
//! branch's own segment and level state go through. Nothing is copied: a page that was not touched since
//! is the page that is stored, and what it was before each later edit stands in the history, which every
//! storage keeps. Only a purge reaches what is inherited, because it reaches the history too.

mod closed;
mod past;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use closed::ClosedExchanges;
use past::Past;

use super::{
    Capabilities, ChildQuery, ChunkKey, Commit, Committed, Content, ContentHash, CountKey,
    CustomKey, Hints, HistoryQuery, ImportPart, Keep, LedgerKey, LedgerQuery, LevelChunk, Order,
    PageStorage, Place, Quarantine, RunRecord, ScanQuery, SentWindow, SessionInfo, StandingFilter,
    StorageError, StorageResult, Trace, ViewHead, ViewId,
};
use crate::{
    Actor, HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId, Tokens,
};

/// How many rows are read at a time.
const BATCH: usize = 1_000;

/// Where a branch leaves its session, and what is its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchPoint {
    /// The inherited segments, in the order in which the parent showed them.
    pub inherited: Vec<Inherited>,
    /// The branch's own segment.
    pub segment: SegmentId,
    /// The first number of a page of its own there: other branches may have written before.
    pub first: u64,
    /// The first place of a page of its own.
    pub place: Place,
    /// The view of the branch's own level state.
    pub view: ViewId,
    /// The inherited pages that end with an open exchange: the branch shows it as interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<PageIndex>,
}

/// A segment that a branch inherits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inherited {
    /// The segment.
    pub segment: SegmentId,
    /// The last revision that shows.
    pub at: Revision,
    /// The first place that does not show.
    pub before: Place,
    /// The first number that shows, where the parent is a branch and this its own segment.
    #[serde(default)]
    pub first: u64,
}

impl BranchPoint {
    /// Returns what is inherited of a segment.
    pub(crate) fn inherited(&self, segment: &SegmentId) -> Option<&Inherited> {
        self.inherited.iter().find(|inherited| inherited.segment == *segment)
    }
}

/// A session's storage as a branch sees it.
pub(crate) struct BranchStorage {
    inner: Arc<dyn PageStorage>,
    point: Arc<BranchPoint>,
    /// What stood at each revision that something is inherited from.
    past: Arc<BTreeMap<Revision, Past>>,
    exchanges: Arc<ClosedExchanges>,
}

impl BranchStorage {
    /// Shows a session as a branch sees it.
    pub(crate) fn new(inner: Arc<dyn PageStorage>, point: BranchPoint) -> Self {
        let past = point.inherited.iter().map(|it| (it.at, Past::new(it.at))).collect();
        Self { inner, point: Arc::new(point), past: Arc::new(past), exchanges: Arc::default() }
    }

    fn past(&self, inherited: &Inherited) -> &Past {
        self.past.get(&inherited.at).expect("each revision that is inherited from has its past")
    }

    /// Returns an inherited page as it stood, given as it is now; an error where an edit must be looked
    /// at first.
    fn as_it_stood(
        &self,
        inherited: &Inherited,
        index: &PageIndex,
        now: Option<Page>,
    ) -> Result<Option<Page>, Revision> {
        let past = self.past(inherited);
        let changed = past.lock();
        let shown = |page: Option<Page>| {
            page.filter(|page| page.index.is_root() || page.index.number() >= inherited.first)
        };
        if let Some(stood) = changed.pages.get(index) {
            return Ok(shown(stood.clone()));
        }
        match now {
            Some(page) if page.revision <= past.at => Ok(shown(Some(page))),
            Some(page) if page.revision > changed.upto => Err(page.revision),
            // No edit that was looked at touched it: it was made by one of them and undone, or is a
            // page that a repair brought back.
            Some(_) => Ok(None),
            None => Ok(None),
        }
    }

    /// Returns pages of inherited segments as they stood, given as they are now.
    async fn stood(
        &self,
        session: &SessionId,
        inherited: &Inherited,
        index: &PageIndex,
        now: Option<Page>,
    ) -> StorageResult<Option<Page>> {
        let past = self.past(inherited);
        if now.is_none() && !past.lock().pages.contains_key(index) {
            past.cover_all(&*self.inner, session).await?;
        }
        let stood = match self.as_it_stood(inherited, index, now.clone()) {
            Ok(page) => page,
            Err(upto) => {
                past.cover(&*self.inner, session, upto).await?;
                self.as_it_stood(inherited, index, now).unwrap_or_default()
            }
        };
        match stood {
            Some(page) => self.exchanges.close(&*self.inner, session, page).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns inherited pages with their open exchanges closed.
    async fn closed(&self, session: &SessionId, pages: Vec<Page>) -> StorageResult<Vec<Page>> {
        let mut closed = Vec::with_capacity(pages.len());
        for page in pages {
            closed.push(self.exchanges.close(&*self.inner, session, page).await?);
        }
        Ok(closed)
    }

    /// Lists the pages that stood under an inherited directory.
    async fn children_as_they_stood(
        &self,
        session: &SessionId,
        inherited: &Inherited,
        query: &ChildQuery,
    ) -> StorageResult<Vec<Page>> {
        let past = self.past(inherited);
        let mut found: BTreeMap<Place, Page> = BTreeMap::new();
        let is_beyond = |place: Place| match (query.after, query.order) {
            (None, _) => true,
            (Some(after), Order::Forward) => place > after,
            (Some(after), Order::Backward) => place < after,
        };
        let wanted = |page: &Page| {
            is_beyond(page.place)
                && page.index.number() >= inherited.first
                && query.standing.admits(page)
        };
        // Of whatever standing: what was archived since stood in the tree.
        let mut now = ChildQuery { standing: StandingFilter::Any, limit: BATCH, ..query.clone() };
        if query.order == Order::Backward {
            let end = inherited.before;
            now.after = Some(now.after.map_or(end, |after| after.min(end)));
        }
        loop {
            let pages = self.inner.children(session, &now).await?;
            // What is read now was made by edits up to now.
            past.cover_all(&*self.inner, session).await?;
            let done = pages.len() < now.limit;
            let last = pages.last().map(|page| page.place);
            let stood = past.untouched(pages);
            found.extend(stood.filter(&wanted).map(|page| (page.place, page)));
            let ends =
                last.is_some_and(|last| query.order == Order::Forward && last >= inherited.before);
            if done || ends || found.len() >= query.limit {
                break;
            }
            now.after = last;
        }
        {
            let changed = past.lock();
            let below = changed.below.get(&query.parent).into_iter().flatten();
            for page in below.filter_map(|index| changed.pages.get(index)?.as_ref()) {
                if wanted(page) {
                    found.insert(page.place, page.clone());
                }
            }
        }
        let pages = found.into_values();
        let pages = match query.order {
            Order::Forward => pages.take(query.limit).collect(),
            Order::Backward => pages.rev().take(query.limit).collect(),
        };
        self.closed(session, pages).await
    }

    /// Returns the first page under an inherited root that passes, in order.
    async fn first_below(
        &self,
        session: &SessionId,
        mut query: ChildQuery,
        passes: impl Fn(&Page) -> bool + Send,
    ) -> StorageResult<Option<Page>> {
        query.limit = BATCH;
        loop {
            let pages = self.children(session, &query).await?;
            let (done, last) = (pages.len() < BATCH, pages.last().map(|page| page.place));
            if let Some(page) = pages.into_iter().find(|page| passes(page)) {
                return Ok(Some(page));
            }
            if done {
                return Ok(None);
            }
            query.after = last;
        }
    }

    /// Returns what the system side and other views said of inherited pages.
    async fn levels_as_they_stood(
        &self,
        session: &SessionId,
        inherited: &Inherited,
        key: &ChunkKey,
        mut chunk: LevelChunk,
    ) -> StorageResult<LevelChunk> {
        let past = self.past(inherited);
        past.cover_all(&*self.inner, session).await?;
        for ((view, page), entry) in &past.lock().levels {
            if ChunkKey::of(view, page) == *key {
                chunk.set(page.number(), entry.clone());
            }
        }
        Ok(chunk)
    }

    /// Tells whether a page is the branch's own.
    fn is_own(&self, page: &PageIndex) -> bool {
        *page.segment() == self.point.segment
            && (page.is_root() || page.number() >= self.point.first)
    }
}

#[async_trait]
impl PageStorage for BranchStorage {
    fn capabilities(&self) -> Capabilities {
        // The session goes on beside the branch, as if by another process.
        Capabilities { shared: true, ..self.inner.capabilities() }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        self.inner.sessions(after, limit).await
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.inner.session(session).await
    }

    async fn remove_session(&self, _: &SessionId) -> StorageResult<bool> {
        Err(StorageError::snapshot("branch"))
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        let mut segments = self.inner.segments(session).await?;
        for inherited in &self.point.inherited {
            let past = self.past(inherited);
            past.cover_all(&*self.inner, session).await?;
            let changed = past.lock();
            let Some(stood) = changed.segments.get(&inherited.segment) else { continue };
            match (stood, segments.iter_mut().find(|now| now.id == inherited.segment)) {
                (Some(stood), Some(now)) => {
                    let (next_number, touched) = (now.next_number, now.touched);
                    *now = Segment { next_number, touched, ..stood.clone() };
                }
                (Some(stood), None) => segments.push(stood.clone()),
                (None, _) => segments.retain(|now| now.id != inherited.segment),
            }
        }
        Ok(segments)
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        let now = self.inner.pages(session, indices).await?;
        let mut pages = Vec::with_capacity(now.len());
        for (index, now) in indices.iter().zip(now) {
            pages.push(match self.point.inherited(index.segment()) {
                Some(inherited) => self.stood(session, inherited, index, now).await?,
                None if *index.segment() == self.point.segment => {
                    now.filter(|_| self.is_own(index))
                }
                None => now,
            });
        }
        Ok(pages)
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        let segment = query.parent.segment();
        if let Some(inherited) = self.point.inherited(segment) {
            return self.children_as_they_stood(session, inherited, query).await;
        }
        if *segment != self.point.segment {
            return self.inner.children(session, query).await;
        }
        // What other branches wrote before has smaller places and numbers.
        let mut query = query.clone();
        let before = Place(self.point.place.0.saturating_sub(1));
        if query.order == Order::Forward {
            query.after = Some(query.after.map_or(before, |after| after.max(before)));
        }
        let mut pages = self.inner.children(session, &query).await?;
        pages.retain(|page| self.is_own(&page.index));
        Ok(pages)
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        let segment = parent.segment();
        if self.point.inherited(segment).is_none() && *segment != self.point.segment {
            return self.inner.child_count(session, parent).await;
        }
        let mut query = ChildQuery {
            parent: parent.clone(),
            standing: StandingFilter::Listed,
            order: Order::Forward,
            after: None,
            limit: BATCH,
        };
        let mut count = 0;
        loop {
            let pages = self.children(session, &query).await?;
            count += pages.len() as u64;
            match pages.last() {
                Some(last) if pages.len() == BATCH => query.after = Some(last.place),
                _ => return Ok(count),
            }
        }
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        if self.point.inherited(parent.segment()).is_none() {
            return self.inner.last_place(session, parent).await;
        }
        let query = ChildQuery {
            parent: parent.clone(),
            standing: StandingFilter::Any,
            order: Order::Backward,
            after: None,
            limit: 1,
        };
        Ok(self.children(session, &query).await?.first().map(|page| page.place))
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        let Some(inherited) = self.point.inherited(&query.segment) else {
            let mut query = query.clone();
            if query.segment == self.point.segment {
                let before = self.point.first.saturating_sub(1);
                query.after = Some(query.after.map_or(before, |after| after.max(before)));
            }
            return self.inner.scan(session, &query).await;
        };
        let past = self.past(inherited);
        let mut found: BTreeMap<u64, Page> = BTreeMap::new();
        let wanted = |page: &Page| {
            query.after.is_none_or(|after| page.index.number() > after)
                && (page.index.is_root() || page.index.number() >= inherited.first)
                && query.standing.admits(page)
        };
        let mut now = ScanQuery { standing: StandingFilter::Any, limit: BATCH, ..query.clone() };
        loop {
            let pages = self.inner.scan(session, &now).await?;
            past.cover_all(&*self.inner, session).await?;
            let (done, last) = (pages.len() < BATCH, pages.last().map(|it| it.index.number()));
            let stood = past.untouched(pages);
            found.extend(stood.filter(&wanted).map(|page| (page.index.number(), page)));
            if done || found.len() >= query.limit {
                break;
            }
            now.after = last;
        }
        for page in past.lock().pages.values().flatten() {
            if *page.index.segment() == query.segment && wanted(page) {
                found.insert(page.index.number(), page.clone());
            }
        }
        self.closed(session, found.into_values().take(query.limit).collect()).await
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        if self.point.inherited(segment).is_none() {
            let found = self.inner.last_turn_page(session, segment, author).await?;
            let is_own = |page: &Page| *segment != self.point.segment || self.is_own(&page.index);
            return Ok(found.filter(is_own));
        }
        let query = ChildQuery {
            parent: segment_root(segment),
            standing: StandingFilter::Listed,
            order: Order::Backward,
            after: None,
            limit: BATCH,
        };
        self.first_below(session, query, |page| page.turn.is_some() && page.author == *author).await
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        if self.point.inherited(segment).is_none() {
            return self.inner.next_turn_page(session, segment, author, after).await;
        }
        let query = ChildQuery {
            parent: segment_root(segment),
            standing: StandingFilter::Listed,
            order: Order::Forward,
            after: Some(after),
            limit: BATCH,
        };
        self.first_below(session, query, |page| page.turn.is_some() && page.author == *author).await
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let mut contents = self.inner.contents(session, hashes).await?;
        // Those that are closed here are known once their pages were read.
        if contents.iter().any(Option::is_none) && !self.point.open.is_empty() {
            self.pages(session, &self.point.open).await?;
            for (content, hash) in contents.iter_mut().zip(hashes) {
                if content.is_none() {
                    *content = self.exchanges.content(hash);
                }
            }
        }
        Ok(contents)
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        let now = self.inner.levels(session, keys).await?;
        let mut chunks = Vec::with_capacity(now.len());
        for (key, chunk) in keys.iter().zip(now) {
            chunks.push(match self.point.inherited(&key.segment) {
                Some(inherited) if key.view != self.point.view => {
                    self.levels_as_they_stood(session, inherited, key, chunk).await?
                }
                _ => chunk,
            });
        }
        Ok(chunks)
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        let mut keys: BTreeSet<ChunkKey> =
            self.inner.level_keys(session).await?.into_iter().collect();
        for past in self.past.values() {
            past.cover_all(&*self.inner, session).await?;
            keys.extend(past.lock().levels.keys().map(|(view, page)| ChunkKey::of(view, page)));
        }
        Ok(keys.into_iter().collect())
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        self.inner.views(session).await
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        self.inner.custom(session).await
    }

    fn watch(&self, session: &SessionId) -> Hints {
        self.inner.watch(session)
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        self.inner.history(session, query).await
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        self.inner.runs(session, prefix).await
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        self.inner.keep(session, keep).await
    }

    async fn commit(&self, session: &SessionId, mut commit: Commit) -> StorageResult<Committed> {
        if let Some(change) = &mut commit.change {
            // What is inherited does not move, so nothing that rests on it can be outdated.
            let own = |page: &PageIndex| self.point.inherited(page.segment()).is_none();
            let basis = &mut change.basis;
            basis.pages.retain(|(page, _)| own(page));
            basis.standing.retain(|(page, _)| own(page));
            basis.lists.retain(|(page, _)| own(page));
            basis.segments.retain(|(segment, _)| self.point.inherited(segment).is_none());
            basis.levels.retain(|(view, page, _)| *view == self.point.view || own(page));
        }
        self.inner.commit(session, commit).await
    }

    async fn import(&self, _: &SessionId, _: ImportPart) -> StorageResult<()> {
        Err(StorageError::snapshot("branch"))
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        self.inner.ledgers(session).await
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        self.inner.ledger(session, key, query).await
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        self.inner.record(session, key, sent).await
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        self.inner.counts(keys).await
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        self.inner.keep_counts(counts).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let (point, past) = (self.point.clone(), self.past.clone());
        let exchanges = self.exchanges.clone();
        Ok(Arc::new(Self { inner: self.inner.snapshot().await?, point, past, exchanges }))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        self.inner.verify().await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        Err(StorageError::snapshot("branch"))
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        self.inner.traces().await
    }

    async fn scrub(&self, _: Quarantine) -> StorageResult<Vec<Trace>> {
        Err(StorageError::snapshot("branch"))
    }
}

fn segment_root(segment: &SegmentId) -> PageIndex {
    PageIndex::new(segment.clone(), 0)
}
