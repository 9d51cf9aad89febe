//! Who writes: for each session one at a time in this process, for all who wait together.
//!
//! Many agents then share one transaction and one wait for the disk, and a busy session is no storm of
//! locks. What a writer leaves waiting is done next; who comes when nobody writes begins at once.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contexture_core::{
    SessionId,
    storage::{StorageError, StorageResult},
};
use futures::channel::oneshot;

use crate::random;

use super::{
    error::{Fault, unavailable},
    fate::{self, Fate},
    group::{self, Done, Failure},
    pool::{Connections, pause, retire},
    tasks::{Answer, Fresh, Reply, Task},
};

/// The queues before the sessions that are being written to.
pub(crate) struct Writers {
    connections: Arc<Connections>,
    /// A session stands here for as long as somebody writes to it.
    queues: Mutex<HashMap<SessionId, VecDeque<Task>>>,
    /// How often a transaction was made again because of another one.
    pub(crate) retries: AtomicU64,
    /// How many transactions were made.
    pub(crate) transactions: AtomicU64,
}

/// How many tasks share a transaction at most.
const MOST: usize = 256;

/// How many bytes of contents a transaction takes before the next one waits for another.
const MOST_BYTES: usize = 32 << 20;

/// How often a transaction is tried that others make fail.
const ATTEMPTS: u32 = 12;

impl Writers {
    pub(crate) fn new(connections: Arc<Connections>) -> Arc<Self> {
        Arc::new(Self {
            connections,
            queues: Mutex::new(HashMap::new()),
            retries: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, VecDeque<Task>>> {
        // Nothing panics while holding the lock.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a task done. To be called on the runtime's threads.
    pub(crate) async fn ask<T>(
        self: &Arc<Self>,
        session: &SessionId,
        task: impl FnOnce(Reply<T>) -> Task,
    ) -> StorageResult<T> {
        let (reply, answer) = oneshot::channel();
        self.push(session, task(reply));
        let gone = |_| Err(unavailable(&self.connections.what, "its writer has stopped"));
        answer.await.unwrap_or_else(gone)
    }

    fn push(self: &Arc<Self>, session: &SessionId, task: Task) {
        let mut queues = self.lock();
        if let Some(queue) = queues.get_mut(session) {
            queue.push_back(task);
            return;
        }
        queues.insert(session.clone(), VecDeque::from([task]));
        drop(queues);
        // A task of its own: whoever asked first may stop waiting, and others have joined.
        let session = session.clone();
        let mut writing = Writing { writers: self.clone(), session, has_left: false };
        tokio::spawn(async move { while writing.next().await {} });
    }
}

/// Somebody who writes to a session.
struct Writing {
    writers: Arc<Writers>,
    session: SessionId,
    /// Whether the queue is no longer this one's.
    has_left: bool,
}

impl Drop for Writing {
    fn drop(&mut self) {
        // Only if writing panicked: nobody may wait for an answer that cannot come.
        if !self.has_left {
            self.writers.lock().remove(&self.session);
        }
    }
}

impl Writing {
    /// Does what waits. Tells whether there was anything.
    async fn next(&mut self) -> bool {
        let tasks = self.take();
        if tasks.is_empty() {
            return false;
        }
        self.write(tasks).await;
        true
    }

    /// Takes what waits. If that is nothing, whoever comes from now on begins anew.
    fn take(&mut self) -> Vec<Task> {
        let mut queues = self.writers.lock();
        let Some(queue) = queues.get_mut(&self.session).filter(|queue| !queue.is_empty()) else {
            queues.remove(&self.session);
            self.has_left = true;
            return Vec::new();
        };
        let alone = queue.iter().position(Task::stands_alone);
        let count = match alone {
            Some(0) => 1,
            Some(first) => first,
            None => queue.len(),
        };
        let mut size = 0;
        let small = queue.iter().take(count.min(MOST)).take_while(|task| {
            let fits = size < MOST_BYTES;
            size += task.size();
            fits
        });
        let count = small.count();
        queue.drain(..count).collect()
    }

    /// Does tasks and answers them.
    async fn write(&self, mut tasks: Vec<Task>) {
        while !tasks.is_empty() {
            match self.attempt(&tasks).await {
                Ok(Done { answers }) => {
                    let rest = tasks.split_off(answers.len());
                    tasks.into_iter().zip(answers).for_each(|(task, it)| task.answer(it));
                    tasks = rest;
                }
                Err(Refused { error, all: false }) if tasks.len() > 1 => {
                    tracing::debug!(%error, "a group of commits is made one by one");
                    for task in tasks {
                        let done = self.attempt(std::slice::from_ref(&task)).await;
                        let answer = done.map_err(|refused| refused.error).and_then(only);
                        task.answer(answer);
                    }
                    return;
                }
                Err(Refused { error, .. }) => {
                    tasks.into_iter().for_each(|task| task.answer(Err(error.clone())));
                    return;
                }
            }
        }
    }

    /// Does tasks in one transaction, again and again where others are in the way.
    async fn attempt(&self, tasks: &[Task]) -> Result<Done, Refused> {
        let connections = &self.writers.connections;
        let what = connections.what.as_str();
        let refused = |fault: Fault| Refused { all: fault.is_lost(), error: fault.at(what) };
        let mut lost = 0;
        let mut attempt = 0;
        loop {
            let transaction = random_id(what).map_err(|error| Refused { error, all: true })?;
            let fresh = fresh(what).map_err(|error| Refused { error, all: true })?;
            let db = connections.take().await.map_err(|fault| refused(fault).for_all())?;
            let done =
                group::transact(connections, &db, &self.session, tasks, transaction, &fresh).await;
            let failure = match done {
                Ok(done) => {
                    self.writers.transactions.fetch_add(1, Ordering::Relaxed);
                    return Ok(done);
                }
                Err(failure) => failure,
            };
            retire(db);
            let fault = match failure {
                Failure::NotMade(fault) => fault,
                Failure::Unknown(fault, trace, done) => {
                    match fate::find_out(connections, &self.session, &trace).await {
                        Fate::Made => return Ok(done),
                        Fate::NotMade => fault,
                        Fate::Unknown => {
                            let error = group::doubtful(what, fault);
                            return Err(Refused { error, all: true });
                        }
                    }
                }
            };
            if fault.is_passing() && attempt < ATTEMPTS {
                self.writers.retries.fetch_add(1, Ordering::Relaxed);
                pause(attempt, Duration::from_millis(2)).await;
                attempt += 1;
            } else if fault.is_lost() && lost < 1 {
                // The server may have been away since the connection was last used.
                lost += 1;
            } else {
                return Err(refused(fault));
            }
        }
    }
}

/// Why tasks were not done.
struct Refused {
    error: StorageError,
    /// Whether alone they would fare no better.
    all: bool,
}

impl Refused {
    fn for_all(self) -> Self {
        Self { all: true, ..self }
    }
}

/// Returns the answer of a task that was done alone.
fn only(done: Done) -> StorageResult<Answer> {
    done.answers.into_iter().next().expect("the first task of a transaction is decided")
}

pub(crate) fn random_id(what: &str) -> StorageResult<i64> {
    // Above zero: zero is nobody's.
    Ok((i64::from_le_bytes(random::bytes(what)?) & i64::MAX).max(1))
}

fn fresh(what: &str) -> StorageResult<Fresh> {
    Ok(Fresh { id: random_id(what)?, mark: random::mark(what)? })
}
