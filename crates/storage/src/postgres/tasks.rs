//! What writers ask for, and how each is decided: commits, run records, windows sent and reports.

use contexture_core::{
    SessionId,
    storage::{
        Commit, Committed, ContentHash, Keep, LedgerKey, Mark, SentWindow, StorageError,
        StorageResult,
        commit_plan::{CommitReads, check_run_version, plan_commit},
    },
};
use futures::channel::oneshot;

use super::{
    batch::{Batch, StoredContent},
    known::{Known, Needs},
    rows::SessionRow,
};

/// Who waits for an answer.
pub(crate) type Reply<T> = oneshot::Sender<StorageResult<T>>;

/// Something to be written, and who waits for it.
pub(crate) enum Task {
    Commit(Box<CommitRequest>, Reply<Committed>),
    Record(LedgerKey, Box<SentWindow>, Reply<()>),
    Keep(Box<Keep>, Reply<bool>),
}

/// A commit on its way.
pub(crate) struct CommitRequest {
    pub(crate) commit: Commit,
    /// The change's contents, compressed where that pays.
    pub(crate) contents: Vec<(ContentHash, StoredContent)>,
}

/// What a task is answered, once all that was decided with it is written.
pub(crate) enum Answer {
    Committed(Box<Committed>),
    Done,
    Kept {
        /// Whether there is the window that is reported on.
        found: bool,
        /// Whether anything is written.
        writes: bool,
    },
}

impl Answer {
    /// Tells whether anything is written for it.
    pub(crate) fn writes(&self) -> bool {
        !matches!(self, Answer::Kept { writes: false, .. })
    }
}

/// What a session to be made gets that nobody can guess.
#[derive(Clone)]
pub(crate) struct Fresh {
    pub(crate) id: i64,
    pub(crate) mark: Mark,
}

impl Task {
    /// Tells what must be read before it can be decided.
    pub(crate) fn needs(&self) -> Needs {
        match self {
            Task::Commit(request, _) => {
                Needs::of(request.commit.change.as_ref().map(CommitReads::of).unwrap_or_default())
            }
            Task::Record(key, ..) => Needs { ledgers: [key.clone()].into(), ..Needs::default() },
            Task::Keep(keep, _) => {
                let runs = keep.runs.iter().map(|put| put.key.clone()).collect();
                let report = keep.report.iter();
                let windows = report.map(|report| (report.ledger.clone(), report.number)).collect();
                Needs { windows, ..Needs::of(CommitReads { runs, ..CommitReads::default() }) }
            }
        }
    }

    /// Tells what more must be read, beyond what was `asked` for, now that that is known.
    pub(crate) fn more(&self, known: &Known, asked: &Needs) -> Needs {
        let Task::Commit(request, _) = self else { return Needs::default() };
        let Some(change) = &request.commit.change else { return Needs::default() };
        Needs::of(known.present(&asked.wanted).unread(change, &asked.wanted))
    }

    /// Tells whether it shares a transaction with nobody: it rewrites what others only add to.
    pub(crate) fn stands_alone(&self) -> bool {
        match self {
            Task::Commit(request, _) => {
                request.commit.change.as_ref().is_some_and(|change| change.purge)
            }
            Task::Keep(..) | Task::Record(..) => false,
        }
    }

    /// Tells about how many bytes it sends.
    pub(crate) fn size(&self) -> usize {
        match self {
            Task::Commit(request, _) => request.contents.iter().map(|(_, it)| it.size()).sum(),
            Task::Keep(keep, _) => {
                keep.runs.iter().filter_map(|put| put.value.as_ref()).map(String::len).sum()
            }
            Task::Record(..) => 0,
        }
    }

    /// Decides it on what is known, and adds what it writes. On an error it writes nothing.
    pub(crate) fn decide(
        &self,
        session: &SessionId,
        known: &mut Known,
        asked: &Needs,
        batch: &mut Batch,
        fresh: &Fresh,
    ) -> StorageResult<Answer> {
        let missing = || StorageError::SessionMissing { session: session.clone() };
        match self {
            Task::Commit(request, _) => {
                let present = known.present(&asked.wanted);
                let mark = || fresh.mark.clone();
                let writes = plan_commit(present, session, request.commit.clone(), mark)?;
                if writes.creates {
                    let (id, info) = (fresh.id, writes.info.clone());
                    known.session = Some(SessionRow { id, info, recent: Vec::new() });
                }
                known.overlay(&writes);
                let committed = writes.committed.clone();
                batch.add(writes);
                batch.contents.extend(request.contents.iter().cloned());
                Ok(Answer::Committed(Box::new(committed)))
            }
            Task::Record(key, sent, _) => {
                known.session.as_ref().ok_or_else(missing)?;
                if known.next_window(key) != Some(sent.number) {
                    let subject = format!("the {} ledger of view {}", key.format, key.view);
                    return Err(StorageError::Conflict { subject });
                }
                known.overlay_window(key, (**sent).clone());
                batch.windows.insert((key.clone(), sent.number), (**sent).clone());
                Ok(Answer::Done)
            }
            Task::Keep(keep, _) => {
                if known.session.is_none() && !keep.runs.is_empty() {
                    return Err(missing());
                }
                for put in &keep.runs {
                    check_run_version(known.runs.get(&put.key), put)?;
                }
                for put in &keep.runs {
                    known.overlay_run(&put.key, put.record());
                    batch.runs.insert(put.key.clone(), put.record());
                }
                let Some(report) = &keep.report else {
                    return Ok(Answer::Kept { found: true, writes: true });
                };
                let at = (report.ledger.clone(), report.number);
                let Some(mut sent) = known.window(&at).cloned() else {
                    return Ok(Answer::Kept { found: false, writes: !keep.runs.is_empty() });
                };
                sent.usage = Some(report.usage.clone());
                known.overlay_window(&report.ledger, sent.clone());
                batch.windows.insert(at, sent);
                Ok(Answer::Kept { found: true, writes: true })
            }
        }
    }

    /// Answers who waits. Nobody may be listening any more; what was written stays.
    pub(crate) fn answer(self, answer: StorageResult<Answer>) {
        match self {
            Task::Commit(_, reply) => drop(reply.send(answer.map(|answer| match answer {
                Answer::Committed(committed) => *committed,
                Answer::Done | Answer::Kept { .. } => unreachable!("a commit is answered as one"),
            }))),
            Task::Record(_, _, reply) => {
                drop(reply.send(answer.map(|_| ())));
            }
            Task::Keep(.., reply) => {
                let found = |answer| matches!(answer, Answer::Kept { found: true, .. });
                drop(reply.send(answer.map(found)));
            }
        }
    }
}
