//! Run records: a row each, changed by commits and between them, never part of history.

use contexture_core::{
    SessionId, Timestamp,
    storage::{RunKey, RunPut, RunRecord, StorageError, Version},
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::packing::checksum;

use super::{
    error::{Fault, FaultResult, integer, natural},
    lookup,
    rows::{fits, session_name},
};

/// What [`read_row`] reads.
pub(crate) const COLUMNS: &str = "key, version, value, updated_at, checksum";

/// Reads the records whose keys begin with a prefix, by key.
pub(crate) fn read(
    db: &Connection,
    session: &SessionId,
    prefix: &str,
) -> FaultResult<Vec<RunRecord>> {
    let Some(key) = lookup::session_key(db, session)? else { return Ok(Vec::new()) };
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE session = ?1 AND key >= ?2 ORDER BY key");
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query(params![key, prefix])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        // Those that begin with the prefix stand together, from the prefix itself on.
        let name = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        if !name.starts_with(prefix) {
            break;
        }
        records.push(read_row(row, key, session)?);
    }
    Ok(records)
}

/// Reads a row, if it is what was written.
pub(crate) fn read_row(
    row: &Row<'_>,
    session: i64,
    session_id: &SessionId,
) -> FaultResult<RunRecord> {
    let name = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
    let value = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
    let (version, at): (i64, i64) = (row.get(1)?, row.get(3)?);
    let what = format!("run '{name}' of {}", session_name(session_id));
    if !fits(row, 4, row_checksum(session, name, version, value, at))? {
        return Err(Fault::corrupt(what, "its checksum does not match"));
    }
    let key: RunKey = name.parse().map_err(|error| Fault::corrupt(&what, error))?;
    let version = Version(natural(version, what)?);
    let (value, updated_at) = (value.to_owned(), Timestamp::from_millis(at));
    Ok(RunRecord { key, version, value, updated_at })
}

fn row_checksum(session: i64, key: &str, version: i64, value: &str, at: i64) -> [u8; 16] {
    let [session, version, at] = [session, version, at].map(i64::to_le_bytes);
    checksum(&[&session, key.as_bytes(), &version, value.as_bytes(), &at])
}

/// Refuses a put when its record is not at the version expected. Without a key there is no session
/// yet.
pub(crate) fn check(db: &Connection, session: Option<i64>, put: &RunPut) -> FaultResult<()> {
    let mut query =
        db.prepare_cached("SELECT version FROM runs WHERE session = ?1 AND key = ?2")?;
    let stored: Option<i64> =
        query.query_row(params![session, put.key.as_str()], |row| row.get(0)).optional()?;
    let stored = stored.and_then(|version| u64::try_from(version).ok());
    if stored == put.expect.map(|version| version.0) {
        return Ok(());
    }
    Err(StorageError::RunMoved { key: put.key.clone() }.into())
}

/// Writes what a put leaves.
pub(crate) fn write(db: &Connection, session: i64, put: &RunPut) -> FaultResult<()> {
    let key = put.key.as_str();
    let Some(value) = &put.value else {
        db.prepare_cached("DELETE FROM runs WHERE session = ?1 AND key = ?2")?
            .execute(params![session, key])?;
        return Ok(());
    };
    put_row(db, session, key, put.version(), value, put.at)
}

/// Writes a record as it is.
pub(crate) fn write_record(db: &Connection, session: i64, record: &RunRecord) -> FaultResult<()> {
    let RunRecord { key, version, value, updated_at } = record;
    put_row(db, session, key.as_str(), *version, value, *updated_at)
}

fn put_row(
    db: &Connection,
    session: i64,
    key: &str,
    version: Version,
    value: &str,
    at: Timestamp,
) -> FaultResult<()> {
    let (version, at) = (integer(version.0, "version")?, at.as_millis());
    db.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (session, key) DO UPDATE SET
             version = excluded.version, value = excluded.value,
             updated_at = excluded.updated_at, checksum = excluded.checksum",
    )?
    .execute(params![
        session,
        key,
        version,
        value,
        at,
        row_checksum(session, key, version, value, at)
    ])?;
    Ok(())
}
