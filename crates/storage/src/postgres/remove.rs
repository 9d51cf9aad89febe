//! Removing sessions: hidden at once, then taken away piece by piece.
//!
//! A session may hold millions of rows. Renaming its row to what is no session's name makes it vanish
//! in an instant; its rows go afterwards, without a lock that anybody waits for. What a crash leaves
//! of that goes with the next session that is removed.

use std::time::Duration;

use contexture_core::{SessionId, storage::StorageResult};
use deadpool_postgres::ClientWrapper;

use super::{
    error::FaultResult,
    import::staged,
    pool::{Connections, pause, retire},
    read::ask,
    tables,
};

/// How many rows of a table go at a time.
const PIECE: i64 = 5_000;

/// Hides one session by its id. Its checksum covers the name; nobody reads the row any more.
pub(crate) const HIDE: &str =
    "UPDATE contexture_sessions SET name = '~~' || CAST(id AS TEXT) WHERE id = $1";

/// Removes a session, and what was begun and never finished of one. Tells whether it was there.
pub(crate) async fn session(connections: &Connections, session: &SessionId) -> StorageResult<bool> {
    let names = [session.as_str().to_owned(), staged(session)];
    let hidden = hide(connections, &names).await?;
    sweep(connections).await;
    Ok(hidden.contains(&names[0]))
}

/// Removes what was begun of a session and never finished.
pub(crate) async fn leftover(connections: &Connections, session: &SessionId) -> StorageResult<()> {
    if !hide(connections, &[staged(session)]).await?.is_empty() {
        sweep(connections).await;
    }
    Ok(())
}

/// Hides sessions; returns the names of those that were there.
async fn hide(connections: &Connections, names: &[String]) -> StorageResult<Vec<String>> {
    // Its checksum covers the name; nobody reads the row any more. Asked again after a break, it
    // finds nothing left to hide, so what it found before the break is not lost: names are read first.
    let find = "SELECT t.name FROM contexture_sessions AS t WHERE t.name = ANY($1::text[])";
    let hide = "UPDATE contexture_sessions SET name = '~~' || CAST(id AS TEXT)
                WHERE name = ANY($1::text[])";
    let mut found: Vec<String> = Vec::new();
    for attempt in 0.. {
        let done: FaultResult<()> = async {
            let db = connections.take().await?;
            let work = async {
                for row in ask(&db, find, &[&names]).await? {
                    let name: String = row.try_get(0)?;
                    if !found.contains(&name) {
                        found.push(name);
                    }
                }
                if !found.is_empty() {
                    ask(&db, hide, &[&names]).await?;
                }
                Ok(())
            };
            let done = connections.within(work).await;
            if done.is_err() {
                retire(db);
            }
            done
        }
        .await;
        match done {
            Ok(()) => break,
            Err(fault) if (fault.is_passing() || fault.is_lost()) && attempt < 3 => {
                pause(attempt, Duration::from_millis(5)).await;
            }
            Err(fault) => return Err(fault.at(&connections.what)),
        }
    }
    Ok(found)
}

/// Takes away the rows of all hidden sessions. What cannot be taken away now goes another time: the
/// sessions themselves are gone.
pub(crate) async fn sweep(connections: &Connections) {
    let swept: FaultResult<()> = async {
        let db = connections.take().await?;
        let swept = sweep_on(&db).await;
        if swept.is_err() {
            retire(db);
        }
        swept
    }
    .await;
    if let Err(fault) = swept {
        let error = fault.at(&connections.what);
        tracing::warn!(%error, "rows of a removed session were left behind");
    }
}

async fn sweep_on(db: &ClientWrapper) -> FaultResult<()> {
    let sql = "SELECT t.id FROM contexture_sessions AS t WHERE t.name >= '~~'";
    for row in ask(db, sql, &[]).await? {
        let session: i64 = row.try_get(0)?;
        for (table, key) in tables::OF_SESSIONS {
            let sql = format!(
                "DELETE FROM {table} WHERE session = $1 AND ({key}) IN (
                     SELECT {key} FROM {table} WHERE session = $1 LIMIT {PIECE})"
            );
            let statement = db.prepare_cached(&sql).await?;
            while db.execute(&statement, &[&session]).await? > 0 {}
        }
        let last = db.prepare_cached("DELETE FROM contexture_sessions WHERE id = $1").await?;
        db.execute(&last, &[&session]).await?;
    }
    Ok(())
}
