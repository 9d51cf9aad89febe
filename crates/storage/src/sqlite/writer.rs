//! The writer: one thread that groups waiting commits into one transaction.
//!
//! Many agents then share one fsync. A commit is answered only after its transaction committed. A
//! conflict concerns only its own commit; if writing fails midway, the group is rolled back and made
//! again one by one, so that only the guilty one fails. The storage owns the thread: dropping the
//! [`Writer`] lets it answer what is waiting, and waits for it.
//!
//! Run records, and records and reports of windows sent, share these transactions. So do token counts when something
//! else is waiting; alone they are written without waiting for the disk, because they can be lost.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use contexture_core::{
    SessionId,
    storage::{Committed, Quarantine, StorageError, StorageResult, Trace},
};
use futures::channel::oneshot;
use rusqlite::Connection;

use super::{
    Durability,
    commit::{CommitRequest, Refusal},
    counts,
    error::{Fault, FaultResult},
    heads::Heads,
    import::{self, Import},
    ledger::Record,
    open, quarantine,
    queue::Queue,
    remove, repair, salvage,
    tasks::{Keeping, Reply, Task},
    traces::{self, Due, Reach},
};

/// The handle of the writer's thread.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    queue: Arc<Queue<Job>>,
    /// There until it is dropped.
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Write(Task),
    Remove(SessionId, Reply<bool>),
    Import(Box<Import>, Reply<()>),
    Repair(Reply<Vec<String>>),
    Scrub(Quarantine, Reply<Vec<Trace>>),
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        db: Connection,
        path: &Path,
        durability: Durability,
    ) -> StorageResult<Self> {
        let queue = Arc::new(Queue::new());
        let worker = Worker {
            what: path.display().to_string(),
            path: path.to_owned(),
            due: Due::of(path),
            db,
            heads: Heads::default(),
            pace: Pace::default(),
            durability,
            present: durability,
            queue: queue.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("contexture-sqlite".to_owned())
            .spawn(|| worker.run())
            .map_err(|error| gone(path, &error.to_string()))?;
        Ok(Self { path: path.to_owned(), queue, thread: Some(thread) })
    }

    pub(crate) async fn commit(&self, request: CommitRequest) -> StorageResult<Committed> {
        self.ask(|reply| Job::Write(Task::Commit(Box::new(request), reply))).await
    }

    pub(crate) async fn keep(&self, keep: Keeping) -> StorageResult<bool> {
        self.ask(|reply| Job::Write(Task::Keep(Box::new(keep), reply))).await
    }

    pub(crate) async fn record(&self, record: Record) -> StorageResult<()> {
        self.ask(|reply| Job::Write(Task::Record(Box::new(record), reply))).await
    }

    pub(crate) async fn keep_counts(&self, rows: counts::Rows) -> StorageResult<()> {
        self.ask(|reply| Job::Write(Task::Counts(rows, reply))).await
    }

    pub(crate) async fn remove(&self, session: SessionId) -> StorageResult<bool> {
        self.ask(|reply| Job::Remove(session, reply)).await
    }

    pub(crate) async fn import(&self, import: Import) -> StorageResult<()> {
        self.ask(|reply| Job::Import(Box::new(import), reply)).await
    }

    pub(crate) async fn repair(&self) -> StorageResult<Vec<String>> {
        self.ask(Job::Repair).await
    }

    /// Takes away what purges left; returns what remains.
    pub(crate) async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        self.ask(|reply| Job::Scrub(quarantine, reply)).await
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
    due: Due,
    db: Connection,
    heads: Heads,
    pace: Pace,
    /// What a commit survives.
    durability: Durability,
    /// What a transaction survives at present.
    present: Durability,
    queue: Arc<Queue<Job>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Also when it panicked: nobody may wait for an answer that cannot come.
        self.queue.abandon();
    }
}

/// Why a transaction failed as a whole.
enum Spoilt {
    /// One of its commits could not be written: alone the others may succeed.
    Midway(Fault),
    /// It could not begin or end: alone they would fare no better.
    Whole(Fault),
}

impl Worker {
    fn run(mut self) {
        if self.due.is_there() {
            // A purge was not finished. Whoever only looks at something is not to wait for it long.
            self.wipe(Reach::QUICK, Some(traces::IN_PASSING));
        }
        let mut jobs = VecDeque::new();
        loop {
            if jobs.is_empty() {
                jobs = self.queue.take();
            }
            match jobs.front() {
                None => return,
                Some(Job::Write(_)) => self.write(&mut jobs),
                Some(Job::Remove(..) | Job::Import(..) | Job::Repair(_) | Job::Scrub(..)) => {
                    self.do_alone(&mut jobs);
                }
            }
        }
    }

    /// Does the job at the front in a transaction of its own, and answers it. Nobody may be
    /// listening any more; that is theirs to know.
    fn do_alone(&mut self, jobs: &mut VecDeque<Job>) {
        let path = self.path.clone();
        match jobs.pop_front() {
            Some(Job::Remove(session, reply)) => {
                let removed = self.remove(&session).map_err(|fault| fault.at(&path));
                let _ = reply.send(removed);
            }
            Some(Job::Import(import, reply)) => {
                let taken = self.import(&import).map_err(|fault| fault.at(&path));
                let _ = reply.send(taken);
            }
            Some(Job::Repair(reply)) => {
                let done = self.alone(true, repair::all);
                let _ = reply.send(done.map_err(|fault| fault.at(&path)));
            }
            Some(Job::Scrub(quarantine, reply)) => {
                let traces = self.scrub(quarantine).map_err(|fault| fault.at(&path));
                let _ = reply.send(traces);
            }
            Some(job @ Job::Write(_)) => jobs.push_front(job),
            None => {}
        }
    }

    /// Runs a transaction. What the heads say may not be true afterwards.
    fn alone<T>(
        &mut self,
        lasting: bool,
        write: impl FnOnce(&Connection) -> FaultResult<T>,
    ) -> FaultResult<T> {
        let written = self.begin(lasting).and_then(|()| {
            let written = write(&self.db)?;
            self.end()?;
            Ok(written)
        });
        self.undo();
        written
    }

    /// Does the tasks at the front, with those that come in the meantime, and answers them.
    fn write(&mut self, jobs: &mut VecDeque<Job>) {
        let mut group = Vec::new();
        let lasting = must_last(jobs);
        let results = match self.attempt(&mut group, jobs, lasting) {
            Ok(results) => results,
            Err(Spoilt::Midway(_)) if group.len() > 1 => {
                group.into_iter().for_each(|one| self.write_alone(one));
                return;
            }
            Err(Spoilt::Midway(fault) | Spoilt::Whole(fault)) => {
                let error = fault.at(&self.path);
                group.iter().map(|_| Err(error.clone())).collect()
            }
        };
        if lasting {
            self.pace.writers = group.len() + jobs.len() + self.queue.len();
        }
        self.answer(group, results);
    }

    fn write_alone(&mut self, one: Task) {
        let mut alone = VecDeque::from([Job::Write(one)]);
        self.pace.writers = 1;
        self.write(&mut alone);
    }

    fn answer(&self, group: Vec<Task>, results: Vec<StorageResult<()>>) {
        let mut answers = group.iter().zip(&results);
        if answers.any(|(task, result)| result.is_ok() && task.purges()) {
            self.wipe(Reach::QUICK, None);
        }
        group.into_iter().zip(results).for_each(|(task, result)| task.answer(result));
    }

    /// Does tasks in one transaction. If that fails nothing has changed.
    fn attempt(
        &mut self,
        group: &mut Vec<Task>,
        jobs: &mut VecDeque<Job>,
        lasting: bool,
    ) -> Result<Vec<StorageResult<()>>, Spoilt> {
        let result = self.transact(group, jobs, lasting);
        if result.is_err() {
            self.undo();
        }
        result
    }

    fn transact(
        &mut self,
        group: &mut Vec<Task>,
        jobs: &mut VecDeque<Job>,
        lasting: bool,
    ) -> Result<Vec<StorageResult<()>>, Spoilt> {
        if let Err(fault) = self.begin(lasting) {
            group.extend(std::iter::from_fn(|| next_task(jobs)));
            return Err(Spoilt::Whole(fault));
        }
        let deadline = Instant::now() + self.pace.patience;
        let mut results = Vec::new();
        loop {
            while let Some(mut task) = next_task(jobs) {
                let result = task.apply(&self.db, &mut self.heads);
                group.push(task);
                results.push(match result {
                    Ok(()) => Ok(()),
                    // Some failures of a read end the transaction; what follows would stand alone.
                    Err(Refusal::Before(fault)) if self.db.is_autocommit() => {
                        return Err(Spoilt::Whole(fault));
                    }
                    Err(Refusal::Before(fault)) => Err(fault.at(&self.path)),
                    Err(Refusal::Midway(fault)) => return Err(Spoilt::Midway(fault)),
                });
            }
            let missing = self.pace.writers.min(Pace::MOST).saturating_sub(group.len());
            if missing == 0 || !jobs.is_empty() || !lasting {
                break;
            }
            // Being woken for each would cost more than it gains.
            *jobs = self.queue.take_when(missing.div_ceil(2), Some(deadline));
            if jobs.is_empty() {
                break;
            }
        }
        self.heads.write_back(&self.db).map_err(Spoilt::Midway)?;
        if group.iter().zip(&results).any(|(task, result)| result.is_ok() && task.purges()) {
            self.due.begin().map_err(|error| Spoilt::Midway(error.into()))?;
        }
        let ending = Instant::now();
        self.end().map_err(Spoilt::Whole)?;
        if lasting {
            self.pace.patience = ending.elapsed().min(Pace::MOST_PATIENT);
        }
        Ok(results)
    }

    fn remove(&mut self, session: &SessionId) -> FaultResult<bool> {
        self.taking_away(|db| remove::session(db, session))
    }

    /// Takes in a part of a session. The last may take the place of another, which goes.
    fn import(&mut self, import: &Import) -> FaultResult<()> {
        if import.must_last() {
            self.taking_away(|db| import::take(db, import)).map(drop)
        } else {
            self.alone(false, |db| import::take(db, import)).map(drop)
        }
    }

    /// Runs a transaction that says whether it took something away, of which nothing is to be left.
    fn taking_away(
        &mut self,
        write: impl FnOnce(&Connection) -> FaultResult<bool>,
    ) -> FaultResult<bool> {
        let was_due = self.due.is_there();
        self.due.begin()?;
        let removed = self.alone(true, write);
        match removed {
            Ok(true) => drop(self.wipe(Reach::QUICK, None)),
            _ if !was_due => self.due.update(&self.due.read().unwrap_or_default(), &[]),
            _ => {}
        }
        removed
    }

    fn begin(&mut self, lasting: bool) -> FaultResult<()> {
        let wanted = if lasting { self.durability } else { Durability::Process };
        if self.present != wanted {
            open::set_durability(&self.db, wanted)?;
            self.present = wanted;
        }
        self.db.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.heads.refresh(&self.db, &self.what)
    }

    fn end(&self) -> FaultResult<()> {
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

    /// Takes away what purges left, and what repairs set aside where that is asked for.
    fn scrub(&mut self, quarantine: Quarantine) -> FaultResult<Vec<Trace>> {
        if quarantine == Quarantine::Empty {
            self.due.begin()?;
            self.alone(true, quarantine::empty)?;
        }
        let mut traces = self.wipe(Reach::Full, None);
        if !quarantine::is_empty(&self.db)? {
            traces.push(Trace::quarantine(&self.what));
        }
        Ok(traces)
    }

    /// Leaves nothing in the files of what was taken away; returns what is left all the same.
    fn wipe(&self, reach: Reach, patience: Option<Duration>) -> Vec<Trace> {
        let note = self.due.read().unwrap_or_default();
        let mut remaining = traces::wipe(&self.db, &note.remaining, reach, patience);
        remaining.extend(salvage::remove_leftover(&self.path));
        self.due.update(&note, &remaining);
        remaining.into_iter().map(|reason| reason.trace(&self.what)).collect()
    }
}

/// Tells whether any of the tasks at the front must be on the disk before it is answered.
fn must_last(jobs: &VecDeque<Job>) -> bool {
    let front = jobs.iter().map_while(|job| match job {
        Job::Write(task) => Some(task),
        Job::Remove(..) | Job::Import(..) | Job::Repair(_) | Job::Scrub(..) => None,
    });
    front.into_iter().any(Task::must_last)
}

/// Takes the job at the front, if it is one of those that share a transaction.
fn next_task(jobs: &mut VecDeque<Job>) -> Option<Task> {
    match jobs.pop_front()? {
        Job::Write(task) => Some(task),
        job => {
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

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
