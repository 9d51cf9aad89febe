//! Taking what a file says into the index, and out of it. Doing it twice is as good as once.

use contexture_core::{
    HistoryEntry, Page, Segment, SegmentId, SessionId,
    storage::{ChunkKey, ContentHash, LedgerKey, RunPut, SessionInfo, Version, ViewHead},
};
use rusqlite::{Connection, OptionalExtension, params};

use super::super::{
    folder::Stamp,
    names::Spot,
    record::{Head, Record},
};
use crate::sqlite::{
    error::{Fault, FaultResult, integer},
    ledger::SentRow,
    lookup,
    rows::{self, ChunkRow, HistoryRow, PageColumns, SegmentRow, SessionRow, ViewRow},
    runs,
};

/// Takes in a session's head; returns the session's key.
pub(crate) fn put_head(db: &Connection, head: &Head, stamp: Stamp) -> FaultResult<i64> {
    let info: &SessionInfo = &head.info;
    let key = match lookup::session_key(db, &info.id)? {
        Some(key) => key,
        None => db
            .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM sessions")?
            .query_row([], |row| row.get(0))?,
    };
    db.prepare_cached(
        "INSERT INTO sessions (id, name, app, revision, next_place, created_at, updated_at,
                               checksum, mark)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (id) DO UPDATE SET
             app = excluded.app, revision = excluded.revision, next_place = excluded.next_place,
             created_at = excluded.created_at, updated_at = excluded.updated_at,
             checksum = excluded.checksum, mark = excluded.mark",
    )?
    .execute(params![
        key,
        info.id.as_str(),
        info.app,
        integer(info.revision.0, "revision")?,
        integer(info.next_place.0, "place")?,
        info.created_at.as_millis(),
        info.updated_at.as_millis(),
        SessionRow::checksum(key, info),
        info.mark.as_str(),
    ])?;
    db.prepare_cached(
        "INSERT INTO heads VALUES (?1, ?2, ?3)
         ON CONFLICT (session) DO UPDATE SET beside = excluded.beside, files = excluded.files",
    )?
    .execute(params![
        key,
        integer(head.beside, "the count of other writes")?,
        serde_json::to_string(&head.files).expect("counts can always be written"),
    ])?;
    set_stamp(db, key, &Spot::Head, stamp)?;
    Ok(key)
}

/// Takes in what a file of a session says.
pub(crate) fn put(
    db: &Connection,
    session: i64,
    id: &SessionId,
    record: &Record,
    stamp: Stamp,
) -> FaultResult<()> {
    match record {
        Record::Head(head) => return put_head(db, head, stamp).map(|_| ()),
        Record::Segment(segment) => put_segment(db, session, segment)?,
        Record::Page(page, content) => {
            put_page(
                db,
                session,
                page,
                content.as_ref().map(contexture_core::storage::Content::hash),
            )?;
        }
        Record::Entry(entry) => put_entry(db, session, id, entry)?,
        Record::Content(content) => carry(db, session, content.hash(), 0, 0)?,
        Record::View(head) => put_view(db, session, head)?,
        Record::Chunk(key, chunk) => put_chunk(db, session, key, chunk)?,
        Record::Custom(custom) => {
            db.prepare_cached("DELETE FROM custom WHERE session = ?1")?.execute([session])?;
            let mut put = db.prepare_cached("INSERT INTO custom VALUES (?1, ?2, ?3, ?4)")?;
            for (key, value) in custom {
                let sum = rows::text_checksum(session, key.as_str(), value);
                put.execute(params![session, key.as_str(), value, sum])?;
            }
        }
        Record::Run(run) => {
            let before = run.version.0.checked_sub(1).filter(|before| *before > 0);
            let put = RunPut {
                key: run.key.clone(),
                expect: before.map(Version),
                value: Some(run.value.clone()),
                at: run.updated_at,
            };
            runs::write(db, session, &put)?;
        }
        Record::Sent(key, sent) => SentRow::of(key, sent)?.write(db, session)?,
    }
    set_stamp(db, session, &record.spot(), stamp)
}

/// Notes what a file looked like when it was taken in.
fn set_stamp(db: &Connection, session: i64, spot: &Spot, stamp: Stamp) -> FaultResult<()> {
    db.prepare_cached(
        "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session, path) DO UPDATE SET
             name = excluded.name, time = excluded.time, size = excluded.size",
    )?
    .execute(params![session, spot.path(), spot.name(), stamp.time, stamp.size])?;
    Ok(())
}

/// Takes out what a file said.
pub(crate) fn remove(
    db: &Connection,
    session: i64,
    id: &SessionId,
    spot: &Spot,
) -> FaultResult<()> {
    match spot {
        Spot::Head => return remove_session(db, id),
        Spot::Segment(segment) => {
            if let Some(key) = lookup::segment_key(db, session, segment)? {
                let sum = SegmentRow::checksum(session, key, segment.as_str(), None);
                db.prepare_cached("UPDATE segments SET data = NULL, checksum = ?2 WHERE id = ?1")?
                    .execute(params![key, sum])?;
            }
        }
        Spot::Page(index) => {
            let segment = segment_key(db, session, index.segment())?;
            let number = integer(index.number(), "page number")?;
            forget_page(db, session, segment, number)?;
            db.prepare_cached("DELETE FROM pages WHERE segment = ?1 AND number = ?2")?
                .execute([segment, number])?;
        }
        Spot::Entry(revision) => {
            if let Some(old) = lookup::entry(db, session, id, *revision)? {
                count_references(db, session, &old, -1)?;
            }
            db.prepare_cached("DELETE FROM history WHERE session = ?1 AND revision = ?2")?
                .execute([session, integer(revision.0, "revision")?])?;
        }
        Spot::Content(hash) => uncarry(db, session, *hash, 0, 0)?,
        Spot::View(view) => {
            let view = view.to_string();
            for sql in [
                "DELETE FROM views WHERE session = ?1 AND view = ?2",
                "DELETE FROM focus WHERE session = ?1 AND view = ?2",
            ] {
                db.prepare_cached(sql)?.execute(params![session, view])?;
            }
        }
        Spot::Chunk(ChunkKey { view, segment, chunk }) => {
            if let Some(segment) = lookup::segment_key(db, session, segment)? {
                let chunk = integer(*chunk, "level chunk")?;
                db.prepare_cached(
                    "DELETE FROM levels
                     WHERE session = ?1 AND view = ?2 AND segment = ?3 AND chunk = ?4",
                )?
                .execute(params![session, view.to_string(), segment, chunk])?;
            }
        }
        Spot::Custom => {
            db.prepare_cached("DELETE FROM custom WHERE session = ?1")?.execute([session])?;
        }
        Spot::Run(key) => {
            db.prepare_cached("DELETE FROM runs WHERE session = ?1 AND key = ?2")?
                .execute(params![session, key.as_str()])?;
        }
        Spot::Sent(LedgerKey { view, format }, number) => {
            db.prepare_cached(
                "DELETE FROM ledger
                 WHERE session = ?1 AND view = ?2 AND format = ?3 AND number = ?4",
            )?
            .execute(params![
                session,
                view.to_string(),
                format.as_str(),
                integer(*number, "window")?
            ])?;
        }
    }
    db.prepare_cached("DELETE FROM files WHERE session = ?1 AND path = ?2")?
        .execute(params![session, spot.path()])?;
    Ok(())
}

/// Takes out a session with all it holds.
pub(crate) fn remove_session(db: &Connection, id: &SessionId) -> FaultResult<()> {
    let Some(key) = lookup::session_key(db, id)? else { return Ok(()) };
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
        "DELETE FROM files WHERE session = ?1",
        "DELETE FROM carriers WHERE session = ?1",
        "DELETE FROM refs WHERE session = ?1",
        "DELETE FROM heads WHERE session = ?1",
        "DELETE FROM segments WHERE session = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        db.prepare_cached(sql)?.execute([key])?;
    }
    Ok(())
}

/// Returns a segment's key, giving its name one if it has none.
fn segment_key(db: &Connection, session: i64, id: &SegmentId) -> FaultResult<i64> {
    if let Some(key) = lookup::segment_key(db, session, id)? {
        return Ok(key);
    }
    let key: i64 = db
        .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM segments")?
        .query_row([], |row| row.get(0))?;
    db.prepare_cached("INSERT INTO segments VALUES (?1, ?2, ?3, NULL, ?4)")?.execute(params![
        key,
        session,
        id.as_str(),
        SegmentRow::checksum(session, key, id.as_str(), None)
    ])?;
    Ok(key)
}

fn put_segment(db: &Connection, session: i64, segment: &Segment) -> FaultResult<()> {
    let key = segment_key(db, session, &segment.id)?;
    let data = SegmentRow::encode(segment);
    let sum = SegmentRow::checksum(session, key, segment.id.as_str(), Some(&data));
    db.prepare_cached("UPDATE segments SET data = ?2, checksum = ?3 WHERE id = ?1")?
        .execute(params![key, data, sum])?;
    Ok(())
}

fn put_page(
    db: &Connection,
    session: i64,
    page: &Page,
    carries: Option<ContentHash>,
) -> FaultResult<()> {
    let segment = segment_key(db, session, page.index.segment())?;
    let number = integer(page.index.number(), "page number")?;
    let (columns, data) = (PageColumns::of(page)?, page.encode());
    forget_page(db, session, segment, number)?;
    count_listed(db, segment, columns.listed_in(), 1)?;
    if let Some(hash) = carries {
        carry(db, session, hash, segment, number)?;
    }
    db.prepare_cached(
        "INSERT INTO pages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (segment, number) DO UPDATE SET
             parent = excluded.parent, place = excluded.place, standing = excluded.standing,
             version = excluded.version, turn_author = excluded.turn_author,
             data = excluded.data, checksum = excluded.checksum",
    )?
    .execute(params![
        segment,
        number,
        columns.parent,
        columns.place,
        columns.standing,
        columns.version,
        columns.turn_author,
        data,
        rows::page_checksum(segment, &data),
    ])?;
    Ok(())
}

/// Undoes what a page's row counts for elsewhere.
fn forget_page(db: &Connection, session: i64, segment: i64, number: i64) -> FaultResult<()> {
    let mut query =
        db.prepare_cached("SELECT data FROM pages WHERE segment = ?1 AND number = ?2")?;
    let old: Option<Vec<u8>> = query.query_row([segment, number], |row| row.get(0)).optional()?;
    let Some(old) = old else { return Ok(()) };
    let old = Page::decode(&old).map_err(|error| Fault::corrupt("a page in the index", error))?;
    count_listed(db, segment, PageColumns::of(&old)?.listed_in(), -1)?;
    match old.detail() {
        Some(detail) => uncarry(db, session, detail.content, segment, number),
        None => Ok(()),
    }
}

fn count_listed(db: &Connection, segment: i64, number: Option<i64>, by: i64) -> FaultResult<()> {
    if let Some(number) = number {
        db.prepare_cached(
            "INSERT INTO directories VALUES (?1, ?2, ?3)
             ON CONFLICT (segment, number) DO UPDATE SET listed = listed + excluded.listed",
        )?
        .execute([segment, number, by])?;
    }
    Ok(())
}

fn carry(
    db: &Connection,
    session: i64,
    hash: ContentHash,
    segment: i64,
    number: i64,
) -> FaultResult<()> {
    db.prepare_cached("INSERT OR IGNORE INTO carriers VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![session, hash.as_bytes(), segment, number])?;
    Ok(())
}

fn uncarry(
    db: &Connection,
    session: i64,
    hash: ContentHash,
    segment: i64,
    number: i64,
) -> FaultResult<()> {
    db.prepare_cached(
        "DELETE FROM carriers WHERE session = ?1 AND hash = ?2 AND segment = ?3 AND number = ?4",
    )?
    .execute(params![session, hash.as_bytes(), segment, number])?;
    Ok(())
}

fn put_entry(
    db: &Connection,
    session: i64,
    id: &SessionId,
    entry: &HistoryEntry,
) -> FaultResult<()> {
    if let Some(old) = lookup::entry(db, session, id, entry.revision)? {
        count_references(db, session, &old, -1)?;
    }
    count_references(db, session, entry, 1)?;
    let row = HistoryRow::of(entry);
    db.prepare_cached(
        "INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (session, revision) DO UPDATE SET
             actor = excluded.actor, undoable = excluded.undoable, raw = excluded.raw,
             data = excluded.data, checksum = excluded.checksum",
    )?
    .execute(params![
        session,
        integer(entry.revision.0, "revision")?,
        row.actor,
        row.undoable,
        row.packed.raw,
        row.stored(),
        row.checksum(session),
    ])?;
    Ok(())
}

fn count_references(
    db: &Connection,
    session: i64,
    entry: &HistoryEntry,
    by: i64,
) -> FaultResult<()> {
    let mut count = db.prepare_cached(
        "INSERT INTO refs VALUES (?1, ?2, ?3)
         ON CONFLICT (session, hash) DO UPDATE SET refs = refs + excluded.refs",
    )?;
    let mut drop =
        db.prepare_cached("DELETE FROM refs WHERE session = ?1 AND hash = ?2 AND refs = 0")?;
    for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
        count.execute(params![session, hash.as_bytes(), by])?;
        if by < 0 {
            drop.execute(params![session, hash.as_bytes()])?;
        }
    }
    Ok(())
}

fn put_view(db: &Connection, session: i64, head: &ViewHead) -> FaultResult<()> {
    let view = head.view.to_string();
    let touched = integer(head.touched.0, "revision")?;
    ViewRow { session, view: view.clone(), touched }.write(db)?;
    let Some(page) = &head.focus else {
        db.prepare_cached("DELETE FROM focus WHERE session = ?1 AND view = ?2")?
            .execute(params![session, view])?;
        return Ok(());
    };
    let page = page.to_string();
    db.prepare_cached(
        "INSERT INTO focus VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (session, view) DO UPDATE SET
             page = excluded.page, checksum = excluded.checksum",
    )?
    .execute(params![session, view, page, rows::text_checksum(session, &view, &page)])?;
    Ok(())
}

fn put_chunk(
    db: &Connection,
    session: i64,
    key: &ChunkKey,
    chunk: &contexture_core::storage::LevelChunk,
) -> FaultResult<()> {
    let view = key.view.to_string();
    let segment = segment_key(db, session, &key.segment)?;
    let row = ChunkRow { session, view: &view, segment, chunk: integer(key.chunk, "level chunk")? };
    let data = ChunkRow::encode(chunk);
    db.prepare_cached(
        "INSERT INTO levels VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (session, view, segment, chunk) DO UPDATE SET
             data = excluded.data, checksum = excluded.checksum",
    )?
    .execute(params![session, view, segment, row.chunk, data, row.checksum(&data)])?;
    Ok(())
}
