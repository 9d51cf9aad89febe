//! Long reads, done beside the caller.
//!
//! A read of a few rows takes microseconds and is made on the caller's thread: handing it over would
//! cost more. One that may take long would hold up everything else that the caller's executor has to do,
//! so a few threads of the storage's own make it. They are started when the first is asked for, and
//! end with the storage, which waits for the read they are at.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
pub(crate) struct Aside(Mutex<Option<Threads>>);

#[derive(Debug)]
struct Threads {
    reads: Sender<Read>,
    handles: Vec<JoinHandle<()>>,
}

impl Aside {
    /// Makes a read in one transaction, on a thread of its own where there is one.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        readers: &Arc<Readers>,
        read: impl FnOnce(&Connection) -> FaultResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        let (reply, answer) = oneshot::channel();
        let from = readers.clone();
        let job: Read = Box::new(move || {
            // Nobody may be waiting any more.
            if !reply.is_canceled() {
                let _ = reply.send(from.read(read));
            }
        });
        if let Err(job) = self.hand_over(job) {
            job();
        }
        answer.await.unwrap_or_else(|_| Err(readers.gone("a thread that reads has stopped")))
    }

    /// Hands a read over; returns it where no thread can be started.
    fn hand_over(&self, read: Read) -> Result<(), Read> {
        let mut threads = self.lock();
        if threads.is_none() {
            *threads = Threads::start();
        }
        match &*threads {
            Some(threads) => threads.reads.send(read).map_err(|unsent| unsent.0),
            None => Err(read),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Threads>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let Some(Threads { reads, handles }) = self.lock().take() else { return };
        // No more will come.
        drop(reads);
        for handle in handles {
            if handle.join().is_err() {
                tracing::error!("a thread that reads from a storage panicked");
            }
        }
    }
}

impl Threads {
    /// Starts the threads, as many of them as the system lets it; none where it lets it start none.
    fn start() -> Option<Self> {
        let (reads, waiting) = channel::<Read>();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut handles = Vec::with_capacity(THREADS);
        for _ in 0..THREADS {
            let waiting = waiting.clone();
            let thread = std::thread::Builder::new().name("contexture-read".to_owned());
            handles.extend(thread.spawn(move || work(&waiting)).ok());
        }
        (!handles.is_empty()).then_some(Self { reads, handles })
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
