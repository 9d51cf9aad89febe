//! Finding out whether a transaction was made whose end nobody heard.
//!
//! A connection can break between COMMIT and its answer. Every transaction has a random id, which it
//! leaves in the session's row and in its history entries. Asking for it takes the session's lock: the
//! lost transaction holds that until it has ended, one way or the other, so what is found is final.

use std::time::Instant;

use contexture_core::SessionId;
use deadpool_postgres::ClientWrapper;

use super::{
    error::{Fault, FaultResult, integer},
    group::{BEGIN, Trace},
    pool::{Connections, pause, retire},
    read::ask,
    rows::SessionRow,
};

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Made,
    NotMade,
    /// It cannot be found out.
    Unknown,
}

/// Finds out what became of a transaction, for as long as waiting is worth it.
pub(crate) async fn find_out(
    connections: &Connections,
    session: &SessionId,
    trace: &Trace,
) -> Fate {
    let began = Instant::now();
    for attempt in 0.. {
        match look(connections, session, trace).await {
            Ok(fate) => return fate,
            Err(fault) if began.elapsed() < connections.patience => {
                tracing::debug!(?fault, "asking again whether a commit was made");
                pause(attempt, std::time::Duration::from_millis(10)).await;
            }
            Err(_) => break,
        }
    }
    Fate::Unknown
}

async fn look(connections: &Connections, session: &SessionId, trace: &Trace) -> FaultResult<Fate> {
    let db = connections.take().await?;
    let found = connections.within(find(&db, session, trace)).await;
    // With it goes the transaction, and the lock.
    retire(db);
    found
}

async fn find(db: &ClientWrapper, session: &SessionId, trace: &Trace) -> FaultResult<Fate> {
    db.batch_execute(BEGIN).await?;
    if trace.creates {
        // A row that is not committed cannot be seen, but putting one in its place waits for it.
        let sql = "INSERT INTO contexture_sessions (name, id, app, revision, next_place, mark,
                       created_at, updated_at, recent, checksum)
                   VALUES ($1, $2, '', 0, 0, '', 0, 0, '', '') ON CONFLICT (name) DO NOTHING";
        if db.execute(sql, &[&session.as_str(), &trace.transaction]).await? == 1 {
            return Ok(Fate::NotMade);
        }
    }
    let sql = format!(
        "SELECT {} FROM contexture_sessions AS t WHERE t.name = $1 FOR UPDATE",
        SessionRow::COLUMNS
    );
    let rows = ask(db, &sql, &[&session.as_str()]).await?;
    let Some(row) = rows.first().map(SessionRow::read).transpose()? else {
        return Ok(Fate::NotMade);
    };
    if row.remembers(trace.transaction) {
        return Ok(Fate::Made);
    }
    // It would stand right before the one it followed.
    if row.remembers_all() || trace.previous.is_some_and(|previous| row.remembers(previous)) {
        return Ok(Fate::NotMade);
    }
    let Some(revision) = trace.revision else { return Ok(Fate::Unknown) };
    let revision = integer(revision.0, "revision").map_err(Fault::from)?;
    let sql = "SELECT t.written_by FROM contexture_history AS t
               WHERE t.session = $1 AND t.revision = $2";
    let rows = ask(db, sql, &[&row.id, &revision]).await?;
    let by = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose()?;
    Ok(if by == Some(trace.transaction) { Fate::Made } else { Fate::NotMade })
}
