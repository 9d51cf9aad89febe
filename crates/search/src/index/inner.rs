//! What all handles of an index share: what is on disk, what waits in memory in front of it, and how the one gets to
//! the other.

use std::{
    collections::{HashMap, HashSet},
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use contexture_core::{PageStorage, SessionId};

use super::{Batch, Committed, Disk, IndexLimits, Keep, Rebuild, Scrub, Snapshot, Written};
use crate::{
    embedding::{Piece, Vectors},
    error::SearchError,
    follow::{Followed, Reached},
    search::Branches,
};

/// How often to look whether a search has ended, and how long to wait in between.
const LOOKS: usize = 200;
const LOOK: Duration = Duration::from_millis(5);

/// What all handles of an index share.
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

impl Inner {
    pub(super) fn new(
        storage: Arc<dyn PageStorage>,
        limits: IndexLimits,
        disk: Disk,
        vectors: Vectors,
    ) -> Result<Self, SearchError> {
        let snapshot = RwLock::new(Arc::new(disk.snapshot(None)?));
        let unscrubbed = AtomicBool::new(vectors.is_unscrubbed());
        Ok(Self {
            storage,
            limits,
            disk: RwLock::new(Arc::new(disk)),
            snapshot,
            followed: Mutex::default(),
            writing: Mutex::default(),
            unscrubbed,
            branches: Branches::default(),
            vectors,
        })
    }

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
    pub(super) fn write(&self, scrub: Scrub) -> Result<Written, SearchError> {
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
        if !scrub {
            return Ok(Written::Committed);
        }
        self.keep_vectors()?;
        let collected = self.collect(disk, before)?;
        self.unscrubbed.store(collected == Written::Busy, Ordering::Release);
        Ok(collected)
    }

    /// Removes the files of an earlier snapshot, once the searches have ended that read it.
    fn collect(&self, disk: &Disk, mut before: Arc<Snapshot>) -> Result<Written, SearchError> {
        for _ in 0..LOOKS {
            match Arc::try_unwrap(before) {
                Ok(unread) => {
                    drop(unread);
                    return disk.collect();
                }
                Err(read) => before = read,
            }
            thread::sleep(LOOK);
        }
        Ok(Written::Busy)
    }

    /// Commits a session that was read from the beginning. Returns its build, and what may still be merged.
    pub(super) fn commit(
        &self,
        rebuild: Rebuild,
        reached: Reached,
    ) -> Result<(u64, Committed), SearchError> {
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

    pub(super) fn clear(&self) -> Result<Written, SearchError> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let (disk, before) = (self.disk(), self.snapshot());
        let written = disk.clear()?;
        if written == Written::Busy {
            return Ok(written);
        }
        self.vectors.keep(&|_| false)?;
        self.reload()?;
        self.collect(&disk, before)
    }
}

/// Does something that reads the index. Damage in a file that is open may also end it with a panic.
fn unwinding<T>(read: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    panic::catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(SearchError::unreadable()))
}
