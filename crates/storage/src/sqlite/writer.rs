//! The writer: one thread that groups waiting commits into one transaction.
//!
//! Many agents then share one fsync. A commit is answered only after its transaction committed. A
//! conflict concerns only its own commit; if writing fails midway, the group is rolled back and made
//! again one by one, so that only the guilty one fails. The storage owns the thread: dropping the
//! [`Writer`] lets it answer what is waiting, and waits for it.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use contexture_core::{
    Revision, SessionId,
    storage::{Committed, StorageError, StorageResult},
};
use futures::channel::oneshot;
use rusqlite::Connection;

use super::{
    commit::{self, Refusal, Request},
    error::{Fault, Outcome},
    heads::Heads,
    queue::Queue,
    remove,
};

/// The handle of the writer's thread.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    queue: Arc<Queue<Job>>,
    /// There until it is dropped.
    thread: Option<JoinHandle<()>>,
}

type Reply<T> = oneshot::Sender<StorageResult<T>>;

enum Job {
    Commit(Box<Request>, Reply<Committed>),
    Remove(SessionId, Reply<bool>),
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(db: Connection, path: &Path) -> StorageResult<Self> {
        let queue = Arc::new(Queue::new());
        let worker = Worker {
            what: path.display().to_string(),
            path: path.to_owned(),
            db,
            heads: Heads::default(),
            pace: Pace::default(),
            queue: queue.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("contexture-sqlite".to_owned())
            .spawn(|| worker.run())
            .map_err(|error| gone(path, &error.to_string()))?;
        Ok(Self { path: path.to_owned(), queue, thread: Some(thread) })
    }

    pub(crate) async fn commit(&self, request: Request) -> StorageResult<Committed> {
        self.ask(|reply| Job::Commit(Box::new(request), reply)).await
    }

    pub(crate) async fn remove(&self, session: SessionId) -> StorageResult<bool> {
        self.ask(|reply| Job::Remove(session, reply)).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Reply<T>) -> Job) -> StorageResult<T> {
        let (reply, answer) = oneshot::channel();
        // A job that nobody will do is dropped with its reply.
        self.queue.push(job(reply));
        answer.await.unwrap_or_else(|_| Err(gone(&self.path, "its writer has stopped")))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!(path = %self.path.display(), "the writer of a storage panicked");
        }
    }
}

fn gone(path: &Path, reason: &str) -> StorageError {
    StorageError::Unavailable { what: path.display().to_string(), reason: reason.to_owned() }
}

/// What the thread owns.
struct Worker {
    path: PathBuf,
    what: String,
    db: Connection,
    heads: Heads,
    pace: Pace,
    queue: Arc<Queue<Job>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Also when it panicked: nobody may wait for an answer that cannot come.
        self.queue.abandon();
    }
}

type Waiting = (Box<Request>, Reply<Committed>);

/// Why a transaction failed as a whole.
enum Spoilt {
    /// One of its commits could not be written: alone the others may succeed.
    Midway(Fault),
    /// It could not begin or end: alone they would fare no better.
    Whole(Fault),
}

impl Worker {
    fn run(mut self) {
        let mut jobs = VecDeque::new();
        loop {
            if jobs.is_empty() {
                jobs = self.queue.take();
            }
            match jobs.front() {
                None => return,
                Some(Job::Commit(..)) => self.commit(&mut jobs),
                Some(Job::Remove(..)) => self.remove_next(&mut jobs),
            }
        }
    }

    fn remove_next(&mut self, jobs: &mut VecDeque<Job>) {
        if let Some(Job::Remove(session, reply)) = jobs.pop_front() {
            let removed = self.remove(&session).map_err(|fault| fault.at(&self.path));
            // Nobody may be listening any more; that is theirs to know.
            let _ = reply.send(removed);
        }
    }

    /// Makes the commits at the front, with those that come in the meantime, and answers them.
    fn commit(&mut self, jobs: &mut VecDeque<Job>) {
        let mut group = Vec::new();
        let results = match self.attempt(&mut group, jobs) {
            Ok(results) => results,
            Err(Spoilt::Midway(_)) if group.len() > 1 => {
                let group = std::mem::take(&mut group);
                group.into_iter().for_each(|one| self.commit_alone(one));
                return;
            }
            Err(Spoilt::Midway(fault) | Spoilt::Whole(fault)) => {
                let error = fault.at(&self.path);
                group.iter().map(|_| Err(error.clone())).collect()
            }
        };
        self.pace.writers = group.len() + jobs.len() + self.queue.len();
        self.answer(group, results);
    }

    fn commit_alone(&mut self, one: Waiting) {
        let mut alone = VecDeque::from([Job::Commit(one.0, one.1)]);
        self.pace.writers = 1;
        self.commit(&mut alone);
    }

    fn answer(&self, group: Vec<Waiting>, results: Vec<StorageResult<Revision>>) {
        let mut answers = group.iter().zip(&results);
        if answers.any(|((request, _), result)| result.is_ok() && request.purges()) {
            self.wipe();
        }
        for ((request, reply), result) in group.into_iter().zip(results) {
            let committed = result.map(|revision| Committed { revision, change: request.change });
            // Nobody may be listening any more; what was committed stays.
            let _ = reply.send(committed);
        }
    }

    /// Makes commits in one transaction. If that fails nothing has changed.
    fn attempt(
        &mut self,
        group: &mut Vec<Waiting>,
        jobs: &mut VecDeque<Job>,
    ) -> Result<Vec<StorageResult<Revision>>, Spoilt> {
        let result = self.transact(group, jobs);
        if result.is_err() {
            self.undo();
        }
        result
    }

    fn transact(
        &mut self,
        group: &mut Vec<Waiting>,
        jobs: &mut VecDeque<Job>,
    ) -> Result<Vec<StorageResult<Revision>>, Spoilt> {
        if let Err(fault) = self.begin() {
            group.extend(std::iter::from_fn(|| next_commit(jobs)));
            return Err(Spoilt::Whole(fault));
        }
        let deadline = Instant::now() + self.pace.patience;
        let mut results = Vec::new();
        loop {
            while let Some((mut request, reply)) = next_commit(jobs) {
                let result = commit::apply(&self.db, &mut self.heads, &mut request);
                group.push((request, reply));
                results.push(match result {
                    Ok(revision) => Ok(revision),
                    // Some failures of a read end the transaction; what follows would stand alone.
                    Err(Refusal::Before(fault)) if self.db.is_autocommit() => {
                        return Err(Spoilt::Whole(fault));
                    }
                    Err(Refusal::Before(fault)) => Err(fault.at(&self.path)),
                    Err(Refusal::Midway(fault)) => return Err(Spoilt::Midway(fault)),
                });
            }
            let missing = self.pace.writers.min(Pace::MOST).saturating_sub(group.len());
            if missing == 0 || !jobs.is_empty() {
                break;
            }
            // Being woken for each would cost more than it gains.
            *jobs = self.queue.take_when(missing.div_ceil(2), Some(deadline));
            if jobs.is_empty() {
                break;
            }
        }
        self.heads.write_back(&self.db).map_err(Spoilt::Midway)?;
        let ending = Instant::now();
        self.end().map_err(Spoilt::Whole)?;
        self.pace.patience = ending.elapsed().min(Pace::MOST_PATIENT);
        Ok(results)
    }

    fn remove(&mut self, session: &SessionId) -> Outcome<bool> {
        let removed = self.begin().and_then(|()| {
            let removed = remove::session(&self.db, session)?;
            self.end()?;
            Ok(removed)
        });
        self.undo();
        if let Ok(true) = removed {
            self.wipe();
        }
        removed
    }

    fn begin(&mut self) -> Outcome<()> {
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.heads.refresh(&self.db, &self.what)
    }

    fn end(&self) -> Outcome<()> {
        self.db.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    /// Takes back what is not committed, and forgets what may not be true.
    fn undo(&mut self) {
        self.heads.forget();
        if !self.db.is_autocommit()
            && let Err(error) = self.db.execute_batch("ROLLBACK")
        {
            tracing::error!(path = self.what, %error, "a transaction could not be rolled back");
        }
    }

    /// Leaves nothing in the files of what was taken away.
    ///
    /// SQLite overwrites what is deleted, but not copies of rows that it once moved from page to
    /// page; only writing the whole file anew does. In a large one that would stop everybody for
    /// long, and there it is left to the overwriting.
    fn wipe(&self) {
        if let Err(error) = self.rewrite().and_then(|()| self.empty_log()) {
            tracing::warn!(path = self.what, %error, "traces of what was removed may be left");
        }
    }

    fn rewrite(&self) -> rusqlite::Result<()> {
        let number = |name| self.db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if number("page_count")? * number("page_size")? <= REWRITTEN_UP_TO {
            self.db.execute_batch("VACUUM")?;
        }
        Ok(())
    }

    fn empty_log(&self) -> rusqlite::Result<()> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        if self.db.query_row(sql, [], |row| row.get::<_, bool>(0))? {
            tracing::warn!(path = self.what, "the log is in use and was not emptied");
        }
        Ok(())
    }
}

/// The size of a file, in bytes, that is written anew after a purge.
const REWRITTEN_UP_TO: i64 = 256 << 20;

/// Takes the job at the front, if it is a commit.
fn next_commit(jobs: &mut VecDeque<Job>) -> Option<Waiting> {
    match jobs.pop_front()? {
        Job::Commit(request, reply) => Some((request, reply)),
        job @ Job::Remove(..) => {
            jobs.push_front(job);
            None
        }
    }
}

/// How long to wait for company. Who was just answered tends to come back at once, and ending the
/// transaction without them would make them wait for another fsync.
#[derive(Default)]
struct Pace {
    /// How many were writing lately.
    writers: usize,
    /// How long to wait for them: as long as it took to end the last transaction.
    patience: Duration,
}

impl Pace {
    /// How many commits share a transaction, unless more are waiting already.
    const MOST: usize = 1_000;
    const MOST_PATIENT: Duration = Duration::from_millis(5);
}
