//! What the writer does in a shared transaction: commits, run records, windows sent, reports and
//! counts.

use contexture_core::{
    SessionId,
    storage::{Committed, Keep, StorageError, StorageResult},
};
use futures::channel::oneshot;
use rusqlite::Connection;

use super::{
    commit::{self, CommitRequest, Refusal},
    counts,
    error::FaultResult,
    heads::Heads,
    ledger::{self, Record, SentRow},
    runs,
};

/// Who waits for an answer.
pub(crate) type Reply<T> = oneshot::Sender<StorageResult<T>>;

/// Something to be written, and who waits for it.
pub(crate) enum Task {
    Commit(Box<CommitRequest>, Reply<Committed>),
    Record(Box<Record>, Reply<()>),
    Keep(Box<Keeping>, Reply<bool>),
    Counts(counts::Rows, Reply<()>),
}

impl Task {
    /// Writes it. One that was spoilt by another may be written again.
    pub(crate) fn apply(&mut self, db: &Connection, heads: &mut Heads) -> Result<(), Refusal> {
        match self {
            Task::Commit(request, _) => commit::apply(db, heads, request),
            Task::Record(record, _) => ledger::append(db, heads, record),
            Task::Keep(keep, _) => keep.apply(db, heads),
            Task::Counts(rows, _) => counts::keep(db, rows).map_err(Refusal::Midway),
        }
    }

    /// Tells whether it must leave no trace of what it takes away.
    pub(crate) fn purges(&self) -> bool {
        matches!(self, Task::Commit(request, _) if request.purges())
    }

    /// Tells whether it must be on the disk before it is answered.
    pub(crate) fn must_last(&self) -> bool {
        !matches!(self, Task::Counts(..))
    }

    /// Answers who waits. Nobody may be listening any more; what was written stays.
    pub(crate) fn answer(self, result: StorageResult<()>) {
        match self {
            Task::Commit(request, reply) => {
                let CommitRequest { revision, change, .. } = *request;
                drop(reply.send(result.map(|()| Committed { revision, change })));
            }
            Task::Keep(keep, reply) => drop(reply.send(result.map(|()| keep.found))),
            Task::Record(_, reply) | Task::Counts(_, reply) => {
                drop(reply.send(result));
            }
        }
    }
}

/// What is kept between commits, on its way.
pub(crate) struct Keeping {
    pub(crate) session: SessionId,
    pub(crate) keep: Keep,
    /// Whether there is the window that is reported on, once that is known.
    pub(crate) found: bool,
}

impl Keeping {
    fn apply(&mut self, db: &Connection, heads: &mut Heads) -> Result<(), Refusal> {
        let checked = self.check(db, heads).map_err(Refusal::Before)?;
        let Some((session, reported)) = checked else { return Ok(()) };
        let written = || -> FaultResult<()> {
            self.keep.runs.iter().try_for_each(|put| runs::write(db, session, put))?;
            reported.iter().try_for_each(|row| row.write(db, session))
        };
        written().map_err(Refusal::Midway)
    }

    /// Returns the session's key and the row as the report leaves it, if every run record is at the
    /// version expected. Nothing is returned where there is nothing to write.
    fn check(
        &mut self,
        db: &Connection,
        heads: &mut Heads,
    ) -> FaultResult<Option<(i64, Option<SentRow>)>> {
        let Keep { runs, report } = &self.keep;
        let Some(head) = heads.session(db, &self.session)? else {
            self.found = report.is_none();
            return match runs.is_empty() {
                true => Ok(None),
                false => Err(StorageError::SessionMissing { session: self.session.clone() }.into()),
            };
        };
        let session = head.key;
        runs.iter().try_for_each(|put| runs::check(db, Some(session), put))?;
        let reported = match report {
            Some(report) => ledger::reported(db, &self.session, report)?,
            None => None,
        };
        self.found = report.is_none() || reported.is_some();
        Ok(Some((session, reported)))
    }
}
