//! The seam to storages: one small async trait, plain algorithms above it.
//!
//! Everything above decides; a storage keeps. The one write is [`PageStorage::commit`]: atomic,
//! durable when it returns, and refused with a conflict only when something the change was based on
//! has moved. The seed's five methods stand on top ([`PageStore`]).

mod memory;
mod page_store;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    Actor, Change, ChunkKey, Content, ContentHash, CustomKey, ErrorKind, HistoryEntry, LedgerKey,
    LevelChunk, Mark, Page, PageIndex, Place, Revision, RunKey, RunPut, RunRecord, Segment,
    SegmentId, SentWindow, SessionId, Timestamp, Tokens, Usage, ViewId,
};

pub use memory::MemoryStorage;
pub use page_store::PageStore;

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
///   claims and places from the session, settles the change ([`Change::settle`]), writes everything
///   and the history entry, and returns the settled change. On any error nothing has changed,
///   counters included. Numbers and places in a change that is not settled are provisional.
/// - Whoever writes pages of a segment sets its `touched`, whoever changes a view its head's.
/// - A purge also scrubs all records of the session's ledgers ([`SentWindow::scrub`]).
///   Run records it leaves alone, though one may quote what was purged: whoever runs the loop ends
///   the run, or moves its record on.
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

    /// Reads contents in the order asked for; none where there is none.
    async fn contents(&self, hashes: &[ContentHash]) -> StorageResult<Vec<Option<Content>>>;

    /// Reads chunks of level state in the order asked for; an absent chunk is empty.
    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>>;

    /// Lists the views that have any level state or focus, or ever had, by name.
    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>>;

    /// Reads the custom state, by key.
    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>>;

    /// Reads history entries, newest first.
    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>>;

    /// Reads the run records whose keys begin with `prefix`, by key in byte order.
    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>>;

    /// Keeps or removes a run record, as durably as a commit. It is no edit: revision and history
    /// stay as they are. [`StorageError::RunMoved`] when the record is not at the version expected.
    async fn keep_run(&self, session: &SessionId, put: &RunPut) -> StorageResult<()>;

    /// Commits a change, making the session first where `create` says so.
    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed>;

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
    ) -> StorageResult<bool>;

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

/// Asks for records of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerQuery {
    /// Only records with this number or a smaller one.
    pub upto: Option<u64>,
    /// How many at most.
    pub limit: usize,
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

/// Asks for a directory's pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildQuery {
    /// The directory.
    pub parent: PageIndex,
    /// Which pages.
    pub standing: StandingFilter,
    /// From which end.
    pub order: Order,
    /// Only pages beyond this place, in that order.
    pub after: Option<Place>,
    /// How many at most.
    pub limit: usize,
}

/// Asks for a segment's pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanQuery {
    /// The segment.
    pub segment: SegmentId,
    /// Which pages.
    pub standing: StandingFilter,
    /// Only pages with a larger number.
    pub after: Option<u64>,
    /// How many at most.
    pub limit: usize,
}

/// Which pages a list holds, by their own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandingFilter {
    /// Those listed in the tree, archived hot or not.
    Listed,
    /// Those taken to the archive themselves.
    ColdArchived,
    /// All, retired ones included.
    Any,
}

impl StandingFilter {
    /// Tells whether a page passes.
    pub fn admits(self, page: &Page) -> bool {
        match self {
            StandingFilter::Listed => page.standing.is_listed(),
            StandingFilter::ColdArchived => page.standing == crate::Standing::ColdArchived,
            StandingFilter::Any => true,
        }
    }
}

/// From which end a list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the first.
    Forward,
    /// From the last.
    Backward,
}

/// Asks for history entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryQuery {
    /// Only entries before this revision.
    pub before: Option<Revision>,
    /// Only entries after this revision.
    pub after: Option<Revision>,
    /// Only entries of this actor.
    pub actor: Option<Actor>,
    /// Only entries that are neither undone nor an undo.
    pub undoable: bool,
    /// How many at most.
    pub limit: usize,
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

/// What can go wrong in a storage. Nothing has changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Something the change was based on has moved.
    #[error("{subject} has changed since it was read")]
    Conflict {
        /// What moved.
        subject: String,
    },
    /// A run record is not at the version expected: somebody else took the run's step.
    #[error("run '{key}' was moved on by another process")]
    RunMoved {
        /// Which.
        key: RunKey,
    },
    /// The session exists already.
    #[error("session '{session}' already exists")]
    SessionExists {
        /// Which.
        session: SessionId,
    },
    /// The session does not exist.
    #[error("session '{session}' not found")]
    SessionMissing {
        /// Which.
        session: SessionId,
    },
    /// What lies there is not ours.
    #[error("{what} is not a Contexture storage: {reason}")]
    Foreign {
        /// Which file or address.
        what: String,
        /// What was found.
        reason: String,
    },
    /// What lies there was written by a later program.
    #[error("{what} has schema version {found}, this program knows up to {known}")]
    Newer {
        /// Which file or address.
        what: String,
        /// The version found.
        found: i64,
        /// The version known.
        known: i64,
    },
    /// Writing is not allowed there.
    #[error("{what} cannot be written: {reason}")]
    ReadOnly {
        /// Which file or address.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// Out of reach, busy or full.
    #[error("{what} is unavailable: {reason}")]
    Unavailable {
        /// Which file or address.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// What was read is not what was written.
    #[error("{what} is corrupt: {reason}")]
    Corrupt {
        /// Which row, file or address.
        what: String,
        /// How that was noticed.
        reason: String,
    },
}

impl StorageError {
    /// Returns the refusal of a snapshot that is asked to change.
    pub fn snapshot(name: &str) -> Self {
        let reason = "a snapshot is only for reading".to_owned();
        StorageError::ReadOnly { what: format!("a snapshot of {name}"), reason }
    }

    /// Returns what the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            StorageError::Conflict { .. }
            | StorageError::RunMoved { .. }
            | StorageError::SessionExists { .. } => ErrorKind::Conflict,
            StorageError::SessionMissing { .. } => ErrorKind::NotFound,
            StorageError::Foreign { .. } | StorageError::Newer { .. } => ErrorKind::Invalid,
            StorageError::ReadOnly { .. } | StorageError::Unavailable { .. } => {
                ErrorKind::Unavailable
            }
            StorageError::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            StorageError::Conflict { .. } => "read again, then decide again",
            StorageError::RunMoved { .. } => "read the run's record again and go on from there",
            StorageError::SessionExists { .. } => "choose another name, or use the one that exists",
            StorageError::SessionMissing { session } => {
                return format!(
                    "`--session {session} init` makes it; `session list` shows what there is"
                );
            }
            StorageError::Foreign { .. } => "name another file with --store, or move this one away",
            StorageError::Newer { .. } => "use a newer contexture; this one changes nothing in it",
            StorageError::ReadOnly { .. } => {
                "make the file and its folder writable, or name another with --store"
            }
            StorageError::Unavailable { .. } => {
                "try again; if it stays so, look at the file, its folder and the disk"
            }
            StorageError::Corrupt { .. } => {
                "`store check` lists all damage; restore the file from a copy"
            }
        }
        .to_owned()
    }
}
