//! Removing a session with all it holds.

use std::collections::BTreeMap;

use contexture_core::{SessionId, storage::ContentHash};
use rusqlite::Connection;

use super::{contents, error::FaultResult, import, lookup, rows::HistoryRow};

/// Removes a session; content that others share stays. Tells whether it was there.
pub(crate) fn session(db: &Connection, session: &SessionId) -> FaultResult<bool> {
    import::drop_staged(db, session)?;
    let Some(key) = lookup::session_key(db, session)? else { return Ok(false) };
    rows(db, session, key)?;
    Ok(true)
}

/// Removes all rows of a session.
pub(crate) fn rows(db: &Connection, session: &SessionId, key: i64) -> FaultResult<()> {
    for (hash, references) in references(db, session, key)? {
        contents::release(db, hash, references)?;
    }
    for sql in [
        "DELETE FROM pages WHERE segment IN (SELECT id FROM segments WHERE session = ?1)",
        "DELETE FROM directories WHERE segment IN (SELECT id FROM segments WHERE session = ?1)",
        "DELETE FROM levels WHERE session = ?1",
        "DELETE FROM focus WHERE session = ?1",
        "DELETE FROM views WHERE session = ?1",
        "DELETE FROM ledger WHERE session = ?1",
        "DELETE FROM runs WHERE session = ?1",
        "DELETE FROM custom WHERE session = ?1",
        "DELETE FROM history WHERE session = ?1",
        "DELETE FROM segments WHERE session = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        db.prepare_cached(sql)?.execute([key])?;
    }
    Ok(())
}

/// Counts a session's references to contents, from its history.
pub(crate) fn references(
    db: &Connection,
    session: &SessionId,
    key: i64,
) -> FaultResult<BTreeMap<ContentHash, i64>> {
    let sql = format!("SELECT {} FROM history WHERE session = ?1", HistoryRow::COLUMNS);
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query([key])?;
    let mut references = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let entry = HistoryRow::read(row, key, session)?;
        for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
            *references.entry(hash).or_default() += 1;
        }
    }
    Ok(references)
}
