//! Whose tables lie in a database, and of which version; making and updating them.
//!
//! A database may hold tables of others: ours all begin with `contexture_`, and `contexture_meta`
//! says whose they are. Which schema they lie in is up to the connection's `search_path`.

use std::time::Duration;

use contexture_core::storage::{StorageError, StorageResult};
use deadpool_postgres::ClientWrapper;
use tokio_postgres::{SimpleQueryMessage, error::SqlState};

use crate::options::CreateMode;

use super::{
    error::{Fault, FaultResult, unavailable},
    pool::pause,
    tables,
};

/// What the meta row says of whose tables they are.
const APPLICATION: &str = "contexture";

/// The version this program knows.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Each brings the tables from one version to the next.
const MIGRATIONS: &[&[&str]] = &[tables::FIRST];

/// The key of the lock that those take who make tables: "contextu".
const LOCK: i64 = 0x636f_6e74_6578_7475;

/// How often making tables is tried where the database has no lock for it.
const ATTEMPTS: u32 = 12;

/// What a database says it is.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// There are no tables of ours.
    Blank,
    /// There are, of this version.
    Ours(i64),
    /// Somebody else's table has the name of ours.
    Foreign(String),
}

impl Identity {
    async fn read(db: &ClientWrapper) -> FaultResult<Self> {
        // One round trip; a prepared statement would take two.
        let rows = match db.simple_query("SELECT application, version FROM contexture_meta").await {
            Ok(rows) => rows,
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => {
                return Ok(Identity::Blank);
            }
            Err(error) if error.code() == Some(&SqlState::UNDEFINED_COLUMN) => {
                let reason = "its table contexture_meta has unexpected columns".to_owned();
                return Ok(Identity::Foreign(reason));
            }
            Err(error) => return Err(error.into()),
        };
        let row = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((row.get(0)?.to_owned(), row.get(1)?.parse().ok()?))
            }
            _ => None,
        });
        Ok(match row {
            Some((application, version)) if application == APPLICATION => Identity::Ours(version),
            Some(_) | None => Identity::Foreign(
                "its table contexture_meta does not identify it as one".to_owned(),
            ),
        })
    }
}

/// Sees to it that the tables are there, making or updating them where `create` says so.
pub(crate) async fn ensure(
    db: &ClientWrapper,
    what: &str,
    create: CreateMode,
) -> StorageResult<()> {
    for attempt in 0..ATTEMPTS {
        let identity = Identity::read(db).await.map_err(|fault| fault.at(what))?;
        let from = match identity {
            Identity::Foreign(reason) => {
                return Err(StorageError::Foreign { what: what.to_owned(), reason });
            }
            Identity::Ours(found) if found > VERSION => {
                return Err(StorageError::Newer { what: what.to_owned(), found, known: VERSION });
            }
            Identity::Ours(VERSION) => return Ok(()),
            Identity::Ours(version) => usize::try_from(version).unwrap_or(0),
            Identity::Blank if create == CreateMode::MustExist => {
                return Err(StorageError::Missing { what: what.to_owned() });
            }
            Identity::Blank => 0,
        };
        match migrate(db, from).await {
            Ok(()) => {}
            // Somebody else is making them just now: look again.
            Err(fault) if is_race(&fault) => pause(attempt, Duration::from_millis(20)).await,
            Err(fault) => return Err(fault.at(what)),
        }
    }
    Err(unavailable(what, "other processes are creating its tables"))
}

fn is_race(fault: &Fault) -> bool {
    fault.is_passing()
        || matches!(
            fault.code(),
            Some(
                &SqlState::DUPLICATE_TABLE
                    | &SqlState::DUPLICATE_OBJECT
                    | &SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
            )
        )
}

/// Makes or updates the tables, all or nothing.
async fn migrate(db: &ClientWrapper, from: usize) -> FaultResult<()> {
    let done = try_migrate(db, from).await;
    if done.is_err() {
        // The error that led here says more than one of this.
        let _ = db.batch_execute("ROLLBACK").await;
    }
    done
}

async fn try_migrate(db: &ClientWrapper, from: usize) -> FaultResult<()> {
    db.batch_execute("BEGIN").await?;
    match db.batch_execute(&format!("SELECT pg_advisory_xact_lock({LOCK})")).await {
        Ok(()) => {}
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_FUNCTION) => {
            // Then the first to commit wins, and the others look again.
            db.batch_execute("ROLLBACK; BEGIN").await?;
        }
        Err(error) => return Err(error.into()),
    }
    // Whoever held the lock may have done it all. Asking in a way that cannot fail: a failed
    // statement would end the transaction.
    let sql = "SELECT count(*) FROM pg_catalog.pg_class AS c
               WHERE c.relname = 'contexture_meta' AND pg_catalog.pg_table_is_visible(c.oid)";
    let there: i64 = db.query_one(sql, &[]).await?.try_get(0)?;
    let version = if there == 0 {
        let sql = "CREATE TABLE contexture_meta (
                       application TEXT PRIMARY KEY, version BIGINT NOT NULL)";
        db.batch_execute(sql).await?;
        let insert = "INSERT INTO contexture_meta (application, version) VALUES ($1, 0)";
        db.execute(insert, &[&APPLICATION]).await?;
        0
    } else {
        db.query_one("SELECT version FROM contexture_meta", &[]).await?.try_get::<_, i64>(0)?
    };
    let from = usize::try_from(version).map_or(from, |version| version.max(from));
    for statements in MIGRATIONS.iter().skip(from) {
        db.batch_execute(&statements.join(";\n")).await?;
    }
    db.execute("UPDATE contexture_meta SET version = $1 WHERE version < $1", &[&VERSION]).await?;
    db.batch_execute("COMMIT").await?;
    Ok(())
}
