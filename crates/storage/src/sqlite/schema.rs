//! How a file gets from one version of the [tables](super::tables) to the next.

use contexture_core::storage::StorageError;
pub(crate) use contexture_core::storage::signs::APPLICATION_ID;
use rusqlite::Connection;

use super::{
    error::{Fault, FaultResult},
    read::collect,
    rows::ViewRow,
    tables,
};

/// The version of the tables this program knows.
const TABLES: i64 = MIGRATIONS.len() as i64;

/// The version of the files this program makes: those tables, and a checksum in every page.
pub(crate) const VERSION: i64 = TABLES + 1;

const _: () = assert!(VERSION == contexture_vfs::SINCE as i64);

/// Each brings the tables from the version of its position to the next. Never changed once released.
const MIGRATIONS: &[Migration] = &[
    Migration { tables: tables::FIRST, fill: nothing },
    Migration { tables: tables::SECOND, fill: list_views },
    Migration { tables: tables::THIRD, fill: nothing },
    Migration { tables: tables::FOURTH, fill: nothing },
];

/// One step from a version of the tables to the next.
struct Migration {
    tables: &'static str,
    /// Writes the rows that the new tables owe to the old ones.
    fill: fn(&Connection) -> FaultResult<()>,
}

fn nothing(_: &Connection) -> FaultResult<()> {
    Ok(())
}

/// Lists the views that say anything. What last changed them is not known, but it is no later than
/// the session's newest edit.
fn list_views(db: &Connection) -> FaultResult<()> {
    let sql = "SELECT sessions.id, said.view, sessions.revision FROM sessions JOIN (
                   SELECT session, view FROM levels
                   UNION SELECT session, view FROM focus
                   UNION SELECT session, 'system' FROM custom) AS said
               ON said.session = sessions.id";
    let heads = collect(db, sql, [], |row| {
        Ok(ViewRow { session: row.get(0)?, view: row.get(1)?, touched: row.get(2)? })
    })?;
    heads.iter().try_for_each(|head| head.write(db))
}

/// What a database says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    application: i32,
    version: i64,
    /// How often its schema changed; 0 for a file in which nothing was ever made.
    changes: i64,
}

impl Identity {
    /// Reads it from the database's header.
    pub(crate) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok(Self {
            application: db.pragma_query_value(None, "application_id", |row| row.get(0))?,
            version: number("user_version")?,
            changes: number("schema_version")?,
        })
    }

    /// Tells whether nothing was ever written, so that it may become ours.
    pub(crate) fn is_blank(self) -> bool {
        self == Self { application: 0, version: 0, changes: 0 }
    }

    /// Tells whether its tables are the ones this program knows.
    pub(crate) fn has_tables(self) -> bool {
        self.application == APPLICATION_ID && (TABLES..=VERSION).contains(&self.version)
    }

    /// Tells whether its pages carry checksums.
    pub(crate) fn has_sums(self) -> bool {
        self.application == APPLICATION_ID && self.version == VERSION
    }

    /// Refuses what is not ours, or was written by a later program.
    pub(crate) fn check(self, what: &str) -> Result<(), StorageError> {
        if self.application != APPLICATION_ID {
            return Err(StorageError::Foreign {
                what: what.to_owned(),
                reason: format!("it is a SQLite database with application id {}", self.application),
            });
        }
        if self.version > VERSION {
            let (found, known) = (self.version, VERSION);
            return Err(StorageError::Newer { what: what.to_owned(), found, known });
        }
        Ok(())
    }
}

/// Makes or updates the tables, all or nothing. Several processes may do so at once.
///
/// Only a file that is made here is of the newest version at once: to others, [`super::sums`] gives the
/// checksums that it asks for.
pub(crate) fn migrate(db: &mut Connection, what: &str) -> FaultResult<()> {
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let identity = Identity::read(&transaction)?;
    if !identity.is_blank() {
        identity.check(what)?;
    }
    let done = usize::try_from(identity.version)
        .map_err(|_| Fault::corrupt(what, format!("its version is {}", identity.version)))?;
    apply(&transaction, done, MIGRATIONS.len())?;
    if identity.is_blank() {
        mark_sums(&transaction)?;
    }
    Ok(transaction.commit()?)
}

/// Brings the tables from one version to another.
fn apply(db: &Connection, from: usize, to: usize) -> FaultResult<()> {
    for migration in MIGRATIONS.get(from..to).unwrap_or_default() {
        db.execute_batch(migration.tables)?;
        (migration.fill)(db)?;
    }
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    if from < to {
        db.pragma_update(None, "user_version", i64::try_from(to).unwrap_or(TABLES))?;
    }
    Ok(())
}

/// Says that every page of the file carries its checksum.
pub(crate) fn mark_sums(db: &Connection) -> FaultResult<()> {
    Ok(db.pragma_update(None, "user_version", VERSION)?)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
