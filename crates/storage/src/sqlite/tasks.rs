//! What the writer does in a shared transaction: commits, run records, windows sent, reports and
//! counts.

use contexture_core::storage::{Committed, StorageResult};
use futures::channel::oneshot;
use rusqlite::Connection;

use super::{
    commit::{self, Refusal, Request},
    counts,
    heads::Heads,
    ledger::{self, Record, Report},
    runs::{self, Keep},
};

/// Who waits for an answer.
pub(crate) type Reply<T> = oneshot::Sender<StorageResult<T>>;

/// Something to be written, and who waits for it.
pub(crate) enum Task {
    Commit(Box<Request>, Reply<Committed>),
    Run(Box<Keep>, Reply<()>),
    Record(Box<Record>, Reply<()>),
    Report(Box<Report>, Reply<bool>),
    Counts(counts::Rows, Reply<()>),
}

impl Task {
    /// Writes it. One that was spoilt by another may be written again.
    pub(crate) fn apply(&mut self, db: &Connection, heads: &mut Heads) -> Result<(), Refusal> {
        match self {
            Task::Commit(request, _) => commit::apply(db, heads, request),
            Task::Run(keep, _) => runs::keep(db, heads, keep),
            Task::Record(record, _) => ledger::append(db, heads, record),
            Task::Report(report, _) => ledger::report(db, heads, report),
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
                let Request { revision, change, .. } = *request;
                drop(reply.send(result.map(|()| Committed { revision, change })));
            }
            Task::Report(report, reply) => drop(reply.send(result.map(|()| report.found))),
            Task::Run(_, reply) | Task::Record(_, reply) | Task::Counts(_, reply) => {
                drop(reply.send(result));
            }
        }
    }
}
