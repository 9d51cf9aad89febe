//! The seam to storages: one small async trait, plain algorithms above it.
//!
//! Everything above decides; a storage keeps. The one write is [`PageStorage::commit`]: atomic,
//! durable when it returns, and refused with a conflict only when something the change was based on
//! has moved. The seed's five methods stand on top ([`PageStore`]).

mod branch;
pub mod check;
pub mod commit_plan;
pub mod copy;
mod error;
mod hints;
mod import;
mod memory;
mod page_store;
mod query;
pub mod signs;
mod trace;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    Actor, FeedEntry, HistoryEntry, Message, Page, PageIndex, Revision, Segment, SegmentId,
    SessionId, Timestamp, Tokens, Usage,
};

// The trait's own: queries, errors, hints, what an import brings.
pub(crate) use branch::BranchStorage;
pub use branch::{BranchPoint, Inherited};
pub use error::StorageError;
pub use hints::{Hint, HintSender, Hints};
pub use import::ImportPart;
pub use memory::MemoryStorage;
pub use page_store::PageStore;
pub use query::{ChildQuery, HistoryQuery, LedgerQuery, Order, ScanQuery, StandingFilter};
pub use trace::{Quarantine, Trace};

// What a commit changes.
pub use crate::change::{
    Assigned, Basis, Change, CustomDelta, FocusDelta, LevelDelta, NumberClaim, PageDelta,
    PlaceClaim, SegmentDelta, SessionTimes, UndoneMark,
};

// What pages are made of.
pub use crate::content::{Content, ContentHash};
pub use crate::page::{Checksum, MAX_DEPTH, PageBody, PageDetail, PageStanding};
pub use crate::quantity::{Place, Version};
pub use crate::text::CustomKey;
pub use crate::window::piece::Mark;

// The level state of views.
pub use crate::level::{
    ChunkKey, Citation, CitationDetail, Fold, KeptRequest, LevelChunk, LevelEntry, PageRun,
    PageRunForm,
};
pub use crate::view::{FilterKey, ViewId};

// History and feed.
pub use crate::feed::PagePut;
pub use crate::history::{Inverse, PageBefore, SegmentBefore};

// Windows sent.
pub use crate::ledger::{LedgerKey, Quoted, SentPiece, SentSource, SentWindow};

// What of a storage stays in memory.
pub use crate::decide::{EditLimits, Segments};
pub use crate::system::{Branch, BranchParent, ResidentLimits, ResidentUsage, SystemSettings};
pub use crate::view::BranchView;

// Run records of agents.
pub use crate::run::{RunPut, RunRecord};
pub use crate::text::RunKey;

/// What a storage answers.
pub type StorageResult<T> = std::result::Result<T, StorageError>;

/// Keeps sessions: segments, pages, contents, level states, custom state, history and run records.
///
/// For implementers:
/// - Reads see every commit that returned before them, and never half of one. They may be called
///   from many threads. A missing session reads as empty; `session` tells whether it exists.
/// - What is read is verified: a checksum or hash that does not fit is [`StorageError::Corrupt`].
/// - `commit` first checks the run records the change moves on ([`StorageError::RunMoved`]: deciding
///   again would not help), then the basis; then it writes segments (keeping a stored counter, else taking
///   `next_number` of the new one, then applying `floors`), takes numbers from the counters for the
///   claims and places from the session, settles the change ([`Change::assign`]), writes everything
///   and the history entry, and returns the settled change. On any error nothing has changed,
///   counters included. Numbers and places in a change that is not settled are provisional.
/// - Whoever writes pages of a segment sets its `touched`, whoever changes a view its head's.
/// - A purge also scrubs all records of the session's ledgers ([`SentWindow::scrub`]).
///   Run records it leaves alone, though one may quote what was purged: above, a purge is refused
///   while a run has not ended that it does not end itself ([`RunKey::UNFINISHED`](crate::storage::RunKey)).
/// - When a purge or a removal returns, as little as possible is left of what it took in files, logs
///   and free space; where something is, `traces` says so, also after the storage was opened again,
///   and whoever opens it next tries to finish it.
/// - Limits on lists are honoured; lists are in the order documented.
#[async_trait]
pub trait PageStorage: Send + Sync {
    /// Says how this storage differs from others.
    fn capabilities(&self) -> Capabilities;

    /// Lists sessions by name, those after `after`.
    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>>;

    /// Reads a session's head.
    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>>;

    /// Removes a session with all it holds; content that others share stays. Tells whether it was there.
    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool>;

    /// Lists all segments in display order, removed ones included.
    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>>;

    /// Reads pages of whatever standing, in the order asked for; none where there is no page.
    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>>;

    /// Lists a directory's pages in order of place.
    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>>;

    /// Counts the pages a directory lists.
    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64>;

    /// Returns the largest place under a directory, of whatever standing.
    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>>;

    /// Lists a segment's pages in order of number.
    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>>;

    /// Returns the listed page with the largest place that belongs to a turn of this author.
    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>>;

    /// Returns the listed page with the smallest place beyond `after` that belongs to a turn of this
    /// author.
    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>>;

    /// Reads contents of a session in the order asked for; none where there is none.
    ///
    /// A storage may share contents between sessions, so one that only another session refers to may
    /// be found or not. Above, hashes come from the session's own pages alone.
    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>>;

    /// Reads chunks of level state in the order asked for; an absent chunk is empty.
    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>>;

    /// Lists the chunks of level state that are not empty, in order.
    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>>;

    /// Lists the views that have any level state or focus, or ever had, by name.
    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>>;

    /// Reads the custom state, by key.
    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>>;

    /// Reads a session's revision and no more; none where there is no session.
    async fn revision(&self, session: &SessionId) -> StorageResult<Option<Revision>> {
        Ok(self.session(session).await?.map(|info| info.revision))
    }

    /// Reads what the edits after a revision did, oldest first.
    async fn changes(
        &self,
        session: &SessionId,
        after: Revision,
        limit: usize,
    ) -> StorageResult<Vec<FeedEntry>> {
        let (after, order) = (Some(after), Order::Forward);
        let query = HistoryQuery { after, order, limit, ..HistoryQuery::default() };
        Ok(self.history(session, &query).await?.iter().map(FeedEntry::of).collect())
    }

    /// Returns a stream of hints that a session has moved, by edits of this process or of others.
    ///
    /// It needs no particular executor: a storage that must ask, or wait for a server, does so on
    /// threads of its own, for all sessions together, and only while somebody listens. After a hint the
    /// revision can be read; that no hint came says nothing.
    fn watch(&self, _session: &SessionId) -> Hints {
        Hints::never()
    }

    /// Reads history entries, newest first unless the query says otherwise.
    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>>;

    /// Reads the run records whose keys begin with `prefix`, by key in byte order.
    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>>;

    /// Keeps or removes run records and notes what a provider reported, all or nothing and as durably
    /// as a commit. It is no edit: revision and history stay as they are.
    /// [`StorageError::RunMoved`] when a record is not at the version expected.
    ///
    /// Tells whether there is the window that is reported on; where there is none, the run records are
    /// kept all the same. Without a report it is true.
    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool>;

    /// Keeps or removes one run record.
    async fn keep_run(&self, session: &SessionId, put: &RunPut) -> StorageResult<()> {
        let keep = Keep { runs: vec![put.clone()], report: None };
        self.keep(session, &keep).await.map(drop)
    }

    /// Commits a change, making the session first where `create` says so.
    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed>;

    /// Takes over a part of a session from elsewhere, as it is. Nothing of it shows before the last
    /// part, [`ImportPart::Finish`], which makes the session appear whole; what was begun and never
    /// finished goes when the session is begun again or removed.
    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()>;

    /// Lists a session's ledgers, in order.
    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>>;

    /// Reads records of a ledger, newest first.
    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>>;

    /// Appends a record to a ledger. A conflict when its number is not the next one.
    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()>;

    /// Notes what the provider reported for a window sent; tells whether there is such a record.
    async fn report(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        number: u64,
        usage: &Usage,
    ) -> StorageResult<bool> {
        let report = UsageReport { ledger: key.clone(), number, usage: usage.clone() };
        self.keep(session, &Keep { runs: Vec::new(), report: Some(report) }).await
    }

    /// Reads token counts in the order asked for; none where there is none.
    ///
    /// Counts are derived: a storage may forget them at any time.
    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>>;

    /// Keeps token counts. It need not be durable when it returns.
    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()>;

    /// Returns everything as it stands now, to be read for as long as it is held. What is committed
    /// meanwhile does not show in it; it takes no commits itself.
    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>>;

    /// Verifies what only the storage itself can see: its files, checksums, reference counts.
    async fn verify(&self) -> StorageResult<Vec<String>>;

    /// Mends what only the storage itself can mend, and tells what it did: derives anew what is
    /// derived, and takes what cannot be read into a quarantine, where it stays until
    /// [`scrub`](Self::scrub) empties it. It deletes nothing.
    async fn repair(&self) -> StorageResult<Vec<String>>;

    /// Returns what a record that a repair took into the quarantine says in the place of a page's lost
    /// text, if it is a record of the page as it stands. Nothing proves these words: somebody may have
    /// edited them by hand, or a disk may have damaged them.
    async fn unproven(
        &self,
        _session: &SessionId,
        _page: &Page,
    ) -> StorageResult<Option<Vec<Message>>> {
        Ok(None)
    }

    /// Says where bytes of what purges and removals took may still lie, as far as this storage
    /// answers for it: backups, replicas and git's history are beyond it. It is cheap.
    ///
    /// A quarantine that is not empty is such a place, because nobody can tell what is in it.
    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        Ok(Vec::new())
    }

    /// Takes such traces away, however long that takes; returns those that remain. The quarantine is
    /// emptied first, if `quarantine` says so.
    async fn scrub(&self, _quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        Ok(Vec::new())
    }
}

/// How a storage differs from others, as data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Its name in URLs: `memory`, `sqlite` …
    pub name: &'static str,
    /// Whether what it acknowledges survives the process.
    pub durable: bool,
    /// Whether several processes may use it at once.
    pub shared: bool,
}

/// Names a token count: what was counted, and with which tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountKey(pub [u8; 16]);

/// What is known of a view beside its levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewHead {
    /// Which view.
    pub view: ViewId,
    /// The page it is focused on.
    pub focus: Option<PageIndex>,
    /// The edit that last changed its levels or focus; for the system side also custom state.
    pub touched: Revision,
}

/// A session's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its name.
    pub id: SessionId,
    /// The application it belongs to.
    pub app: String,
    /// How many edits were committed.
    pub revision: Revision,
    /// The next place.
    pub next_place: Place,
    /// The mark of the engine's own lines.
    pub mark: Mark,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What is kept between commits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Keep {
    /// The run records that are kept or removed, each once.
    pub runs: Vec<RunPut>,
    /// What a provider reported.
    pub report: Option<UsageReport>,
}

/// What a provider reported for a window sent.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageReport {
    /// The ledger the window is in.
    pub ledger: LedgerKey,
    /// Its number there.
    pub number: u64,
    /// What it took.
    pub usage: Usage,
}

/// A change to be committed.
#[derive(Debug, Clone)]
pub struct Commit {
    /// Makes the session first; a session that exists is then a conflict.
    pub create: Option<NewSession>,
    /// The change; none only makes the session.
    pub change: Option<Change>,
}

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The application it belongs to.
    pub app: String,
    /// When.
    pub at: Timestamp,
    /// The mark of the engine's own lines. Without it the storage makes one that cannot be guessed,
    /// if it is durable.
    pub mark: Option<Mark>,
}

/// A committed change.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The number of the state after it.
    pub revision: Revision,
    /// The change as it was settled.
    pub change: Option<Change>,
}
