//! One transaction for the tasks of a session that wait together.
//!
//! ```text
//! BEGIN · lock the session · read what is wanted   ──► one round trip
//! decide each task on it, and on what those before it write
//! write it all · COMMIT                            ──► one round trip
//! ```
//!
//! The lock on the session's row is what keeps writers of one session apart, in whatever process they
//! are: they wait for each other and nobody is turned away. A conflict concerns only its own task.

use std::task::Poll;

use contexture_core::{
    Revision, SessionId,
    storage::{LedgerKey, SentWindow, StorageError, StorageResult},
};
use deadpool_postgres::ClientWrapper;
use futures::{
    future::{join, join_all, join3, try_join_all},
    poll,
};
use tokio_postgres::types::ToSql;

use super::{
    batch::{self, Batch, Bound},
    error::{Fault, FaultResult, integer},
    known::{Known, Needs},
    pool::Connections,
    read::ask,
    rows::{SentRow, SessionRow},
    tasks::{Answer, Fresh, Task},
    watch,
};

/// Begins a transaction. One that its client forgot must not hold its session for ever.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL idle_in_transaction_session_timeout = '60s'";

/// What a transaction did.
pub(crate) struct Done {
    /// What each of the tasks is answered, from the first on. Tasks beyond must be done in the next.
    pub(crate) answers: Vec<StorageResult<Answer>>,
}

/// Why a transaction failed as a whole.
pub(crate) enum Failure {
    /// It was not made.
    NotMade(Fault),
    /// It was to be ended, and how that went is not known.
    Unknown(Fault, Trace, Done),
}

/// How to find out whether a transaction was made.
pub(crate) struct Trace {
    pub(crate) transaction: i64,
    /// Whether it made the session.
    pub(crate) creates: bool,
    /// The transaction that wrote to the session before it.
    pub(crate) previous: Option<i64>,
    /// One of the history entries it wrote.
    pub(crate) revision: Option<Revision>,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Failure::NotMade(fault)
    }
}

/// Does tasks in one transaction, as many as can be decided without writing in between.
pub(crate) async fn transact(
    connections: &Connections,
    db: &ClientWrapper,
    session: &SessionId,
    tasks: &[Task],
    transaction: i64,
    fresh: &Fresh,
) -> Result<Done, Failure> {
    let mut known = Known::default();
    connections.within(begin(db, session, &mut known, tasks)).await?;
    let created_before = known.session.is_some();
    let mut batch = Batch::default();
    let mut answers = Vec::with_capacity(tasks.len());
    let mut writes = false;
    for task in tasks {
        let needs = connections.within(needs(db, session, &mut known, task)).await?;
        if !known.can_tell(&needs.wanted) {
            break;
        }
        let answer = task.decide(session, &mut known, &needs, &mut batch, fresh);
        writes |= answer.as_ref().is_ok_and(|answer| answer.writes());
        answers.push(answer);
    }
    let done = Done { answers };
    let Some(mut row) = known.session.filter(|_| writes) else {
        connections.within(async { Ok(db.batch_execute("ROLLBACK").await?) }).await?;
        return Ok(done);
    };
    if batch.scrubs_ledgers {
        scrub_ledgers(db, session, row.id).await?;
    }
    let previous = row.last();
    row.note(transaction);
    let mut statements = batch.statements(row.id, transaction)?;
    statements.push(head(&row, session.as_str(), !created_before)?);
    let revision = batch.entries.keys().next_back().copied();
    let trace = Trace { transaction, creates: !created_before, previous, revision };
    let hint = revision.map(|_| watch::notify(connections, session, row.info.revision));
    match connections.within(finish(db, statements, hint)).await {
        Ok(Ended::Made) => Ok(done),
        Ok(Ended::NotMade(fault)) => Err(Failure::NotMade(fault)),
        Ok(Ended::Unknown(fault)) => Err(Failure::Unknown(fault, trace, done)),
        // Nothing was sent if preparing failed; but that it is late says nothing of what was sent.
        Err(fault @ Fault::Late(_)) => Err(Failure::Unknown(fault, trace, done)),
        Err(fault) => Err(Failure::NotMade(fault)),
    }
}

/// Begins, locks the session and reads what the tasks want, as far as that is known beforehand.
async fn begin(
    db: &ClientWrapper,
    session: &SessionId,
    known: &mut Known,
    tasks: &[Task],
) -> FaultResult<()> {
    let mut needs = Needs::default();
    tasks.iter().for_each(|task| needs.extend(task.needs()));
    let sql = format!(
        "SELECT {} FROM contexture_sessions AS t WHERE t.name = $1 FOR UPDATE",
        SessionRow::COLUMNS
    );
    // Prepared first: what is asked behind the lock must not overtake it.
    let statement = db.prepare_cached(&sql).await?;
    let name = session.as_str();
    let lock = async {
        let values: &[&(dyn ToSql + Sync)] = &[&name];
        let (begun, locked) = join(db.batch_execute(BEGIN), db.query_opt(&statement, values)).await;
        begun?;
        Ok::<_, Fault>(locked?)
    };
    let (locked, loaded) = join(lock, known.load(db, session, needs)).await;
    let row = locked?;
    loaded?;
    known.session = row.as_ref().map(SessionRow::read).transpose()?;
    Ok(())
}

/// Reads all that a task needs, and returns what that is.
async fn needs(
    db: &ClientWrapper,
    session: &SessionId,
    known: &mut Known,
    task: &Task,
) -> FaultResult<Needs> {
    let mut asked = task.needs();
    known.load(db, session, asked.clone()).await?;
    loop {
        let more = task.more(known, &asked);
        if more == Needs::default() {
            return Ok(asked);
        }
        known.load(db, session, more.clone()).await?;
        asked.extend(more);
    }
}

/// Returns the statement that writes a session's row, making it or in place of the one there is.
pub(crate) fn head(row: &SessionRow, name: &str, creates: bool) -> FaultResult<Bound> {
    let info = &row.info;
    let sql = if creates {
        "INSERT INTO contexture_sessions (name, id, app, revision, next_place, mark, created_at,
             updated_at, recent, checksum)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
    } else {
        "UPDATE contexture_sessions SET name = $1, app = $3, revision = $4, next_place = $5,
             mark = $6, created_at = $7, updated_at = $8, recent = $9, checksum = $10
         WHERE id = $2"
    };
    let values = values![
        name.to_owned(),
        row.id,
        info.app.clone().into_bytes(),
        integer(info.revision.0, "revision")?,
        integer(info.next_place.0, "place")?,
        info.mark.as_str().to_owned(),
        info.created_at.as_millis(),
        info.updated_at.as_millis(),
        row.recent.clone(),
        row.checksum(name).to_vec(),
    ];
    Ok((sql, values))
}

/// How a transaction ended.
pub(crate) enum Ended {
    Made,
    NotMade(Fault),
    Unknown(Fault),
}

/// Writes everything and commits.
///
/// All is sent at once. Where a statement fails, the server answers those behind it with errors and
/// takes COMMIT for ROLLBACK; so only if every one succeeded is what COMMIT says to be believed. What
/// others are to be told goes behind it, on the same way; nothing depends on how that ends.
pub(crate) async fn finish(
    db: &ClientWrapper,
    statements: Vec<Bound>,
    hint: Option<String>,
) -> FaultResult<Ended> {
    // All are prepared before any is sent: one that waited for that would come after COMMIT.
    let prepared = try_join_all(statements.iter().map(|(sql, _)| db.prepare_cached(sql))).await?;
    let bound: Vec<Vec<&(dyn ToSql + Sync)>> = statements
        .iter()
        .map(|(_, values)| values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect())
        .collect();
    // Each is sent when it is first polled, or not at all, if its values cannot be: then COMMIT is not
    // to be sent either.
    let (mut written, mut waiting) = (Vec::new(), Vec::new());
    for (statement, values) in prepared.iter().zip(&bound) {
        let mut write = Box::pin(db.execute(statement, values));
        match poll!(write.as_mut()) {
            Poll::Pending => waiting.push(write),
            Poll::Ready(Err(error)) if error.code().is_none() => {
                return Ok(Ended::NotMade(error.into()));
            }
            Poll::Ready(done) => written.push(done),
        }
    }
    let notify = async {
        if let Some(hint) = hint {
            drop(db.batch_execute(&hint).await);
        }
    };
    let (rest, committed, ()) = join3(join_all(waiting), db.batch_execute("COMMIT"), notify).await;
    written.extend(rest);
    let mut faults = written.into_iter().filter_map(Result::err).map(Fault::from);
    Ok(match (faults.next(), committed.map_err(Fault::from)) {
        (None, Ok(())) => Ended::Made,
        (Some(fault), _) if is_reported(&fault) => Ended::NotMade(fault),
        (None, Err(fault)) if is_reported(&fault) => Ended::NotMade(fault),
        (Some(fault), _) | (None, Err(fault)) => Ended::Unknown(fault),
    })
}

/// Tells whether the server itself said that it did not do something.
fn is_reported(fault: &Fault) -> bool {
    fault.code().is_some_and(|code| code.code() != "40003") && !fault.is_lost()
}

/// Scrubs every record of a session's ledgers, a few at a time: they may be more than fits in
/// memory.
async fn scrub_ledgers(db: &ClientWrapper, session: &SessionId, id: i64) -> FaultResult<()> {
    let sql = format!(
        "SELECT {} FROM contexture_ledger AS t
         WHERE t.session = $1 AND (t.view_id, t.format, t.number) > ($2, $3, $4)
         ORDER BY t.view_id, t.format, t.number LIMIT 100",
        SentRow::COLUMNS
    );
    let mut after = (String::new(), String::new(), 0_i64);
    loop {
        let found = ask(db, &sql, &[&id, &after.0, &after.1, &after.2]).await?;
        let Some(last) = found.last() else { return Ok(()) };
        after = (last.try_get(1)?, last.try_get(2)?, last.try_get(3)?);
        let mut scrubbed: Vec<((LedgerKey, u64), SentWindow)> = Vec::with_capacity(found.len());
        for row in &found {
            let (key, mut sent) = SentRow::read(row, session)?;
            sent.scrub();
            scrubbed.push(((key, sent.number), sent));
        }
        let mut statements = Vec::new();
        batch::write_windows(id, scrubbed.iter().map(|(key, sent)| (key, sent)), &mut statements)?;
        for (sql, values) in &statements {
            let values: Vec<&(dyn ToSql + Sync)> =
                values.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            ask(db, sql, &values).await?;
        }
    }
}

/// Returns the error for an edit that may or may not have been made.
pub(crate) fn doubtful(what: &str, fault: Fault) -> StorageError {
    let reason = match fault.at(what) {
        StorageError::Unavailable { reason, .. } => reason,
        other => other.to_string(),
    };
    let reason = format!(
        "the connection was lost while the edit was being committed ({reason}); it may have been \
         made: read the current state before you repeat it"
    );
    super::error::unavailable(what, reason)
}
