//! The PostgreSQL storage: any number of processes on one database.
//!
//! ```text
//! commit ──► compress (caller's thread) ──► queue of the session ──► one transaction for all waiting
//! reads  ──► any connection of the pool, one statement each
//! ```
//!
//! A commit that returned is as durable as the server makes its commits, and is seen by every read
//! that begins afterwards. A commit whose connection broke before the answer came is looked up: it
//! is answered as made or as not made, truthfully; only where that cannot be found out does the error say
//! that it may have been made. What is read is verified row by row; the tables as a whole only by
//! [`PageStorage::verify`], so opening stays cheap.
//!
//! The work is done on threads of its own, so the storage may be used under any executor.

/// Boxes values to be bound to a statement.
macro_rules! values {
    ($($value:expr),+ $(,)?) => {
        vec![$(Box::new($value) as Box<dyn tokio_postgres::types::ToSql + Sync + Send>),+]
    };
}

mod address;
mod batch;
mod counts;
mod error;
mod fate;
mod fetch;
mod group;
mod import;
mod known;
mod lists;
mod pool;
mod read;
mod remove;
mod repair;
mod rows;
mod schema;
mod scrub;
mod tables;
mod tasks;
mod tls;
mod verify;
mod watch;
mod writers;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

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
use deadpool_postgres::ClientWrapper;
use futures::future::BoxFuture;

use crate::{options::CreateMode, runtime, watch::Watch};
use address::Address;
use batch::StoredContent;
use error::FaultResult;
use pool::{Connections, Still};
use tasks::{CommitRequest, Task};
use writers::Writers;

/// Keeps sessions in a PostgreSQL database, or in one that speaks its language.
pub struct PostgresStorage {
    /// None for a snapshot, which never moves.
    watch: Option<Watch>,
    inner: Arc<Inner>,
    name: String,
    /// Whether something was purged or removed here that nobody has scrubbed yet.
    purged: Arc<AtomicBool>,
}

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Whether missing tables are made. The database itself must be there.
    pub create: CreateMode,
    /// How many connections this storage opens at most; each snapshot held takes one more.
    pub max_connections: usize,
    /// How long to wait for a connection, for a free one, and for an answer.
    pub timeout: Duration,
    /// How it learns of other processes' commits.
    pub following: Following,
}

/// How a storage learns of other processes' commits, while somebody follows sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Following {
    /// One connection listens (`LISTEN`). Where the server or a pooler does not let it, as `Look`.
    #[default]
    Listen,
    /// Revisions are looked at four times a second.
    Look,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            create: CreateMode::default(),
            max_connections: 10,
            timeout: Duration::from_secs(30),
            following: Following::default(),
        }
    }
}

/// What a storage reads from and writes through.
enum Inner {
    Live { connections: Arc<Connections>, writers: Arc<Writers> },
    Still(Arc<Still>),
}

impl Inner {
    async fn read<T>(
        &self,
        work: impl for<'a> Fn(&'a ClientWrapper) -> BoxFuture<'a, FaultResult<T>> + Send + Sync,
    ) -> StorageResult<T> {
        match self {
            Inner::Live { connections, .. } => connections.read(work).await,
            Inner::Still(still) => still.read(work).await,
        }
    }
}

impl PostgresStorage {
    /// Opens a database: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, with options behind a `?`.
    ///
    /// Its tables all begin with `contexture_` and are made where `options` say so; those of a later
    /// program are left as they are. `sslmode` means what it means to libpq: `disable`; `prefer` (the
    /// default) and `require` encrypt, but do not ask who the server is; `verify-ca` and `verify-full` do,
    /// by the authorities in the file `sslrootcert`, or those of the web without it.
    pub async fn open(url: &str, options: PostgresOptions) -> StorageResult<Self> {
        let address = Address::parse(url, options.timeout)?;
        let name = address.name.clone();
        let inner = runtime::run(&name, async move {
            let connections = Arc::new(Connections::new(&address, &options)?);
            let what = connections.what.as_str();
            let db = connections.take().await.map_err(|fault| fault.at(what))?;
            schema::ensure(&db, what, options.create).await?;
            connections.learn_schema(&db).await.map_err(|fault| fault.at(what))?;
            drop(db);
            let writers = Writers::new(connections.clone());
            Ok(Inner::Live { connections, writers })
        });
        let inner = inner.await?;
        let watch = match &inner {
            Inner::Live { connections, .. } => {
                Some(watch::watch(connections.clone(), options.following))
            }
            Inner::Still(_) => None,
        };
        Ok(Self { watch, inner: Arc::new(inner), name, purged: Arc::default() })
    }

    /// Tells how often a transaction was made again because of another one.
    pub fn retries(&self) -> u64 {
        match &*self.inner {
            Inner::Live { writers, .. } => writers.retries.load(Ordering::Relaxed),
            Inner::Still(_) => 0,
        }
    }

    /// Tells how many transactions were made; several commits may share one.
    pub fn transactions(&self) -> u64 {
        match &*self.inner {
            Inner::Live { writers, .. } => writers.transactions.load(Ordering::Relaxed),
            Inner::Still(_) => 0,
        }
    }

    fn live(&self) -> StorageResult<(Arc<Connections>, Arc<Writers>)> {
        match &*self.inner {
            Inner::Live { connections, writers } => Ok((connections.clone(), writers.clone())),
            Inner::Still(_) => Err(StorageError::snapshot(&self.name)),
        }
    }

    /// Has a task done with those that wait for the same session.
    async fn write<T: Send + 'static>(
        &self,
        session: &SessionId,
        task: impl FnOnce(tasks::Reply<T>) -> Task + Send + 'static,
    ) -> StorageResult<T> {
        let (_, writers) = self.live()?;
        let session = session.clone();
        runtime::run(&self.name, async move { writers.ask(&session, task).await }).await
    }
}

/// Shows where it is, without user and password.
impl std::fmt::Debug for PostgresStorage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStorage").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Asks on the storage's own threads. Arguments are cloned: a question may be asked twice.
macro_rules! ask {
    ($self:ident, $question:path $(, $argument:ident)*) => {{
        let inner = $self.inner.clone();
        let arguments = ($($argument.to_owned(),)*);
        runtime::run(&$self.name, async move {
            inner.read(|db| {
                #[allow(clippy::unused_unit, reason = "some questions take no arguments")]
                let ($($argument,)*) = arguments.clone();
                Box::pin(async move { $question(db $(, &$argument)*).await })
            }).await
        }).await
    }};
}

#[async_trait]
impl PageStorage for PostgresStorage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "postgres", durable: true, shared: true }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        let after = after.cloned();
        ask!(self, read::sessions, after, limit)
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        ask!(self, read::session, session)
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        let (connections, _) = self.live()?;
        let session = session.clone();
        let remove = async move { remove::session(&connections, &session).await };
        let removed = runtime::run(&self.name, remove).await?;
        self.purged.fetch_or(removed, Ordering::Relaxed);
        Ok(removed)
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        ask!(self, read::segments, session)
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        ask!(self, read::pages, session, indices)
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        ask!(self, lists::children, session, query)
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        ask!(self, lists::child_count, session, parent)
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        ask!(self, lists::last_place, session, parent)
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        ask!(self, lists::scan, session, query)
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        ask!(self, lists::last_turn_page, session, segment, author)
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        ask!(self, lists::next_turn_page, session, segment, author, after)
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        ask!(self, read::contents, session, hashes)
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        ask!(self, read::levels, session, keys)
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        ask!(self, read::level_keys, session)
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        ask!(self, read::views, session)
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        ask!(self, read::custom, session)
    }

    fn watch(&self, session: &SessionId) -> Hints {
        self.watch.as_ref().map_or_else(Hints::never, |watch| watch.hints(session))
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        ask!(self, read::history, session, query)
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        ask!(self, read::runs, session, prefix)
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        let keep = Box::new(keep.clone());
        self.write(session, |reply| Task::Keep(keep, reply)).await
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.live()?;
        // On the caller's thread: many callers compress at once.
        let new = commit.change.iter().flat_map(|change| &change.contents);
        let contents = new.map(StoredContent::of).collect();
        let purges = commit.change.as_ref().is_some_and(|change| change.purge);
        let request = Box::new(CommitRequest { commit, contents });
        let committed = self.write(session, |reply| Task::Commit(request, reply)).await?;
        self.purged.fetch_or(purges, Ordering::Relaxed);
        Ok(committed)
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        let (connections, _) = self.live()?;
        let session = session.clone();
        let work = async move { import::part(&connections, &session, part).await };
        let replaced = runtime::run(&self.name, work).await?;
        self.purged.fetch_or(replaced, Ordering::Relaxed);
        Ok(())
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        ask!(self, read::ledgers, session)
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        ask!(self, read::ledger, session, key, query)
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        let (key, sent) = (key.clone(), Box::new(sent.clone()));
        self.write(session, |reply| Task::Record(key, sent, reply)).await
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        ask!(self, read::counts, keys)
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        let (connections, _) = self.live()?;
        let counts = counts.to_vec();
        runtime::run(&self.name, async move { counts::keep(&connections, counts).await }).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let inner = match &*self.inner {
            Inner::Still(still) => Inner::Still(still.clone()),
            Inner::Live { connections, .. } => {
                let connections = connections.clone();
                let still = runtime::run(&self.name, async move {
                    let still = Still::new(&connections).await;
                    still.map_err(|fault| fault.at(&connections.what))
                });
                Inner::Still(still.await?)
            }
        };
        let (name, purged) = (self.name.clone(), self.purged.clone());
        Ok(Arc::new(Self { watch: None, inner: Arc::new(inner), name, purged }))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        // As it stands at one moment, and for as long as it takes.
        let still = match &*self.inner {
            Inner::Still(still) => Ok(still.clone()),
            Inner::Live { connections, .. } => Err(connections.clone()),
        };
        runtime::run(&self.name, async move {
            let still = match still {
                Ok(still) => still,
                Err(connections) => {
                    let still = Still::new(&connections).await;
                    still.map_err(|fault| fault.at(&connections.what))?
                }
            };
            still.read(|db| Box::pin(verify::problems(db))).await
        })
        .await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        let (connections, _) = self.live()?;
        runtime::run(&self.name, async move { repair::run(&connections).await }).await
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        let purged = self.purged.load(Ordering::Relaxed);
        let mut traces: Vec<Trace> =
            purged.then(|| scrub::after_purge(&self.name)).into_iter().collect();
        if !ask!(self, read::is_quarantine_empty)? {
            traces.push(Trace::quarantine(&self.name));
        }
        Ok(traces)
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        let (connections, _) = self.live()?;
        let run = async move { scrub::run(&connections, quarantine).await };
        let mut traces = runtime::run(&self.name, run).await?;
        self.purged.store(!traces.is_empty(), Ordering::Relaxed);
        if !ask!(self, read::is_quarantine_empty)? {
            traces.push(Trace::quarantine(&self.name));
        }
        Ok(traces)
    }
}
