//! Looking up single rows, for those who read and for the writer alike.

use contexture_core::{
    HistoryEntry, Revision, SegmentId, SessionId,
    storage::{ChunkKey, LevelChunk},
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::FaultResult,
    rows::{ChunkRow, HistoryRow, SegmentRow, SessionRow},
};

/// Loads a session's row.
pub(crate) fn session(db: &Connection, id: &SessionId) -> FaultResult<Option<SessionRow>> {
    let sql = format!("SELECT {} FROM sessions WHERE name = ?1", SessionRow::COLUMNS);
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query([id.as_str()])?;
    rows.next()?.map(SessionRow::read).transpose()
}

/// Loads a segment's row.
pub(crate) fn segment(
    db: &Connection,
    session: i64,
    session_id: &SessionId,
    id: &SegmentId,
) -> FaultResult<Option<SegmentRow>> {
    let columns = SegmentRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM segments WHERE session = ?1 AND name = ?2");
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query(params![session, id.as_str()])?;
    rows.next()?.map(|row| SegmentRow::read(row, session, session_id)).transpose()
}

/// Returns a session's key.
pub(crate) fn session_key(db: &Connection, id: &SessionId) -> FaultResult<Option<i64>> {
    let mut query = db.prepare_cached("SELECT id FROM sessions WHERE name = ?1")?;
    Ok(query.query_row([id.as_str()], |row| row.get(0)).optional()?)
}

/// Returns the key of a session's segment.
pub(crate) fn segment_key(
    db: &Connection,
    session: i64,
    id: &SegmentId,
) -> FaultResult<Option<i64>> {
    let mut query =
        db.prepare_cached("SELECT id FROM segments WHERE session = ?1 AND name = ?2")?;
    Ok(query.query_row(params![session, id.as_str()], |row| row.get(0)).optional()?)
}

/// Returns the largest place under a page, of whatever standing.
pub(crate) fn last_place(db: &Connection, parent: (i64, i64)) -> FaultResult<Option<i64>> {
    let sql = "SELECT max(place) FROM (
                   SELECT max(place) AS place FROM pages
                   WHERE segment = ?1 AND parent = ?2 AND standing = 0
                   UNION ALL
                   SELECT max(place) FROM pages
                   WHERE segment = ?1 AND parent = ?2 AND standing = 1
                   UNION ALL
                   SELECT max(place) FROM pages
                   WHERE segment = ?1 AND parent = ?2 AND standing = 2)";
    Ok(db.prepare_cached(sql)?.query_row(parent, |row| row.get(0))?)
}

/// Loads a chunk of level state; an absent one is empty.
pub(crate) fn chunk(
    db: &Connection,
    session: i64,
    segment: i64,
    key: &ChunkKey,
) -> FaultResult<LevelChunk> {
    let Ok(chunk) = i64::try_from(key.chunk) else { return Ok(LevelChunk::default()) };
    let view = key.view.to_string();
    let chunk = ChunkRow { session, view: &view, segment, chunk };
    let mut query = db.prepare_cached(
        "SELECT data, checksum FROM levels
         WHERE session = ?1 AND view = ?2 AND segment = ?3 AND chunk = ?4",
    )?;
    let mut rows = query.query(params![session, view, segment, chunk.chunk])?;
    match rows.next()? {
        Some(row) => chunk.read(row, 0),
        None => Ok(LevelChunk::default()),
    }
}

/// Loads a history entry.
pub(crate) fn entry(
    db: &Connection,
    session: i64,
    session_id: &SessionId,
    revision: Revision,
) -> FaultResult<Option<HistoryEntry>> {
    let Ok(revision) = i64::try_from(revision.0) else { return Ok(None) };
    let columns = HistoryRow::COLUMNS;
    let sql = format!("SELECT {columns} FROM history WHERE session = ?1 AND revision = ?2");
    let mut query = db.prepare_cached(&sql)?;
    let mut rows = query.query([session, revision])?;
    rows.next()?.map(|row| HistoryRow::read(row, session, session_id)).transpose()
}
