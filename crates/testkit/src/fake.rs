//! Storages that watch or hold back: they wrap a real one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
};

use async_trait::async_trait;
use contexture_core::{
    Actor, ChunkKey, Content, ContentHash, CountKey, CustomKey, HistoryEntry, LedgerKey,
    LevelChunk, Message, Page, PageIndex, PageStorage, Place, RunRecord, Segment, SegmentId,
    SentWindow, SessionId, Tokens, ViewHead,
    storage::{
        Capabilities, ChildQuery, Commit, Committed, HistoryQuery, ImportPart, Keep, LedgerQuery,
        Quarantine, ScanQuery, SessionInfo, StorageError, StorageResult, Trace,
    },
};
use futures::channel::oneshot;

/// Wraps a storage; counts what is asked of it, holds back or fails reads and commits when told to.
pub struct WatchedStorage {
    inner: Arc<dyn PageStorage>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// How often each method was called, however much was asked for.
    calls: Mutex<BTreeMap<&'static str, u64>>,
    /// How often each page was asked for by its index.
    page_counts: Mutex<BTreeMap<PageIndex, u64>>,
    /// The next read by this method is answered only when this fires.
    held_read: Mutex<Option<(&'static str, oneshot::Receiver<()>)>>,
    fails_reads: AtomicBool,
    imported: Mutex<Vec<ImportPart>>,
    /// The next commit is acknowledged only when this fires.
    held: Mutex<Option<oneshot::Receiver<()>>>,
    fails: AtomicBool,
    /// Whether contents are not found, in snapshots too.
    loses_contents: AtomicBool,
    /// The pages and segments that are not found any more, and where.
    lost: Mutex<Vec<Lost>>,
    /// How many writes are left before the process counts as dead.
    writes_left: AtomicI64,
    /// Whether the last write is still made, though nobody hears of it.
    last_is_made: AtomicBool,
}

/// How a process dies at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Death {
    /// Before the write is made.
    Before,
    /// After it was made and before anybody heard of it.
    After,
}

/// What a damaged storage does not find any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost {
    /// A page, wherever it is looked for.
    Page(PageIndex),
    /// A page in the lists of its directory; it is still found by its index.
    Listing(PageIndex),
    /// A segment. Its pages are still found.
    Segment(SegmentId),
    /// All that history says of a page.
    Edits(PageIndex),
}

impl WatchedStorage {
    /// Wraps a storage.
    pub fn new(inner: Arc<dyn PageStorage>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            counts: Mutex::default(),
            calls: Mutex::default(),
            page_counts: Mutex::default(),
            held_read: Mutex::default(),
            fails_reads: AtomicBool::new(false),
            imported: Mutex::default(),
            held: Mutex::default(),
            fails: AtomicBool::new(false),
            loses_contents: AtomicBool::new(false),
            lost: Mutex::default(),
            writes_left: AtomicI64::new(i64::MAX),
            last_is_made: AtomicBool::new(false),
        })
    }

    /// Returns how often a method was called since the last reset; for `pages`, `contents`, `levels`,
    /// `counts` and `keep_counts`, how many were asked for. `run_bytes` counts what run records took.
    pub fn count(&self, method: &str) -> u64 {
        lock(&self.counts).get(method).copied().unwrap_or(0)
    }

    /// Returns how often a method was called since the last reset, however much it was asked for.
    pub fn calls(&self, method: &str) -> u64 {
        lock(&self.calls).get(method).copied().unwrap_or(0)
    }

    /// Returns how often a page was asked for by its index since the last reset.
    pub fn count_of(&self, page: &PageIndex) -> u64 {
        lock(&self.page_counts).get(page).copied().unwrap_or(0)
    }

    /// Returns the parts of sessions that were to be taken over, in order.
    pub fn imported(&self) -> Vec<ImportPart> {
        lock(&self.imported).clone()
    }

    /// Begins to count anew.
    pub fn reset(&self) {
        lock(&self.counts).clear();
        lock(&self.calls).clear();
        lock(&self.page_counts).clear();
    }

    /// Holds back the answer to the next read by a method, `pages`, `contents` or `levels`, until the
    /// sender fires. What it answers is read at once.
    pub fn hold_next_read(&self, method: &'static str) -> oneshot::Sender<()> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.held_read) = Some((method, receiver));
        sender
    }

    /// Lets every read of pages, contents and levels fail from now on, or none.
    pub fn fail_reads(&self, fail: bool) {
        self.fails_reads.store(fail, Ordering::Relaxed);
    }

    /// Hands out the answer to a read: at once, later, or not at all.
    async fn answer<T>(&self, method: &'static str, answer: StorageResult<T>) -> StorageResult<T> {
        let held = lock(&self.held_read).take_if(|(held, _)| *held == method);
        if let Some((_, held)) = held {
            held.await.ok();
        }
        if self.fails_reads.load(Ordering::Relaxed) { Err(told_to_fail()) } else { answer }
    }

    /// Holds back the answer to the next commit, which is made at once, until the sender fires.
    pub fn hold_next_commit(&self) -> oneshot::Sender<()> {
        let (sender, receiver) = oneshot::channel();
        *lock(&self.held) = Some(receiver);
        sender
    }

    /// Lets every commit fail from now on, or none.
    pub fn fail_commits(&self, fail: bool) {
        self.fails.store(fail, Ordering::Relaxed);
    }

    /// Lets no content be found from now on, as if all were lost.
    pub fn lose_contents(&self) {
        self.loses_contents.store(true, Ordering::Relaxed);
    }

    /// Loses something from now on, as a damaged storage does: it is not found, and nobody says so.
    pub fn lose(&self, lost: Lost) {
        lock(&self.lost).push(lost);
    }

    fn has_lost(&self, lost: &Lost) -> bool {
        lock(&self.lost).contains(lost)
    }

    /// Lets the process die at its `number`-th write from now, counted from 1: that write and all
    /// that is asked afterwards fail, as seen from the process.
    pub fn die_at_write(&self, number: u32, death: Death) {
        self.last_is_made.store(death == Death::After, Ordering::Relaxed);
        self.writes_left.store(i64::from(number), Ordering::Relaxed);
    }

    /// Tells whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.writes_left.load(Ordering::Relaxed) <= 0
    }

    /// Counts a write; tells whether it is to be made and whether it is to be acknowledged.
    fn write(&self) -> (bool, bool) {
        match self.writes_left.fetch_sub(1, Ordering::Relaxed) {
            2.. => (true, true),
            1 => (self.last_is_made.load(Ordering::Relaxed), false),
            _ => (false, false),
        }
    }

    fn tally(&self, method: &'static str, by: usize) {
        *lock(&self.counts).entry(method).or_default() += by as u64;
        *lock(&self.calls).entry(method).or_default() += 1;
    }
}

fn dead() -> StorageError {
    let (what, reason) = ("the fake".to_owned(), "the process is dead".to_owned());
    StorageError::Unavailable { what, reason }
}

fn told_to_fail() -> StorageError {
    let (what, reason) = ("the fake".to_owned(), "it was told to fail".to_owned());
    StorageError::Unavailable { what, reason }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl PageStorage for WatchedStorage {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        self.tally("sessions", 1);
        self.inner.sessions(after, limit).await
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.tally("session", 1);
        self.inner.session(session).await
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        self.inner.remove_session(session).await
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        self.tally("segments", 1);
        let mut segments = self.inner.segments(session).await?;
        segments.retain(|segment| !self.has_lost(&Lost::Segment(segment.id.clone())));
        Ok(segments)
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        self.tally("pages", indices.len());
        for index in indices {
            *lock(&self.page_counts).entry(index.clone()).or_default() += 1;
        }
        let mut pages = self.inner.pages(session, indices).await;
        for page in pages.iter_mut().flatten() {
            page.take_if(|page| self.has_lost(&Lost::Page(page.index.clone())));
        }
        self.answer("pages", pages).await
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        self.tally("children", 1);
        let mut pages = self.inner.children(session, query).await?;
        pages.retain(|page| {
            let index = || page.index.clone();
            !self.has_lost(&Lost::Page(index())) && !self.has_lost(&Lost::Listing(index()))
        });
        Ok(pages)
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        self.tally("child_count", 1);
        self.inner.child_count(session, parent).await
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        self.tally("last_place", 1);
        self.inner.last_place(session, parent).await
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        self.tally("scan", 1);
        let mut pages = self.inner.scan(session, query).await?;
        pages.retain(|page| !self.has_lost(&Lost::Page(page.index.clone())));
        Ok(pages)
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        self.tally("last_turn_page", 1);
        self.inner.last_turn_page(session, segment, author).await
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        self.tally("next_turn_page", 1);
        self.inner.next_turn_page(session, segment, author, after).await
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        self.tally("contents", hashes.len());
        if self.loses_contents.load(Ordering::Relaxed) {
            return Ok(vec![None; hashes.len()]);
        }
        self.answer("contents", self.inner.contents(session, hashes).await).await
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        self.tally("levels", keys.len());
        self.answer("levels", self.inner.levels(session, keys).await).await
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        self.tally("level_keys", 1);
        self.inner.level_keys(session).await
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        self.tally("views", 1);
        self.inner.views(session).await
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        self.tally("custom", 1);
        self.inner.custom(session).await
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        self.tally("history", 1);
        let mut entries = self.inner.history(session, query).await?;
        entries.retain(|entry| {
            let mut pages = entry.inverse.pages.iter();
            !pages.any(|page| self.has_lost(&Lost::Edits(page.index.clone())))
        });
        Ok(entries)
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        self.tally("runs", 1);
        self.inner.runs(session, prefix).await
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        self.tally("keep", 1);
        let values = keep.runs.iter().filter_map(|put| put.value.as_ref());
        self.tally("run_bytes", values.map(String::len).sum());
        let (made, heard) = self.write();
        let found = if made { self.inner.keep(session, keep).await? } else { false };
        if heard { Ok(found) } else { Err(dead()) }
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.tally("commit", 1);
        let runs = commit.change.iter().flat_map(|change| &change.runs);
        self.tally("run_bytes", runs.filter_map(|put| Some(put.value.as_ref()?.len())).sum());
        if self.fails.load(Ordering::Relaxed) {
            return Err(told_to_fail());
        }
        let (made, heard) = self.write();
        if !made {
            return Err(dead());
        }
        let held = lock(&self.held).take();
        let committed = self.inner.commit(session, commit).await;
        if !heard {
            return Err(dead());
        }
        if let Some(held) = held {
            // A sender that was dropped lets go as well.
            held.await.ok();
        }
        committed
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        self.tally("import", 1);
        lock(&self.imported).push(part.clone());
        let (made, heard) = self.write();
        if made {
            self.inner.import(session, part).await?;
        }
        if heard { Ok(()) } else { Err(dead()) }
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        self.tally("ledgers", 1);
        self.inner.ledgers(session).await
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        self.tally("ledger", 1);
        self.inner.ledger(session, key, query).await
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        self.tally("record", 1);
        let (made, heard) = self.write();
        if made {
            self.inner.record(session, key, sent).await?;
        }
        if heard { Ok(()) } else { Err(dead()) }
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        self.tally("counts", keys.len());
        self.inner.counts(keys).await
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        self.tally("keep_counts", counts.len());
        self.inner.keep_counts(counts).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        self.tally("snapshot", 1);
        let snapshot = self.inner.snapshot().await?;
        if !self.loses_contents.load(Ordering::Relaxed) {
            return Ok(snapshot);
        }
        let snapshot = Self::new(snapshot);
        snapshot.lose_contents();
        Ok(snapshot)
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        self.inner.verify().await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.inner.repair().await
    }

    async fn unproven(
        &self,
        session: &SessionId,
        page: &Page,
    ) -> StorageResult<Option<Vec<Message>>> {
        self.inner.unproven(session, page).await
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        self.inner.traces().await
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        self.inner.scrub(quarantine).await
    }
}
