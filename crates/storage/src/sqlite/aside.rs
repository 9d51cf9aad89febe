//! Long reads, done beside the caller.
//!
//! A read of a few rows takes microseconds and is made on the caller's thread: handing it over would
//! cost more. One that may take long would hold up everything else that the caller's executor has to do,
//! so threads of the storage's own make it. One is started when a read finds all others busy: reads
//! that follow each other stay on one thread, and what they allocate in one arena of the allocator.
//! The threads end with the storage, which waits for the read they are at.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::JoinHandle,
};

use contexture_core::storage::StorageResult;
use futures::channel::oneshot;
use rusqlite::Connection;

use super::{error::FaultResult, readers::Readers};

/// How many rows are read on the caller's thread at most.
pub(crate) const NEAR: usize = 32;

/// How many long reads are made at a time; the others wait. Fewer than there are connections, so that
/// short ones never wait for these.
const THREADS: usize = 2;

type Read = Box<dyn FnOnce() + Send>;

/// Makes long reads.
#[derive(Debug, Default)]
pub(crate) struct Aside {
    threads: Mutex<Option<Threads>>,
    /// Reads that wait or are being made.
    pending: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct Threads {
    reads: Sender<Read>,
    waiting: Arc<Mutex<Receiver<Read>>>,
    handles: Vec<JoinHandle<()>>,
}

/// A read that is not done yet.
struct Pending(Arc<AtomicUsize>);

impl Pending {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count.clone())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Aside {
    /// Makes a read in one transaction, on a thread of its own where there is one.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        readers: &Arc<Readers>,
        read: impl FnOnce(&Connection) -> FaultResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        let (reply, answer) = oneshot::channel();
        let (from, pending) = (readers.clone(), Pending::new(&self.pending));
        let job: Read = Box::new(move || {
            // The caller may have stopped waiting.
            if !reply.is_canceled() {
                let found = from.read(read);
                // The thread counts as free before the caller hears: its next read needs no other one.
                drop(pending);
                let _ = reply.send(found);
            }
        });
        if let Err(job) = self.hand_over(job) {
            job();
        }
        answer.await.unwrap_or_else(|_| Err(readers.gone("a reading thread has stopped")))
    }

    /// Hands a read over; returns it where no thread can be started.
    fn hand_over(&self, read: Read) -> Result<(), Read> {
        let mut threads = self.lock();
        let threads = threads.get_or_insert_with(Threads::new);
        if self.pending.load(Ordering::Acquire) > threads.handles.len() {
            threads.start_one();
        }
        match threads.handles.is_empty() {
            true => Err(read),
            false => threads.reads.send(read).map_err(|unsent| unsent.0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Threads>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let Some(Threads { reads, handles, .. }) = self.lock().take() else { return };
        // No more will come.
        drop(reads);
        for handle in handles {
            if handle.join().is_err() {
                tracing::error!("a reading thread of a storage panicked");
            }
        }
    }
}

impl Threads {
    fn new() -> Self {
        let (reads, waiting) = channel();
        Self { reads, waiting: Arc::new(Mutex::new(waiting)), handles: Vec::new() }
    }

    /// Starts another thread, unless there are enough or the system lets it start none.
    fn start_one(&mut self) {
        if self.handles.len() < THREADS {
            let waiting = self.waiting.clone();
            let thread = std::thread::Builder::new().name("contexture-read".to_owned());
            self.handles.extend(thread.spawn(move || work(&waiting)).ok());
        }
    }
}

/// Makes reads until no more can come.
fn work(waiting: &Mutex<Receiver<Read>>) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(read) = next else { return };
        // The caller hears that there is no answer; the thread goes on with the next.
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).is_err() {
            tracing::error!("a read from a storage panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, task::Poll};

    use futures::{executor::block_on, poll};

    use super::*;
    use crate::sqlite::SqliteStorage;

    fn storage() -> (tempfile::TempDir, SqliteStorage) {
        let dir = tempfile::tempdir().unwrap();
        let storage = SqliteStorage::open(&dir.path().join("any.db"), Default::default()).unwrap();
        (dir, storage)
    }

    fn tables(db: &Connection) -> FaultResult<i64> {
        Ok(db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?)
    }

    // The caller goes on with other things until the read is done.
    #[test]
    fn a_long_read_leaves_the_caller_free() {
        let (_dir, storage) = storage();
        let (go, wait) = mpsc::channel::<()>();
        block_on(async {
            let mut read = Box::pin(storage.read(NEAR + 1, move |db| {
                wait.recv().unwrap();
                Ok((tables(db)?, std::thread::current().name().map(str::to_owned)))
            }));
            assert!(matches!(poll!(read.as_mut()), Poll::Pending));
            // A short read need not wait for it.
            let here = std::thread::current().id();
            let short =
                storage.read(NEAR, move |db| Ok((tables(db)?, std::thread::current().id())));
            let (found, thread) = short.await.unwrap();
            assert_eq!(thread, here);
            go.send(()).unwrap();
            let (same, thread) = read.await.unwrap();
            assert_eq!((same, thread.as_deref()), (found, Some("contexture-read")));
        });
    }

    #[test]
    fn a_thread_is_started_only_where_all_others_are_busy() {
        let (_dir, storage) = storage();
        let started = || storage.aside.lock().as_ref().map_or(0, |threads| threads.handles.len());
        for _ in 0..20 {
            block_on(storage.read(NEAR + 1, tables)).unwrap();
        }
        assert_eq!(started(), 1);
        let (go, wait) = mpsc::channel::<()>();
        block_on(async {
            let mut long = Box::pin(storage.read(NEAR + 1, move |db| {
                wait.recv().unwrap();
                tables(db)
            }));
            assert!(matches!(poll!(long.as_mut()), Poll::Pending));
            storage.read(NEAR + 1, tables).await.unwrap();
            go.send(()).unwrap();
            long.await.unwrap();
        });
        assert_eq!(started(), 2);
    }

    #[test]
    fn a_read_that_panics_is_answered_and_the_next_is_made() {
        let (_dir, storage) = storage();
        for _ in 0..=THREADS {
            let read = storage.read(NEAR + 1, |_| -> FaultResult<()> { panic!("a defect") });
            assert!(block_on(read).is_err());
        }
        assert!(block_on(storage.read(NEAR + 1, tables)).is_ok());
    }

    #[test]
    fn a_read_nobody_waits_for_does_not_outlive_the_storage() {
        let (_dir, storage) = storage();
        let (go, wait) = mpsc::channel::<()>();
        block_on(async {
            let mut read = Box::pin(storage.read(NEAR + 1, move |db| {
                wait.recv().unwrap();
                tables(db)
            }));
            assert!(matches!(poll!(read.as_mut()), Poll::Pending));
        });
        let readers = storage.readers.clone();
        // It may not have begun yet; then it never does.
        let _ = go.send(());
        drop(storage);
        assert_eq!(Arc::strong_count(&readers), 1);
    }
}
