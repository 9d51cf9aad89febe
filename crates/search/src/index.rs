//! The index: what the sessions of a store say, derived from the store and made again from it at any time.
//!
//! ```text
//!  store ──► change feed ──► Followed: the tail, in memory ──► Worker ──► Disk
//!                                  └──────── SeenDocuments ◄── Snapshot ◄──┘
//! ```
//!
//! A search first takes in what was committed to the store since (`follow.rs`), so it never misses an edit. What it
//! takes in stays in memory, in front of what is on disk, until a worker has written it there. A commit to disk says
//! up to which edit each session is in it, so a process that was killed goes on from there.
//!
//! Several processes may use one index. The one that writes has the lock for as long as that takes; the others keep
//! what they took in, in memory.

mod checked;
mod class;
mod classes;
mod disk;
mod entry;
mod indexed;
mod inner;
mod key;
mod merge;
mod narrow;
mod postings;
mod range;
mod schema;
mod seen;
mod sight;
mod snapshot;
mod state;
mod tail;
mod worker;
mod writing;

use std::{path::Path, sync::Arc};

use contexture_core::{PageStorage, SessionId, storage::Trace};

pub(crate) use class::{Part, Parts};
pub(crate) use disk::{Batch, ChangedPage, Disk, Keep, Written};
pub(crate) use entry::{Entry, entries, page_pieces, turn_hash};
pub(crate) use key::Space;
pub(crate) use narrow::Narrow;
pub(crate) use schema::{DIRECTORY, SOURCED};
pub(crate) use seen::{SeenDocuments, SeenSegment, terms_of};
pub(crate) use sight::{LeftOut, Sight, below};
pub(crate) use snapshot::Snapshot;
pub(crate) use state::{MarkHash, SessionState, State};
pub(crate) use tail::Tail;
pub(crate) use writing::{Committed, Rebuild, RebuildStart, Wanted};

use crate::{
    embedding::{Embedder, EmbeddingLimits, Vectors},
    error::SearchError,
};
use inner::Inner;
use worker::Worker;

/// The search index of a store. Cheap to clone; usable from many threads.
#[derive(Clone)]
pub struct SearchIndex {
    pub(crate) inner: Arc<Inner>,
    // Dropped last: it writes what is not on disk yet.
    worker: Arc<Worker>,
}

/// What can be set of an index.
#[derive(Debug, Clone, Copy)]
pub struct IndexLimits {
    /// How many documents wait in memory before they are written.
    pub documents: usize,
    /// How many bytes of them.
    pub bytes: usize,
}

impl Default for IndexLimits {
    fn default() -> Self {
        Self { documents: 50_000, bytes: 32 << 20 }
    }
}

impl SearchIndex {
    /// Opens the index of a store in a folder, or in memory where there is none.
    ///
    /// The folder is made. An index that is damaged, or of another version, is made again.
    pub fn open(storage: Arc<dyn PageStorage>, folder: Option<&Path>) -> Result<Self, SearchError> {
        Self::open_with(storage, folder, IndexLimits::default())
    }

    /// Opens it with limits.
    pub fn open_with(
        storage: Arc<dyn PageStorage>,
        folder: Option<&Path>,
        limits: IndexLimits,
    ) -> Result<Self, SearchError> {
        Self::open_embedding(storage, folder, limits, None, EmbeddingLimits::default())
    }

    /// Opens it with somebody to ask what texts mean.
    pub fn open_embedding(
        storage: Arc<dyn PageStorage>,
        folder: Option<&Path>,
        limits: IndexLimits,
        embedder: Option<Arc<dyn Embedder>>,
        embedding: EmbeddingLimits,
    ) -> Result<Self, SearchError> {
        let vectors = Vectors::new(folder, embedder, embedding);
        let inner = Arc::new(Inner::new(storage, limits, Disk::open(folder)?, vectors)?);
        let worker = Arc::new(Worker::start(inner.clone())?);
        Ok(Self { inner, worker })
    }

    /// Writes what is in memory to disk. Where another process is writing, it stays in memory.
    pub async fn flush(&self) -> Result<(), SearchError> {
        self.worker.flush(Scrub::No).await
    }

    /// Takes what was purged from a session out of the index: from disk, too, unless another process is writing there.
    pub async fn forget(&self, session: &SessionId) -> Result<(), SearchError> {
        self.catch_up(session).await?;
        self.flush().await
    }

    /// Forgets everything. Each session is read again when it is next searched.
    pub async fn clear(&self) -> Result<(), SearchError> {
        self.worker.clear().await
    }

    /// Returns how many bytes the index takes on disk, and how many wait in memory.
    pub fn bytes(&self) -> Result<(u64, usize), SearchError> {
        Ok((self.inner.disk().bytes()?, self.inner.waiting().1))
    }

    pub(crate) fn worker(&self) -> &Worker {
        &self.worker
    }
}

/// Says that an index may still hold words of what was destroyed.
pub fn trace(index: &str) -> Trace {
    let until =
        "the process that is writing to it takes in the removal, or somebody removes the folder";
    Trace::new(format!("the search index of {index}"), until)
}

/// Whether words of deleted documents may stay on disk until they are written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scrub {
    Yes,
    No,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").finish_non_exhaustive()
    }
}
