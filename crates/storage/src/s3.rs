//! Sessions in a bucket of any S3-compatible server, shared by any number of processes.
//!
//! ```text
//!            ┌ newest records, inline
//! root ──────┼ deltas: records of a while, sorted ─────┐
//! (replaced  └ manifest ─► levels of sorted chunks     ├ never changed once written
//!  if it still           └ packs of contents ──────────┘
//!  is the one read)
//! ```
//!
//! A session is one ordered space of keys (`keys.rs`). A commit lays its records over what is there
//! and replaces the session's root, which is one request while they are few; when they are many they
//! move on into a delta, and deltas into chunks (`compact.rs`). Readers look at the root anew before
//! each read and see whatever was committed anywhere; all else they read is immutable, so what they
//! remember is never stale.

mod cache;
mod collect;
mod compact;
mod cursor;
mod fault;
mod frame;
mod import;
mod keys;
mod manifest;
mod objects;
mod open;
mod options;
mod packs;
mod purge;
mod read;
mod records;
mod repair;
mod root;
mod scrub;
mod session;
mod snapshot;
mod stage;
mod table;
mod verify;
mod view;
mod watch;
mod writer;

#[cfg(test)]
mod tests;

use std::{fmt, future::Future, sync::Arc};

use async_trait::async_trait;
use contexture_core::{
    Actor, HistoryEntry, Page, PageIndex, PageStorage, Segment, SegmentId, SessionId, Tokens,
    storage::{
        Capabilities, ChildQuery, ChunkKey, Commit, Committed, Content, ContentHash, CountKey,
        CustomKey, Hints, HistoryQuery, ImportPart, Keep, LedgerKey, LedgerQuery, LevelChunk,
        Place, Quarantine, RunRecord, ScanQuery, SentWindow, SessionInfo, StorageError,
        StorageResult, Trace, ViewHead,
    },
};
use futures::FutureExt;
use object_store::ObjectStore;

use crate::{packing::PackedContent, runtime, watch::Watch};
use fault::{FaultResult, storage_result};
use objects::{Home, Objects, at_once};
use session::{Inner, lock};
use snapshot::Frozen;
use view::View;
use writer::{Answer, WriteRequest};

pub use options::{S3Options, Tuning as S3Tuning};

/// Keeps sessions in a bucket.
pub struct S3Storage {
    /// None for a snapshot, which never moves.
    watch: Option<Watch>,
    inner: Arc<Inner>,
    /// What it shows, where it is a snapshot.
    frozen: Option<Arc<Frozen>>,
}

impl fmt::Debug for S3Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("S3Storage").field("name", &self.inner.objects.name).finish_non_exhaustive()
    }
}

impl S3Storage {
    /// Opens `s3://bucket/prefix`.
    pub async fn open(url: &str, options: S3Options) -> StorageResult<Self> {
        let address = options::Address::parse(url)?;
        let name = address.to_string();
        runtime::run(&name.clone(), async move {
            let store = open::connect(&address, &options)?;
            Self::with_store(store, &address.prefix, name, options).await
        })
        .await
    }

    /// Opens a prefix of an object store that the caller is connected to, whatever service that is. It
    /// must refuse a conditional write whose condition does not hold.
    pub async fn on(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        options: S3Options,
    ) -> StorageResult<Self> {
        let (name, prefix) = (format!("{store}/{prefix}"), prefix.to_owned());
        runtime::run(
            &name.clone(),
            async move { Self::with_store(store, &prefix, name, options).await },
        )
        .await
    }

    /// Opens a prefix of an object store. To be called on the runtime's threads.
    async fn with_store(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        name: String,
        options: S3Options,
    ) -> StorageResult<Self> {
        let objects = Arc::new(Objects::new(store, prefix, name, options.tuning));
        storage_result(open::prepare(&objects, options.create).await)?;
        let inner = Arc::new(Inner::new(objects));
        Ok(Self { watch: Some(watch::watch(inner.clone())), inner, frozen: None })
    }

    fn writable(&self) -> StorageResult<()> {
        if self.frozen.is_some() { Err(StorageError::snapshot("s3")) } else { Ok(()) }
    }

    /// Does some work on the runtime's threads.
    async fn run<T, Fut>(
        &self,
        work: impl FnOnce(Arc<Inner>, Option<Arc<Frozen>>) -> Fut,
    ) -> StorageResult<T>
    where
        T: Send + 'static,
        Fut: Future<Output = FaultResult<T>> + Send + 'static,
    {
        let work = work(self.inner.clone(), self.frozen.clone());
        runtime::run(&self.inner.objects.name, async move { storage_result(work.await) }).await
    }

    /// Reads from a session as it is now, or as this snapshot has it; none where there is none.
    async fn read<T, F, Fut>(&self, session: &SessionId, read: F) -> StorageResult<Option<T>>
    where
        T: Send + 'static,
        F: Fn(Arc<View>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = FaultResult<T>> + Send + 'static,
    {
        let session = session.clone();
        self.run(|inner, frozen| async move {
            let Some(frozen) = frozen else { return inner.read(&session, read).await };
            let Some(view) = inner.frozen(&frozen, &session).await? else { return Ok(None) };
            let outcome = read(view).await;
            outcome.map(Some).map_err(|fault| snapshot::taken(fault, &inner.objects.name))
        })
        .await
    }

    async fn write(&self, session: &SessionId, request: WriteRequest) -> StorageResult<Answer> {
        self.writable()?;
        let session = session.clone();
        let inner = self.inner.clone();
        runtime::run(&self.inner.objects.name, async move {
            inner.write(&inner.session(&session), request).await
        })
        .await
    }
}

/// Returns the heads of the sessions named that are there, up to a limit.
async fn heads(
    inner: &Inner,
    frozen: Option<&Frozen>,
    names: Vec<SessionId>,
    limit: usize,
) -> FaultResult<Vec<SessionInfo>> {
    let head = |name: SessionId| async move {
        let root = match frozen {
            Some(frozen) => inner.frozen(frozen, &name).await?.map(|view| view.root.clone()),
            None => inner.view(&name).await?.map(|view| view.root),
        };
        root.map_or(Ok(None), |root| root.info())
    };
    let mut heads = Vec::new();
    let mut names = names.into_iter().peekable();
    // Those being taken over have no head, so there may be more to read than the limit.
    while heads.len() < limit && names.peek().is_some() {
        let piece = names.by_ref().take((limit - heads.len()).min(1_000));
        let read = at_once(piece.map(|name| head(name).boxed()).collect()).await?;
        heads.extend(read.into_iter().flatten());
    }
    Ok(heads)
}

#[async_trait]
impl PageStorage for S3Storage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "s3", durable: true, shared: true }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        let after = after.cloned();
        self.run(|inner, frozen| async move {
            let mut names = match &frozen {
                Some(frozen) => inner.frozen_names(frozen).await?,
                None => inner.names().await?,
            };
            names.retain(|name| after.as_ref().is_none_or(|after| name > after));
            heads(&inner, frozen.as_deref(), names, limit).await
        })
        .await
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        let info = self.read(session, |view| async move { view.root.info() });
        Ok(info.await?.flatten())
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        self.writable()?;
        let session = session.clone();
        self.run(|inner, _| async move {
            let shared = inner.session(&session);
            let _turn = shared.queue.turn().await;
            inner.imports.lock().await.remove(&session);
            let Some(known) = inner.fresh(&shared).await? else { return Ok(false) };
            let before = inner.view_of(&session, &known);
            inner.objects.delete(vec![inner.objects.root_path(&session)]).await?;
            shared.forget();
            inner.hand_to_snapshots(&shared, before.as_ref());
            // The session is gone; what it held follows, now or when it is collected.
            inner.delete_folder(&Home::new(&inner.objects, &session, &known.root)).await?;
            Ok(before.is_some())
        })
        .await
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        let read = self.read(session, |view| async move { view.segments().await });
        Ok(read.await?.unwrap_or_default())
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        let wanted: Arc<[PageIndex]> = indices.into();
        let read = self.read(session, move |view| {
            let wanted = wanted.clone();
            async move { view.pages(&wanted).await }
        });
        Ok(read.await?.unwrap_or_else(|| vec![None; indices.len()]))
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        let query = query.clone();
        let read = self.read(session, move |view| {
            let query = query.clone();
            async move { view.children(&query).await }
        });
        Ok(read.await?.unwrap_or_default())
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        let parent = parent.clone();
        let read = self.read(session, move |view| {
            let parent = parent.clone();
            async move { view.child_count(&parent).await }
        });
        Ok(read.await?.unwrap_or_default())
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        let parent = parent.clone();
        let read = self.read(session, move |view| {
            let parent = parent.clone();
            async move { view.last_place(&parent).await }
        });
        Ok(read.await?.flatten())
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        let query = query.clone();
        let read = self.read(session, move |view| {
            let query = query.clone();
            async move { view.scan(&query).await }
        });
        Ok(read.await?.unwrap_or_default())
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        let (segment, author) = (segment.clone(), author.clone());
        let read = self.read(session, move |view| {
            let (segment, author) = (segment.clone(), author.clone());
            async move { view.turn_page(&segment, &author, None).await }
        });
        Ok(read.await?.flatten())
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        let (segment, author) = (segment.clone(), author.clone());
        let read = self.read(session, move |view| {
            let (segment, author) = (segment.clone(), author.clone());
            async move { view.turn_page(&segment, &author, Some(after)).await }
        });
        Ok(read.await?.flatten())
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let wanted: Arc<[ContentHash]> = hashes.into();
        let read = self.read(session, move |view| {
            let wanted = wanted.clone();
            async move { view.contents(&wanted).await }
        });
        Ok(read.await?.unwrap_or_else(|| vec![None; hashes.len()]))
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        let wanted: Arc<[ChunkKey]> = keys.into();
        let read = self.read(session, move |view| {
            let wanted = wanted.clone();
            async move { view.levels(&wanted).await }
        });
        Ok(read.await?.unwrap_or_else(|| vec![LevelChunk::default(); keys.len()]))
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        let read = self.read(session, |view| async move { view.level_keys().await });
        Ok(read.await?.unwrap_or_default())
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        let read = self.read(session, |view| async move { view.views().await });
        Ok(read.await?.unwrap_or_default())
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        let read = self.read(session, |view| async move { view.custom().await });
        Ok(read.await?.unwrap_or_default())
    }

    fn watch(&self, session: &SessionId) -> Hints {
        self.watch.as_ref().map_or_else(Hints::never, |watch| watch.hints(session))
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        let query = query.clone();
        let read = self.read(session, move |view| {
            let query = query.clone();
            async move { view.history(&query).await }
        });
        Ok(read.await?.unwrap_or_default())
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        let prefix: Arc<str> = prefix.into();
        let read = self.read(session, move |view| {
            let prefix = prefix.clone();
            async move { view.runs(&prefix).await }
        });
        Ok(read.await?.unwrap_or_default())
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        let answer = self.write(session, WriteRequest::Keep(Box::new(keep.clone())));
        Ok(matches!(answer.await?, Answer::Found(true)))
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.writable()?;
        let contents = commit.change.iter().flat_map(|change| &change.contents);
        let contents = contents.map(PackedContent::new).collect();
        let commit = Box::new(commit);
        match self.write(session, WriteRequest::Commit { commit, contents }).await? {
            Answer::Committed(committed) => Ok(*committed),
            Answer::Kept | Answer::Found(_) => unreachable!("a commit is answered with one"),
        }
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        self.writable()?;
        let session = session.clone();
        self.run(|inner, _| async move { inner.import(&session, part).await }).await
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        let read = self.read(session, |view| async move { view.ledgers().await });
        Ok(read.await?.unwrap_or_default())
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        let (key, query) = (key.clone(), *query);
        let read = self.read(session, move |view| {
            let key = key.clone();
            async move { view.ledger(&key, &query).await }
        });
        Ok(read.await?.unwrap_or_default())
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        self.write(session, WriteRequest::Record(key.clone(), Box::new(sent.clone())))
            .await
            .map(|_| ())
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        let time = self.frozen.as_ref().map(|frozen| frozen.counts);
        Ok(lock(&self.inner.counts).read(keys, time))
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        self.writable()?;
        lock(&self.inner.counts).keep(counts);
        Ok(())
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let frozen = self.frozen.clone().unwrap_or_else(|| self.inner.freeze());
        Ok(Arc::new(Self { watch: None, inner: self.inner.clone(), frozen: Some(frozen) }))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        self.run(|inner, frozen| async move { inner.verify(frozen.as_deref()).await }).await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.writable()?;
        self.run(|inner, _| async move { inner.repair().await }).await
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        self.run(|inner, _| async move { inner.traces().await }).await
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        self.writable()?;
        self.run(move |inner, _| async move { inner.scrub(quarantine).await }).await
    }
}
