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

use std::{
    collections::{HashMap, HashSet},
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use contexture_core::{PageStorage, SessionId};

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
    embedding::{Embedder, EmbeddingLimits, Piece, Vectors},
    error::SearchError,
    follow::{Followed, Reached},
    search::Branches,
};
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

pub(crate) struct Inner {
    pub(crate) storage: Arc<dyn PageStorage>,
    pub(crate) limits: IndexLimits,
    /// Another one where damage was noticed.
    disk: RwLock<Arc<Disk>>,
    snapshot: RwLock<Arc<Snapshot>>,
    followed: Mutex<HashMap<SessionId, Arc<Followed>>>,
    /// Held while batches are made and written.
    writing: Mutex<()>,
    /// Whether words of purged pages may still be on disk.
    pub(crate) unscrubbed: AtomicBool,
    pub(crate) branches: Branches,
    pub(crate) vectors: Vectors,
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
        let disk = Arc::new(Disk::open(folder)?);
        let snapshot = RwLock::new(Arc::new(disk.snapshot(None)?));
        let inner = Arc::new(Inner {
            storage,
            limits,
            disk: RwLock::new(disk),
            snapshot,
            followed: Mutex::default(),
            writing: Mutex::default(),
            unscrubbed: AtomicBool::default(),
            branches: Branches::default(),
            vectors: Vectors::new(folder, embedder, embedding),
        });
        if inner.vectors.is_unscrubbed() {
            inner.unscrubbed.store(true, Ordering::Release);
        }
        let worker = Arc::new(Worker::start(inner.clone())?);
        Ok(Self { inner, worker })
    }

    /// Writes what is in memory to disk. Where another process is writing, it stays in memory.
    pub async fn flush(&self) -> Result<(), SearchError> {
        self.worker.flush(Scrub::No).await
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

/// Whether words of deleted documents may stay on disk until they are written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scrub {
    Yes,
    No,
}

impl Inner {
    pub(crate) fn disk(&self) -> Arc<Disk> {
        self.disk.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens the index again after damage was noticed in it, unless that was done meanwhile. Everything that was
    /// known of its sessions is forgotten, and read from the store again where it is not on disk.
    pub(crate) fn renew(&self, damaged: &Arc<Disk>, keep: Keep) -> Result<(), SearchError> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&self.disk(), damaged) {
            return Ok(());
        }
        let disk = Arc::new(damaged.reopen(keep)?);
        let snapshot = Arc::new(disk.snapshot(None)?);
        *self.disk.write().unwrap_or_else(PoisonError::into_inner) = disk;
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
        self.lock_followed().values().for_each(|followed| followed.forget());
        Ok(())
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock_followed(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Followed>>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether vectors are made of texts.
    pub(crate) fn has_embedder(&self) -> bool {
        self.vectors.embedder().is_some()
    }

    /// Returns what is known of a session.
    pub(crate) fn followed(&self, session: &SessionId) -> Arc<Followed> {
        let mut followed = self.lock_followed();
        let new = || Arc::new(Followed::new(session, self.has_embedder()));
        followed.entry(session.clone()).or_insert_with(new).clone()
    }

    /// Returns how many documents, and how many bytes of them, wait in memory.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let followed: Vec<Arc<Followed>> = self.lock_followed().values().cloned().collect();
        followed.iter().map(|it| it.waiting()).fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1))
    }

    /// Takes in what was last committed to disk, by whichever process.
    pub(crate) fn reload(&self) -> Result<(), SearchError> {
        let before = self.snapshot();
        let snapshot = Arc::new(self.disk().snapshot(Some(&before))?);
        // First what is on disk, then out of memory: a search looks at them in the opposite order.
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        let followed: Vec<Arc<Followed>> = self.lock_followed().values().cloned().collect();
        followed.iter().for_each(|it| it.adopt(&snapshot.state));
        Ok(())
    }

    /// Writes what waits in memory. An index that turns out to be damaged is opened again, or made again: then nothing
    /// waits any more, because its sessions are read from the store again.
    fn write(&self, scrub: Scrub) -> Result<Written, SearchError> {
        let disk = self.disk();
        match unwinding(|| self.write_to(&disk, scrub)) {
            Err(error) if error.is_damage() => {
                tracing::warn!("the search index is made again: {error}");
                self.renew(&disk, Keep::Yes)?;
                Ok(Written::Committed)
            }
            written => written,
        }
    }

    fn write_to(&self, disk: &Disk, scrub: Scrub) -> Result<Written, SearchError> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let followed: Vec<Arc<Followed>> = self.lock_followed().values().cloned().collect();
        let taken: Vec<_> = followed.iter().filter_map(|it| Some((it, it.take()?))).collect();
        let scrub = scrub == Scrub::Yes || self.unscrubbed.load(Ordering::Acquire);
        if taken.is_empty() && !scrub {
            return Ok(Written::Committed);
        }
        let batches: Vec<&Batch> = taken.iter().map(|(_, taken)| &taken.batch).collect();
        if scrub {
            self.vectors.note_unscrubbed()?;
        }
        let Some(builds) = disk.write(&batches, scrub)? else {
            self.reload()?;
            return Ok(Written::Busy);
        };
        let before = self.snapshot();
        let snapshot = Arc::new(disk.snapshot(Some(&before))?);
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot.clone();
        for ((followed, taken), build) in taken.iter().zip(builds) {
            if let Some(build) = build {
                followed.written(taken, build);
            }
        }
        followed.iter().for_each(|it| it.adopt(&snapshot.state));
        if scrub {
            self.keep_vectors()?;
            self.unscrubbed.store(false, Ordering::Release);
        }
        Ok(Written::Committed)
    }

    /// Commits a session that was read from the beginning. Returns its build, and what may still be merged.
    fn commit(&self, rebuild: Rebuild, reached: Reached) -> Result<(u64, Committed), SearchError> {
        let disk = self.disk();
        let committed = unwinding(|| rebuild.commit(reached));
        if committed.as_ref().is_err_and(SearchError::is_damage) {
            self.renew(&disk, Keep::Yes)?;
        }
        let committed = committed?;
        self.reload()?;
        Ok(committed)
    }

    /// Removes the vectors of texts that stand nowhere any more.
    fn keep_vectors(&self) -> Result<(), SearchError> {
        let mut live = HashSet::new();
        for block in self.snapshot().blocks.iter() {
            for doc in block.reader.doc_ids_alive() {
                live.extend(block.pieces(doc).map(Piece::hash));
            }
        }
        for followed in self.lock_followed().values() {
            followed.each_entry(&mut |entry| live.extend(entry.pieces.iter().map(|it| it.hash())));
        }
        Ok(self.vectors.keep(&|hash| live.contains(&hash))?)
    }

    fn clear(&self) -> Result<Written, SearchError> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.disk().clear()?;
        if written == Written::Committed {
            self.vectors.keep(&|_| false)?;
            self.reload()?;
        }
        Ok(written)
    }
}

/// Does something that reads the index. Damage in a file that is open may also end it with a panic.
fn unwinding<T>(read: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(SearchError::unreadable()))
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex").finish_non_exhaustive()
    }
}
