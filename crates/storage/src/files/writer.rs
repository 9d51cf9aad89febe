//! The writer's thread: it takes all that is waiting, locks the folder once, and makes of neighbouring
//! commits one group with one sync.

use std::{
    collections::VecDeque,
    sync::mpsc,
    thread::{self, JoinHandle},
};

use contexture_core::{
    SessionId,
    storage::{StorageError, StorageResult},
};
use futures::channel::oneshot;

use super::{batch::Batch, index::FilesFaultResult, store::Store};

/// A commit on its way, or something like it.
pub(crate) trait Task: Send {
    fn session(&self) -> &SessionId;

    /// Decides it, and notes what it writes. It may be asked again, from the beginning.
    fn stage(&mut self, batch: &mut Batch<'_>) -> FilesFaultResult<()>;

    /// Notes that it was not made.
    fn refuse(&mut self, error: StorageError);

    /// Answers, once it is known what became of the group.
    fn finish(self: Box<Self>, group: &StorageResult<()>);
}

struct Write<T, F> {
    session: SessionId,
    work: F,
    answer: Option<StorageResult<T>>,
    reply: oneshot::Sender<StorageResult<T>>,
}

impl<T: Send, F: FnMut(&mut Batch<'_>) -> FilesFaultResult<T> + Send> Task for Write<T, F> {
    fn session(&self) -> &SessionId {
        &self.session
    }

    fn stage(&mut self, batch: &mut Batch<'_>) -> FilesFaultResult<()> {
        self.answer = None;
        self.answer = Some(Ok((self.work)(batch)?));
        Ok(())
    }

    fn refuse(&mut self, error: StorageError) {
        self.answer = Some(Err(error));
    }

    fn finish(self: Box<Self>, group: &StorageResult<()>) {
        let answer = match (self.answer, group) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.clone()),
            (Some(answer), Ok(())) => answer,
            (None, Ok(())) => Err(ended()),
        };
        // Who stopped waiting does not want to know.
        let _ = self.reply.send(answer);
    }
}

/// Something done alone, with the folder locked.
type Alone = Box<dyn FnOnce(StorageResult<&mut Store>) + Send>;

enum Job {
    Write(Box<dyn Task>),
    Alone(Alone),
}

/// The way to the writer's thread.
#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// How many jobs are made with the folder locked once.
    const MOST: usize = 256;

    pub(crate) fn start(mut store: Store) -> StorageResult<Self> {
        let what = store.shared.folder.path().display().to_string();
        let (jobs, waiting) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("contexture-files".to_owned())
            .spawn(move || {
                while let Ok(first) = waiting.recv() {
                    let mut queue = VecDeque::from([first]);
                    while queue.len() < Self::MOST
                        && let Ok(next) = waiting.try_recv()
                    {
                        queue.push_back(next);
                    }
                    work(&mut store, queue);
                }
                store.close();
            })
            .map_err(|error| StorageError::Unavailable { what, reason: error.to_string() })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Makes a commit, or something like it.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        session: &SessionId,
        work: impl FnMut(&mut Batch<'_>) -> FilesFaultResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        let (reply, answer) = oneshot::channel();
        let session = session.clone();
        let answer_to_be = None;
        self.send(Job::Write(Box::new(Write { session, work, answer: answer_to_be, reply })))?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Does something alone. It may be done again, from the beginning, on an index made anew.
    pub(crate) async fn alone<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut Store) -> FilesFaultResult<T> + Send + 'static,
    ) -> StorageResult<T> {
        let (reply, answer) = oneshot::channel();
        let job = move |store: StorageResult<&mut Store>| {
            let done = store.and_then(|store| match work(store) {
                Err(fault) if fault.is_damage() => {
                    store.remake_index()?;
                    work(store).map_err(|fault| fault.at(&store.index.path))
                }
                done => done.map_err(|fault| fault.at(&store.index.path)),
            });
            let _ = reply.send(done);
        };
        self.send(Job::Alone(Box::new(job)))?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }

    fn send(&self, job: Job) -> StorageResult<()> {
        let jobs = self.jobs.as_ref().ok_or_else(ended)?;
        jobs.send(job).map_err(|_| ended())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

fn ended() -> StorageError {
    let reason = "its writer has ended".to_owned();
    StorageError::Unavailable { what: "the files storage".to_owned(), reason }
}

fn work(store: &mut Store, queue: VecDeque<Job>) {
    if let Err(error) = store.acquire() {
        for job in queue {
            match job {
                Job::Write(task) => task.finish(&Err(error.clone())),
                Job::Alone(alone) => alone(Err(error.clone())),
            }
        }
        return;
    }
    let mut tasks: Vec<Box<dyn Task>> = Vec::new();
    for job in queue {
        match job {
            Job::Write(task) => tasks.push(task),
            Job::Alone(alone) => {
                group(store, &mut tasks);
                match store.finish_placing() {
                    Ok(()) => alone(Ok(store)),
                    Err(error) => alone(Err(error)),
                }
            }
        }
    }
    group(store, &mut tasks);
    store.release();
}

fn group(store: &mut Store, tasks: &mut Vec<Box<dyn Task>>) {
    if tasks.is_empty() {
        return;
    }
    let made = store.group(tasks);
    // Those refused are answered now too: what beat them can be read from here on.
    tasks.drain(..).for_each(|task| task.finish(&made));
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::Arc};

    use contexture_core::{
        Revision, Timestamp,
        storage::{Mark, Place, SessionInfo},
    };

    use super::*;
    use crate::files::{
        FilesOptions,
        folder::Folder,
        record::{Head, Record},
        store::Shared,
    };

    /// Writes a session's head, and its custom state, whose place may be taken.
    fn write(session: &SessionId) -> (Job, oneshot::Receiver<StorageResult<()>>) {
        let info = SessionInfo {
            id: session.clone(),
            app: "test".to_owned(),
            revision: Revision(0),
            next_place: Place(1),
            mark: Mark::from_seed(&[]),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        };
        let (reply, answer) = oneshot::channel();
        let id = session.clone();
        let work = move |batch: &mut Batch<'_>| {
            let key = batch.put_head(Head {
                info: info.clone(),
                beside: 0,
                files: Default::default(),
            })?;
            batch.put(key, &id, &Record::Custom(Default::default()))
        };
        (
            Job::Write(Box::new(Write { session: session.clone(), work, answer: None, reply })),
            answer,
        )
    }

    #[test]
    fn nothing_is_done_alone_on_files_half_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, options) = (Folder::open(dir.path()).unwrap(), FilesOptions::default());
        let shared = Arc::new(Shared::new(folder, options));
        let mut store = Store::open(shared).unwrap();
        let in_the_way = dir.path().join("sessions/test/custom.json");
        fs::create_dir_all(&in_the_way).unwrap();
        let alone = || {
            let (answer, answered) = mpsc::channel();
            let job = move |store: StorageResult<&mut Store>| answer.send(store.map(drop)).unwrap();
            (Job::Alone(Box::new(job)), answered)
        };
        let ((written, mut answer), (first, answered)) = (write(&"test".parse().unwrap()), alone());
        work(&mut store, VecDeque::from([written, first]));
        let made = answer.try_recv().unwrap();
        assert!(matches!(made, Some(Ok(()))), "it stands in the journal: {made:?}");
        let refused = answered.recv().unwrap().unwrap_err();
        assert!(matches!(refused, StorageError::Unavailable { .. }), "{refused}");
        fs::remove_dir(&in_the_way).unwrap();
        let (second, answered) = alone();
        work(&mut store, VecDeque::from([second]));
        answered.recv().unwrap().unwrap();
        assert!(in_the_way.is_file());
    }
}
