//! The SQLite storage: one file, many readers, one writer that groups commits.
//!
//! ```text
//! commit ──► compress (caller's thread) ──► writer's thread ──► one transaction for all waiting
//! reads  ──► a connection of their own, on the caller's thread, or beside it where they may take
//!            long; they never wait for the writer
//! ```
//!
//! A commit that returned survives a power cut ([`Durability::PowerCut`]) and is seen by every read
//! that begins afterwards. Several processes may use one file at once. What is read is verified row by
//! row and page by page ([`contexture_vfs`]); the file as a whole only by [`PageStorage::verify`], so
//! opening stays cheap. Run records and windows sent are as durable as commits; token counts may be
//! lost in a power cut.

mod aside;
mod basis;
mod commit;
mod contents;
pub(crate) mod counts;
pub(crate) mod error;
mod heads;
pub(crate) mod history;
mod import;
pub(crate) mod ledger;
pub(crate) mod lookup;
#[cfg(feature = "files")]
pub(crate) mod memory;
pub(crate) mod open;
mod quarantine;
mod queue;
pub(crate) mod read;
pub(crate) mod readers;
mod remove;
mod repair;
pub(crate) mod rows;
pub(crate) mod runs;
mod salvage;
pub(crate) mod schema;
mod still;
mod sums;
mod tables;
mod tasks;
pub(crate) mod traces;
mod verify;
mod watch;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use contexture_core::{
    Actor, HistoryEntry, Page, PageIndex, PageStorage, Revision, Segment, SegmentId, SessionId,
    Tokens,
    storage::{
        Capabilities, ChildQuery, ChunkKey, Commit, Committed, Content, ContentHash, CountKey,
        CustomKey, Hints, HistoryQuery, ImportPart, Keep, LedgerKey, LedgerQuery, LevelChunk,
        Place, Quarantine, RunRecord, ScanQuery, SentWindow, SessionInfo, StorageError,
        StorageResult, Trace, ViewHead,
    },
};

use rusqlite::Connection;

use crate::{
    options::{CreateMode, Durability, Unwritable},
    packing::PackedContent,
    watch::Watch,
};
use aside::{Aside, NEAR};
use commit::CommitRequest;
use error::{Fault, FaultResult};
use import::Import;
use ledger::{Record, SentRow};
use readers::Readers;
use tasks::Keeping;
use writer::Writer;

/// Keeps sessions in a SQLite file.
#[derive(Debug)]
pub struct SqliteStorage {
    /// None for a snapshot, which never moves.
    watch: Option<Watch>,
    // Closed first, with what it reads.
    aside: Aside,
    // Closed before the writer: the last connection to go empties the log, which a reader may not.
    readers: Arc<Readers>,
    /// Or why there is none, where it is only read.
    writer: StorageResult<Writer>,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Whether a missing file is made.
    pub create: CreateMode,
    /// What happens where the file or its folder cannot be written.
    pub unwritable: Unwritable,
    /// What a commit survives.
    pub durability: Durability,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            create: CreateMode::default(),
            unwritable: Unwritable::default(),
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(10),
        }
    }
}

impl SqliteStorage {
    /// Opens a file, making it where `options` say so.
    ///
    /// What is not a Contexture database is left as it is; so is one that a later program wrote.
    pub fn open(path: &Path, options: SqliteOptions) -> StorageResult<Self> {
        let path = open::absolute(path)?;
        let with = |readers: Readers, writer| {
            let readers = Arc::new(readers);
            Self {
                watch: Some(watch::watch(readers.clone())),
                aside: Aside::default(),
                readers,
                writer,
            }
        };
        match open::writer(&path, &options) {
            Ok(db) => {
                let writer = Writer::start(db, &path, options.durability)?;
                Ok(with(Readers::new(path, options.busy_timeout), Ok(writer)))
            }
            Err(error @ StorageError::ReadOnly { .. })
                if options.unwritable == Unwritable::Read =>
            {
                open::check_readable(&path)?;
                Ok(with(Readers::still(path, options.busy_timeout), Err(error)))
            }
            Err(error) => Err(error),
        }
    }

    /// Saves what can be saved of a file whose structure is damaged, so that it can be opened and
    /// [repaired](PageStorage::repair); returns what was done, a sentence each.
    ///
    /// A file that is not damaged, or not there, is left alone. Nobody else may have a damaged one open.
    /// What cannot be read goes into the quarantine.
    pub fn salvage(path: &Path, options: SqliteOptions) -> StorageResult<Vec<String>> {
        let path = open::absolute(path)?;
        if !open::look(&path)? {
            return Ok(Vec::new());
        }
        salvage::salvage(&path, options.busy_timeout)
    }

    fn writer(&self) -> StorageResult<&Writer> {
        self.writer.as_ref().map_err(Clone::clone)
    }

    /// Makes a read of so many rows: beside the caller, if they are many.
    async fn read<T: Send + 'static>(
        &self,
        rows: usize,
        read: impl FnOnce(&Connection) -> FaultResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        match rows {
            0..=NEAR => self.readers.read(read),
            _ => self.aside.read(&self.readers, read).await,
        }
    }

    fn fault(&self, fault: Fault) -> StorageError {
        fault.at(self.path())
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        self.readers.path()
    }
}

#[async_trait]
impl PageStorage for SqliteStorage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "sqlite", durable: true, shared: true }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        let after = after.cloned();
        self.read(limit, move |db| read::sessions(db, after.as_ref(), limit)).await
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.readers.read(|db| read::session(db, session))
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        self.writer()?.remove(session.clone()).await
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        self.readers.read(|db| read::segments(db, session))
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        let (rows, session, indices) = (indices.len(), session.clone(), indices.to_vec());
        self.read(rows, move |db| read::pages(db, &session, &indices)).await
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        let (session, query) = (session.clone(), query.clone());
        self.read(query.limit, move |db| read::children(db, &session, &query)).await
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        self.readers.read(|db| read::child_count(db, session, parent))
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        self.readers.read(|db| read::last_place(db, session, parent))
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        let (session, query) = (session.clone(), query.clone());
        self.read(query.limit, move |db| read::scan(db, &session, &query)).await
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        self.readers.read(|db| read::last_turn_page(db, session, segment, author))
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        self.readers.read(|db| read::next_turn_page(db, session, segment, author, after))
    }

    async fn contents(
        &self,
        _: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let (rows, hashes) = (hashes.len(), hashes.to_vec());
        self.read(rows, move |db| read::contents(db, &hashes)).await
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        let (rows, session, keys) = (keys.len(), session.clone(), keys.to_vec());
        self.read(rows, move |db| read::levels(db, &session, &keys)).await
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        self.readers.read(|db| read::level_keys(db, session))
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        self.readers.read(|db| read::views(db, session))
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        self.readers.read(|db| read::custom(db, session))
    }

    fn watch(&self, session: &SessionId) -> Hints {
        self.watch.as_ref().map_or_else(Hints::never, |watch| watch.hints(session))
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        let (session, query) = (session.clone(), query.clone());
        self.read(query.limit, move |db| history::read(db, &session, &query)).await
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        self.readers.read(|db| runs::read(db, session, prefix))
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        let (session, keep) = (session.clone(), keep.clone());
        self.writer()?.keep(Keeping { session, keep, found: true }).await
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        let new = commit.change.iter().flat_map(|change| &change.contents);
        let contents = new.map(PackedContent::new).collect();
        let Commit { create, change } = commit;
        let (session, revision) = (session.clone(), Revision(0));
        self.writer()?.commit(CommitRequest { session, create, change, contents, revision }).await
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        let writer = self.writer()?;
        writer.import(Import::new(session, part)).await
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        let session = session.clone();
        self.aside.read(&self.readers, move |db| ledger::keys(db, &session)).await
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        let (session, key, query) = (session.clone(), key.clone(), *query);
        self.read(query.limit, move |db| ledger::read(db, &session, &key, &query)).await
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        let writer = self.writer()?;
        let row = SentRow::of(key, sent).map_err(|fault| self.fault(fault))?;
        writer.record(Record { session: session.clone(), key: key.clone(), row }).await
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        self.readers.read(|db| counts::read(db, keys))
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        let writer = self.writer()?;
        writer.keep_counts(counts::rows(counts).map_err(|fault| self.fault(fault))?).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let writer = Err(StorageError::snapshot(&self.path().display().to_string()));
        let readers = Arc::new(self.readers.snapshot()?);
        Ok(Arc::new(Self { watch: None, aside: Aside::default(), readers, writer }))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        self.aside.read(&self.readers, verify::problems).await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.writer()?.repair().await
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        let mut traces = traces::Due::of(self.path()).traces()?;
        if !self.readers.read(quarantine::is_empty)? {
            traces.push(Trace::quarantine(self.path().display()));
        }
        Ok(traces)
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        self.writer()?.scrub(quarantine).await
    }
}
