//! The files storage: a folder of JSON files, for people who read and version their context with git.
//!
//! ```text
//! DIR/contexture.json                  whose folder it is
//! DIR/sessions/NAME/session.json       the head; segments, pages, history … beside it
//! DIR/.local/                          lock, journal, index, quarantine: derived, not for git
//!
//! commit ──► writer's thread ──► journal (the commit point) ──► index ──► files in place
//! reads  ──► the index, and a look at each file it relies on
//! ```
//!
//! The files are the truth. A page's file holds its words, so that a diff shows what was said. The
//! index is a SQLite file made from them; when it is missing or damaged it is made again, and when git
//! has checked out another state, what changed is read again. Several processes may use one folder at
//! once. Every file carries a checksum, and no symlink is followed.

mod batch;
mod commit;
mod folder;
mod fresh;
mod identity;
mod import;
mod index;
mod journal;
mod layout;
mod names;
mod overlay;
mod place;
mod reading;
mod record;
mod repair;
mod store;
mod sync;
mod tally;
mod verify;
mod watch;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

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
use rusqlite::Connection;

use crate::{
    options::{CreateMode, Durability, Unwritable},
    sqlite::{
        counts, history, ledger, memory, read,
        readers::Readers,
        runs,
        traces::{Due, Reach},
    },
    watch::Watch,
};
use folder::Folder;
use index::{FilesFault, FilesFaultResult};
use names::Spot;
use reading::Reading;
use store::{Shared, Store};
use writer::Writer;

/// Keeps sessions in a folder of files.
#[derive(Debug)]
pub struct FilesStorage {
    /// None for a snapshot, which never moves.
    watch: Option<Watch>,
    /// For a snapshot: a connection whose transaction never ends.
    pinned: Option<Readers>,
    reading: Arc<Reading>,
    /// None for a snapshot, which is only read.
    writer: Option<Writer>,
    /// Why nothing can be written, where the folder was opened to be read.
    refusal: Option<StorageError>,
}

/// How a folder is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesOptions {
    /// Whether a missing folder is made.
    pub create: CreateMode,
    /// What happens where the folder cannot be written.
    pub unwritable: Unwritable,
    /// What a commit survives.
    pub durability: Durability,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
}

impl Default for FilesOptions {
    fn default() -> Self {
        Self {
            create: CreateMode::default(),
            unwritable: Unwritable::default(),
            durability: Durability::default(),
            busy_timeout: Duration::from_secs(10),
        }
    }
}

impl FilesStorage {
    /// Opens a folder, making it where `options` say so.
    ///
    /// A folder that holds something else is left as it is; so is one that a later program wrote.
    pub fn open(path: &Path, options: FilesOptions) -> StorageResult<Self> {
        let path = identity::look(path, options.create)?;
        let shared = Arc::new(Shared::new(Folder::open(&path)?, options));
        let (store, refusal) = match Store::open(shared) {
            Err(refusal @ StorageError::ReadOnly { .. })
                if options.unwritable == Unwritable::Read =>
            {
                let memory = Some(memory::name());
                let shared = Shared { memory, ..Shared::new(Folder::open(&path)?, options) };
                (Store::open_to_read(Arc::new(shared))?, Some(refusal))
            }
            opened => (opened?, None),
        };
        let reading = Arc::new(Reading::new(store.shared.clone()));
        let (watch, writer) = (watch::watch(reading.clone()), Writer::start(store)?);
        Ok(Self { watch: Some(watch), pinned: None, reading, writer: Some(writer), refusal })
    }

    /// Makes a folder ready to be opened and repaired that is ours and cannot be opened: what is local to
    /// this machine is moved aside where it is in the way, and the folder says again whose it is.
    /// Returns what was done, a sentence each.
    pub fn make_ready(path: &Path) -> StorageResult<Vec<String>> {
        repair::make_ready(path)
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        self.reading.shared.folder.path()
    }

    /// Returns the way to what writes.
    fn writer(&self) -> StorageResult<&Writer> {
        match &self.refusal {
            Some(refusal) => Err(refusal.clone()),
            None => self.keeper(),
        }
    }

    /// Returns the way to what keeps the index, also where it is in memory.
    fn keeper(&self) -> StorageResult<&Writer> {
        let refused = || StorageError::snapshot(&self.path().display().to_string());
        self.writer.as_ref().ok_or_else(refused)
    }

    fn pinned_by(&self, pinned: Readers) -> Self {
        let reading = self.reading.clone();
        Self { watch: None, pinned: Some(pinned), reading, writer: None, refusal: None }
    }

    fn at_index(&self, fault: FilesFault) -> StorageError {
        fault.at(&self.reading.shared.index_path())
    }
}

fn page_spots(pages: &[Page]) -> Vec<Spot> {
    pages.iter().map(|page| Spot::Page(page.index.clone())).collect()
}

fn page_spot(page: &Option<Page>) -> Vec<Spot> {
    page.iter().map(|page| Spot::Page(page.index.clone())).collect()
}

fn nothing<T>(_: &T) -> Vec<Spot> {
    Vec::new()
}

#[async_trait]
impl PageStorage for FilesStorage {
    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "files", durable: true, shared: true }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        if let Some(pinned) = &self.pinned {
            return pinned.read(|db| read::sessions(db, after, limit));
        }
        let mut repaired = false;
        let mut synced = false;
        loop {
            match self.list_sessions() {
                Ok((infos, fresh)) if fresh || synced => {
                    let later = |info: &SessionInfo| after.is_none_or(|after| info.id > *after);
                    return Ok(infos.into_iter().filter(later).take(limit).collect());
                }
                Ok(_) => {
                    synced = true;
                    self.keeper()?.alone(|store| store.sync_changed()).await?;
                }
                Err(fault) if fault.is_damage() && !repaired => {
                    repaired = true;
                    self.repair_index().await?;
                }
                Err(fault) => return Err(self.at_index(fault)),
            }
        }
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.read(session, |db| read::session(db, session), nothing).await
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        let session = session.clone();
        self.writer()?.alone(move |store| store.remove_session(&session)).await
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        let spots = |segments: &Vec<Segment>| {
            segments.iter().map(|segment| Spot::Segment(segment.id.clone())).collect()
        };
        self.read(session, |db| read::segments(db, session), spots).await
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        let spots = |pages: &Vec<Option<Page>>| pages.iter().flat_map(page_spot).collect();
        self.read(session, |db| read::pages(db, session, indices), spots).await
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        self.read(session, |db| read::children(db, session, query), |pages| page_spots(pages)).await
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        self.read(session, |db| read::child_count(db, session, parent), nothing).await
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        self.read(session, |db| read::last_place(db, session, parent), nothing).await
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        self.read(session, |db| read::scan(db, session, query), |pages| page_spots(pages)).await
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        let read = |db: &Connection| read::last_turn_page(db, session, segment, author);
        self.read(session, read, page_spot).await
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        let read = |db: &Connection| read::next_turn_page(db, session, segment, author, after);
        self.read(session, read, page_spot).await
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let Some(pinned) = &self.pinned else {
            return self.live_contents(session, hashes).await;
        };
        self.pinned_contents(pinned, session, hashes)
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        let spots = |chunks: &Vec<LevelChunk>| {
            let stored = keys.iter().zip(chunks).filter(|(_, chunk)| !chunk.is_empty());
            stored.map(|(key, _)| Spot::Chunk(key.clone())).collect()
        };
        self.read(session, |db| read::levels(db, session, keys), spots).await
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        self.read(session, |db| read::level_keys(db, session), nothing).await
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        let spots = |heads: &Vec<ViewHead>| {
            heads.iter().map(|head| Spot::View(head.view.clone())).collect()
        };
        self.read(session, |db| read::views(db, session), spots).await
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        let spots = |custom: &Vec<_>| custom.first().map(|_| Spot::Custom).into_iter().collect();
        self.read(session, |db| read::custom(db, session), spots).await
    }

    fn watch(&self, session: &SessionId) -> Hints {
        self.watch.as_ref().map_or_else(Hints::never, |watch| watch.hints(session))
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        let spots = |entries: &Vec<HistoryEntry>| {
            entries.iter().map(|entry| Spot::Entry(entry.revision)).collect()
        };
        self.read(session, |db| history::read(db, session, query), spots).await
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        let spots = |records: &Vec<RunRecord>| {
            records.iter().map(|record| Spot::Run(record.key.clone())).collect()
        };
        self.read(session, |db| runs::read(db, session, prefix), spots).await
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        let (id, keep) = (session.clone(), keep.clone());
        self.writer()?.write(session, move |batch| commit::keep(batch, &id, &keep)).await
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        let id = session.clone();
        self.writer()?.write(session, move |batch| commit::commit(batch, &id, &commit)).await
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        let session = session.clone();
        self.writer()?.alone(move |store| store.import(&session, &part)).await
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        self.read(session, |db| ledger::keys(db, session), nothing).await
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        let spots = |records: &Vec<SentWindow>| {
            records.iter().map(|sent| Spot::Sent(key.clone(), sent.number)).collect()
        };
        self.read(session, |db| ledger::read(db, session, key, query), spots).await
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        let (id, key, sent) = (session.clone(), key.clone(), sent.clone());
        self.writer()?.write(session, move |batch| commit::record(batch, &id, &key, &sent)).await
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        if let Some(pinned) = &self.pinned {
            return pinned.read(|db| counts::read(db, keys));
        }
        let counts = || -> FilesFaultResult<_> {
            Ok(self.reading.readers()?.1.run(|db| counts::read(db, keys))?)
        };
        // Counts are derived: where they cannot be read there are none.
        Ok(counts().unwrap_or_else(|_| vec![None; keys.len()]))
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        let rows = counts::rows(counts).map_err(|fault| self.at_index(fault.into()))?;
        let keep = move |store: &mut Store| {
            let transaction = store.index.db.unchecked_transaction()?;
            counts::keep(&transaction, &rows)?;
            Ok(transaction.commit()?)
        };
        self.keeper()?.alone(keep).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        if let Some(pinned) = &self.pinned {
            return Ok(Arc::new(self.pinned_by(pinned.snapshot()?)));
        }
        self.sessions(None, 0).await?;
        let (_, readers) = self.reading.readers().map_err(|fault| self.at_index(fault))?;
        Ok(Arc::new(self.pinned_by(readers.snapshot()?)))
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        if let Some(pinned) = &self.pinned {
            return pinned.read(|db| verify::index_problems(db).map_err(fresh::as_fault));
        }
        // First beside those who write; only if something seems wrong, with the folder locked.
        let look = || -> FilesFaultResult<Vec<String>> {
            let (_, readers) = self.reading.readers()?;
            readers.run(|db| Ok(verify::problems(&self.reading.shared.folder, db)))?
        };
        if look().is_ok_and(|problems| problems.is_empty()) {
            return Ok(Vec::new());
        }
        let verify = |store: &mut Store| {
            store.sync_all()?;
            verify::problems(&store.shared.folder, &store.index.db)
        };
        self.keeper()?.alone(verify).await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.writer()?.alone(|store| store.repair()).await
    }

    async fn unproven(
        &self,
        session: &SessionId,
        page: &Page,
    ) -> StorageResult<Option<Vec<Message>>> {
        repair::unproven(&self.reading.shared.folder, session, page)
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        let mut traces = Due::of(&self.reading.shared.index_path()).traces()?;
        traces.extend(repair::quarantine_trace(&self.reading.shared.folder)?);
        Ok(traces)
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        let scrub = move |store: &mut Store| {
            let folder = &store.shared.clone().folder;
            if quarantine == Quarantine::Empty {
                folder.remove_all(names::QUARANTINE)?;
            }
            let mut traces = store.scrub(Reach::Full);
            traces.extend(repair::quarantine_trace(folder)?);
            Ok(traces)
        };
        self.writer()?.alone(scrub).await
    }
}
