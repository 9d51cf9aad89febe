//! A storage that fails, is slow, or loses its connection when told to: it wraps a real one.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use contexture_core::{
    Actor, HistoryEntry, Message, Page, PageIndex, PageStorage, Segment, SegmentId, SessionId,
    Tokens,
    storage::{
        Capabilities, ChildQuery, ChunkKey, Commit, Committed, Content, ContentHash, CountKey,
        CustomKey, Hints, HistoryQuery, ImportPart, Keep, LedgerKey, LedgerQuery, LevelChunk,
        Place, Quarantine, RunRecord, ScanQuery, SentWindow, SessionInfo, StorageError,
        StorageResult, Trace, ViewHead,
    },
};

/// What happens to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It fails and is not made.
    Before,
    /// It is made, and its answer is an error.
    After,
    /// It is made late, and answered later.
    Delay,
    /// The connection is cut before it is made.
    CutBefore,
    /// It is made, and the connection is cut before the answer comes.
    CutAfter,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] =
        [Fault::Before, Fault::After, Fault::Delay, Fault::CutBefore, Fault::CutAfter];
}

/// Wraps a storage; lets a write go wrong when told to.
///
/// Token counts are no writes here: they are derived, and a storage may forget them.
///
/// While nothing is written it can be told to read from a snapshot: what many questions in a row ask
/// for is then not asked of a server each time.
pub struct FaultyStorage {
    inner: Arc<dyn PageStorage>,
    state: Mutex<FaultState>,
}

#[derive(Default)]
struct FaultState {
    /// What strikes, and after how many more writes.
    armed: Option<(Fault, u64)>,
    is_cut: bool,
    writes: u64,
    /// What is read from instead.
    still: Option<Arc<dyn PageStorage>>,
}

impl FaultyStorage {
    /// Wraps a storage.
    pub fn new(inner: Arc<dyn PageStorage>) -> Arc<Self> {
        Arc::new(Self { inner, state: Mutex::default() })
    }

    /// Lets a fault strike once, at the `number`-th write from now, counted from 1.
    pub fn arm(&self, fault: Fault, number: u64) {
        self.state().armed = Some((fault, number));
    }

    /// Tells whether a fault is still to strike.
    pub fn is_armed(&self) -> bool {
        self.state().armed.is_some()
    }

    /// Lets the cut connection work again.
    pub fn mend(&self) {
        self.state().is_cut = false;
    }

    /// Returns how many writes were asked for.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// Reads from a snapshot until told otherwise. Nothing may be written meanwhile.
    pub fn read_from(&self, still: Option<Arc<dyn PageStorage>>) {
        self.state().still = still;
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses while the connection is cut.
    fn reach(&self) -> StorageResult<()> {
        if self.state().is_cut { Err(unavailable("the connection is cut")) } else { Ok(()) }
    }

    /// Returns what is read from.
    fn source(&self) -> StorageResult<Arc<dyn PageStorage>> {
        self.reach()?;
        Ok(self.state().still.clone().unwrap_or_else(|| self.inner.clone()))
    }

    /// Counts a write; returns what strikes it.
    fn strike(&self) -> Option<Fault> {
        let mut state = self.state();
        assert!(state.still.is_none(), "a write while all is read from a snapshot");
        state.writes += 1;
        let (fault, number) = state.armed?;
        state.armed = (number > 1).then(|| (fault, number - 1));
        (number <= 1).then_some(fault)
    }

    async fn write<T>(
        &self,
        write: impl Future<Output = StorageResult<T>> + Send,
    ) -> StorageResult<T> {
        self.reach()?;
        match self.strike() {
            None => write.await,
            Some(Fault::Before) => Err(unavailable("the write failed")),
            Some(Fault::After) => {
                write.await?;
                Err(unavailable("the answer was lost"))
            }
            Some(Fault::Delay) => {
                late().await;
                let answer = write.await;
                late().await;
                answer
            }
            Some(Fault::CutBefore) => {
                self.state().is_cut = true;
                Err(unavailable("the connection was cut"))
            }
            Some(Fault::CutAfter) => {
                write.await?;
                self.state().is_cut = true;
                Err(unavailable("the connection was cut before the answer came"))
            }
        }
    }
}

fn unavailable(reason: &str) -> StorageError {
    StorageError::Unavailable { what: "the faulty storage".to_owned(), reason: reason.to_owned() }
}

/// Lets others have their turn a few times.
async fn late() {
    for _ in 0..4 {
        step_aside().await;
    }
}

/// Lets others have their turn once.
pub(crate) async fn step_aside() {
    let mut was = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut was, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[async_trait]
impl PageStorage for FaultyStorage {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        self.source()?.sessions(after, limit).await
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.source()?.session(session).await
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        self.write(self.inner.remove_session(session)).await
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        self.source()?.segments(session).await
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        self.source()?.pages(session, indices).await
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        self.source()?.children(session, query).await
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        self.source()?.child_count(session, parent).await
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        self.source()?.last_place(session, parent).await
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        self.source()?.scan(session, query).await
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        self.source()?.last_turn_page(session, segment, author).await
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        self.source()?.next_turn_page(session, segment, author, after).await
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        self.source()?.contents(session, hashes).await
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        self.source()?.levels(session, keys).await
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        self.source()?.level_keys(session).await
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        self.source()?.views(session).await
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        self.source()?.custom(session).await
    }

    fn watch(&self, session: &SessionId) -> Hints {
        self.inner.watch(session)
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        self.source()?.history(session, query).await
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        self.source()?.runs(session, prefix).await
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        self.write(self.inner.keep(session, keep)).await
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.write(self.inner.commit(session, commit)).await
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        self.write(self.inner.import(session, part)).await
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        self.source()?.ledgers(session).await
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        self.source()?.ledger(session, key, query).await
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        self.write(self.inner.record(session, key, sent)).await
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        self.reach()?;
        self.inner.counts(keys).await
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        self.reach()?;
        self.inner.keep_counts(counts).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        self.reach()?;
        self.inner.snapshot().await
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        self.reach()?;
        self.inner.verify().await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.write(self.inner.repair()).await
    }

    async fn unproven(
        &self,
        session: &SessionId,
        page: &Page,
    ) -> StorageResult<Option<Vec<Message>>> {
        self.reach()?;
        self.inner.unproven(session, page).await
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        self.inner.traces().await
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        self.inner.scrub(quarantine).await
    }
}
