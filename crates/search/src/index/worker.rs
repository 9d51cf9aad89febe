//! Writes what waits in memory to disk, on a thread of its own: a commit takes a tenth of a second.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use futures::channel::oneshot;

use super::{Inner, Rebuild, Scrub, Written};
use crate::{error::SearchError, follow::Reached};

/// How long nothing must have changed before what waits is written.
const IDLE: Duration = Duration::from_secs(2);

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_millis(100);

/// The thread that writes. It writes what waits when it is dropped, and ends.
pub(crate) struct Worker {
    /// Whether it was told to write soon.
    soon: Arc<AtomicBool>,
    orders: Mutex<Option<mpsc::Sender<Order>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    /// Something waits.
    Changed,
    /// Write it now.
    Flush(Scrub, oneshot::Sender<Result<(), SearchError>>),
    /// Write it when it is this process's turn.
    FlushInTurn(oneshot::Sender<Result<(), SearchError>>),
    /// Write it, and tell nobody.
    FlushSoon,
    /// Commit a session that was read from the beginning.
    Commit(Box<Rebuild>, Reached, oneshot::Sender<Result<u64, SearchError>>),
    /// Forget everything.
    Clear(oneshot::Sender<Result<(), SearchError>>),
}

impl Worker {
    pub(crate) fn start(inner: Arc<Inner>) -> Result<Self, SearchError> {
        let (sender, orders) = mpsc::channel();
        let thread = thread::Builder::new().name("search index".to_owned());
        let soon = Arc::new(AtomicBool::new(false));
        let told = soon.clone();
        let thread = thread.spawn(move || work(&inner, &orders, &told))?;
        Ok(Self { soon, orders: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)) })
    }

    /// Says that something waits.
    pub(crate) fn changed(&self) {
        self.order(Order::Changed);
    }

    /// Writes what waits.
    pub(crate) async fn flush(&self, scrub: Scrub) -> Result<(), SearchError> {
        let (sender, done) = oneshot::channel();
        self.order(Order::Flush(scrub, sender));
        done.await.unwrap_or(Ok(()))
    }

    /// Writes what waits, once other processes have done so.
    pub(crate) async fn flush_in_turn(&self) -> Result<(), SearchError> {
        let (sender, done) = oneshot::channel();
        self.order(Order::FlushInTurn(sender));
        done.await.unwrap_or(Ok(()))
    }

    /// Writes what waits when its turn comes, and does not wait for it.
    pub(crate) fn flush_soon(&self) {
        if !self.soon.swap(true, Ordering::AcqRel) {
            self.order(Order::FlushSoon);
        }
    }

    /// Commits a session that was read from the beginning. Returns its build.
    pub(crate) async fn commit(
        &self,
        rebuild: Box<Rebuild>,
        reached: Reached,
    ) -> Result<u64, SearchError> {
        let (sender, done) = oneshot::channel();
        self.order(Order::Commit(rebuild, reached, sender));
        done.await.unwrap_or(Err(SearchError::Busy))
    }

    /// Forgets everything.
    pub(crate) async fn clear(&self) -> Result<(), SearchError> {
        let (sender, done) = oneshot::channel();
        self.order(Order::Clear(sender));
        done.await.unwrap_or(Ok(()))
    }

    fn order(&self, order: Order) {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(orders) = &*orders {
            // The thread ends only when there is nobody to give orders.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.orders.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // It has reported what went wrong.
            let _ = thread.join();
        }
    }
}

fn work(inner: &Inner, orders: &mpsc::Receiver<Order>, soon: &AtomicBool) {
    let mut waits = false;
    loop {
        let order = match waits {
            true => orders.recv_timeout(IDLE),
            false => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(Order::Changed) => waits = true,
            Ok(Order::Flush(scrub, done)) => {
                let written = inner.write(scrub);
                waits = !matches!(written, Ok(Written::Committed));
                // Nobody may be waiting any more.
                let _ = done.send(settled(written));
            }
            Ok(Order::FlushInTurn(done)) => {
                let written = in_turn(|| inner.write(Scrub::No));
                waits = written.is_err();
                let _ = done.send(written);
            }
            Ok(Order::FlushSoon) => {
                soon.store(false, Ordering::Release);
                waits = !is_written(inner);
            }
            Ok(Order::Commit(rebuild, reached, done)) => commit(inner, *rebuild, reached, done),
            Ok(Order::Clear(done)) => {
                let _ = done.send(in_turn(|| inner.clear()));
            }
            Err(RecvTimeoutError::Timeout) => waits = !is_written(inner),
            Err(RecvTimeoutError::Disconnected) => {
                is_written(inner);
                return;
            }
        }
    }
}

/// Commits a session, reports it, and only then merges blocks: searches need not wait for that.
fn commit(
    inner: &Inner,
    rebuild: Rebuild,
    reached: Reached,
    done: oneshot::Sender<Result<u64, SearchError>>,
) {
    let merged = match inner.commit(rebuild, reached) {
        Ok((build, committed)) => {
            let _ = done.send(Ok(build));
            committed.merge().and_then(|()| inner.reload())
        }
        Err(error) => {
            let _ = done.send(Err(error));
            return;
        }
    };
    if let Err(error) = merged {
        tracing::warn!("blocks of the search index cannot be merged: {error}");
    }
}

/// Tries again until no other process is writing.
fn in_turn(write: impl Fn() -> Result<Written, SearchError>) -> Result<(), SearchError> {
    while write()? == Written::Busy {
        thread::sleep(BUSY);
    }
    Ok(())
}

fn settled(written: Result<Written, SearchError>) -> Result<(), SearchError> {
    match written? {
        Written::Committed => Ok(()),
        Written::Busy => Err(SearchError::Busy),
    }
}

fn is_written(inner: &Inner) -> bool {
    match inner.write(Scrub::No) {
        Ok(written) => written == Written::Committed,
        Err(error) => {
            tracing::warn!("the search index cannot be written: {error}");
            false
        }
    }
}
