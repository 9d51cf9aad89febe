//! Scrubbing: tables are written anew, so that no dead row keeps what was purged.
//!
//! A row that was deleted or replaced stays in the server's files until its space is used again. What
//! the server's write-ahead log, its replicas and backups hold is beyond this.

use contexture_core::storage::{Quarantine, StorageResult, Trace};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::error::SqlState;

use super::{
    error::{Fault, FaultResult},
    pool::{Connections, retire},
    read::ask,
    tables,
};

/// What is left of a purge before anybody has scrubbed.
pub(crate) fn after_purge(what: &str) -> Trace {
    let until = "a scrub rewrites the tables, or the server has used their space again";
    Trace::new(format!("dead rows of the tables in {what}"), until)
}

/// Writes all tables anew, after emptying the quarantine where that is asked for; returns what remains but
/// for the quarantine.
pub(crate) async fn run(
    connections: &Connections,
    quarantine: Quarantine,
) -> StorageResult<Vec<Trace>> {
    let scrubbed: FaultResult<Vec<Trace>> = async {
        let db = connections.take().await?;
        let scrubbed = scrub(&db, &connections.what, quarantine).await;
        // It waits for locks in its own way; nobody else is to.
        retire(db);
        scrubbed
    }
    .await;
    scrubbed.map_err(|fault| fault.at(&connections.what))
}

async fn scrub(db: &ClientWrapper, what: &str, quarantine: Quarantine) -> FaultResult<Vec<Trace>> {
    db.batch_execute("SET lock_timeout = '10s'; SET statement_timeout = 0").await?;
    if quarantine == Quarantine::Empty {
        db.batch_execute("DELETE FROM contexture_quarantine").await?;
    }
    let mut traces = Vec::new();
    let earlier = "SELECT count(*) FROM pg_stat_activity AS t
         WHERE t.datname = current_database() AND t.pid <> pg_backend_pid()
             AND t.backend_type = 'client backend' AND t.backend_xmin IS NOT NULL";
    let readers: i64 = match ask(db, earlier, &[]).await?.first() {
        Some(row) => row.try_get(0)?,
        None => 0,
    };
    if readers > 0 {
        let until = format!("{readers} other connections that read an earlier state have ended");
        traces.push(Trace::new(format!("dead rows of the tables in {what}"), until));
    }
    let others = ["contexture_sessions", "contexture_quarantine"];
    let names = tables::OF_SESSIONS.iter().map(|(table, _)| *table).chain(others);
    for table in names {
        let owned = format!(
            "SELECT pg_has_role(t.relowner, 'USAGE') FROM pg_class AS t
             WHERE t.oid = '{table}'::regclass"
        );
        let owned = match ask(db, &owned, &[]).await?.first() {
            Some(row) => row.try_get(0)?,
            None => false,
        };
        let rewritten = if owned {
            db.batch_execute(&format!("VACUUM FULL {table}")).await.map_err(Fault::from)
        } else {
            traces.push(Trace::new(format!("table {table}"), "its owner runs VACUUM FULL on it"));
            continue;
        };
        match rewritten {
            Ok(()) => {}
            Err(Fault::Postgres(error)) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                let until = "the connections that use it have ended and a scrub rewrites it";
                traces.push(Trace::new(format!("table {table}"), until));
            }
            Err(fault) => return Err(fault),
        }
    }
    Ok(traces)
}
