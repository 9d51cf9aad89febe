//! Taking over a session from another storage.
//!
//! It lies under a name that no session can have until it is whole; then it gets its own, in one
//! transaction, in which the session goes whose place it takes. A content counts one reference for the
//! import while no entry has assigned it yet.

use std::collections::HashMap;

use contexture_core::{
    HistoryEntry, Page, Revision, Segment, SegmentId, SessionId, Timestamp,
    storage::{
        ContentHash, ImportPart, LevelChunk, Mark, Place, SessionInfo, StorageError, ViewHead,
    },
};
use rusqlite::{Connection, params};

use super::{
    contents,
    error::{Fault, FaultResult, integer, natural},
    history,
    ledger::SentRow,
    lookup, remove,
    rows::{self, ChunkRow, PageColumns, SegmentRow, SessionRow, ViewRow},
    runs,
};
use crate::packing::PackedContent;

/// Begins the name of a session that is not whole. No session's own name begins so.
pub(crate) const STAGED: &str = "~";

/// A part on its way.
pub(crate) struct Import {
    pub(crate) session: SessionId,
    pub(crate) part: ImportPart,
    /// The part's contents, compressed where that pays.
    pub(crate) contents: Vec<PackedContent>,
}

impl Import {
    pub(crate) fn new(session: &SessionId, part: ImportPart) -> Self {
        let contents = match &part {
            ImportPart::Contents(contents) => contents.iter().map(PackedContent::new).collect(),
            _ => Vec::new(),
        };
        Self { session: session.clone(), part, contents }
    }

    /// Tells whether it must be on the disk before it is answered: with the last part all are.
    pub(crate) fn must_last(&self) -> bool {
        matches!(self.part, ImportPart::Finish(_))
    }
}

fn staged_name(session: &SessionId) -> String {
    format!("{STAGED}{session}")
}

/// Takes in a part, inside the writer's transaction. Tells whether it took the place of a session.
pub(crate) fn take(db: &Connection, import: &Import) -> FaultResult<bool> {
    let replaces = import.must_last() && lookup::session_key(db, &import.session)?.is_some();
    put(db, import)?;
    Ok(replaces)
}

fn put(db: &Connection, import: &Import) -> FaultResult<()> {
    let Import { session, part, contents } = import;
    let there = lookup::session(db, session)?;
    let staged = staged(db, session)?;
    let over = match part {
        ImportPart::Begin => None,
        ImportPart::BeginOver(over) => Some(over),
        _ => staged.as_ref().and_then(|staged| staged.over.as_ref()),
    };
    ImportPart::admit(session, there.as_ref().map(|row| &row.info), over)?;
    if let ImportPart::Begin | ImportPart::BeginOver(_) = part {
        drop_staged(db, session)?;
        return begin(db, session, over);
    }
    let Some(Staged { key, .. }) = staged else {
        return Err(StorageError::SessionMissing { session: session.clone() }.into());
    };
    match part {
        ImportPart::Begin | ImportPart::BeginOver(_) => Ok(()),
        ImportPart::Segments(segments) => put_segments(db, key, segments),
        ImportPart::Pages(pages) => put_pages(db, key, pages),
        ImportPart::Contents(_) => {
            contents.iter().try_for_each(|content| put_content(db, key, content))
        }
        ImportPart::History(entries) => {
            entries.iter().try_for_each(|entry| put_entry(db, key, entry))
        }
        ImportPart::Levels(chunks) => {
            let mut segments = SegmentKeys::default();
            for (chunk, levels) in chunks {
                let segment = segments.of(db, key, &chunk.segment)?;
                let (view, number) = (chunk.view.to_string(), integer(chunk.chunk, "level chunk")?);
                let row = ChunkRow { session: key, view: &view, segment, chunk: number };
                put_chunk(db, row, levels)?;
            }
            Ok(())
        }
        ImportPart::Views(heads) => heads.iter().try_for_each(|head| put_view(db, key, head)),
        ImportPart::Custom(custom) => {
            for (name, content) in custom {
                let sum = rows::text_checksum(key, name.as_str(), content);
                db.prepare_cached("INSERT INTO custom VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![key, name.as_str(), content, sum])?;
            }
            Ok(())
        }
        ImportPart::Runs(records) => {
            records.iter().try_for_each(|record| runs::write_record(db, key, record))
        }
        ImportPart::Ledger(ledger, records) => {
            records.iter().try_for_each(|sent| SentRow::of(ledger, sent)?.write(db, key))
        }
        ImportPart::Finish(info) => {
            if let Some(earlier) = there {
                remove::rows(db, session, earlier.key)?;
            }
            finish(db, key, info)
        }
    }
}

/// A session that is not whole.
struct Staged {
    key: i64,
    /// The head of the session whose place it takes.
    over: Option<SessionInfo>,
}

fn staged(db: &Connection, session: &SessionId) -> FaultResult<Option<Staged>> {
    let mut query = db.prepare_cached(
        "SELECT id, app, revision, next_place, created_at, updated_at, mark FROM sessions
         WHERE name = ?1",
    )?;
    let mut rows = query.query([staged_name(session)])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let what = staged_name(session);
    let mark: Option<String> = row.get(6)?;
    let mark =
        mark.map(Mark::try_from).transpose().map_err(|error| Fault::corrupt(&what, error))?;
    let head = |mark| -> FaultResult<SessionInfo> {
        Ok(SessionInfo {
            id: session.clone(),
            app: row.get(1)?,
            revision: Revision(natural(row.get(2)?, &what)?),
            next_place: Place(natural(row.get(3)?, &what)?),
            mark,
            created_at: Timestamp::from_millis(row.get(4)?),
            updated_at: Timestamp::from_millis(row.get(5)?),
        })
    };
    Ok(Some(Staged { key: row.get(0)?, over: mark.map(head).transpose()? }))
}

/// Removes what was begun and never finished.
pub(crate) fn drop_staged(db: &Connection, session: &SessionId) -> FaultResult<bool> {
    let Some(Staged { key, .. }) = staged(db, session)? else { return Ok(false) };
    release_held(db, key)?;
    remove::rows(db, session, key)?;
    Ok(true)
}

/// Gives back the references that contents have only because they were sent.
fn release_held(db: &Connection, key: i64) -> FaultResult<()> {
    let mut query = db.prepare_cached("SELECT hash FROM staged WHERE session = ?1")?;
    let mut held = query.query([key])?;
    while let Some(row) = held.next()? {
        contents::release(db, ContentHash::from_bytes(row.get(0)?), 1)?;
    }
    drop(held);
    db.prepare_cached("DELETE FROM staged WHERE session = ?1")?.execute([key])?;
    Ok(())
}

fn begin(db: &Connection, session: &SessionId, over: Option<&SessionInfo>) -> FaultResult<()> {
    // Until the last part writes its own head, the row holds that of the session whose place it takes.
    let number = |number: fn(&SessionInfo) -> u64| integer(over.map_or(0, number), "a head");
    db.prepare_cached(
        "INSERT INTO sessions
         SELECT coalesce(max(id), 0) + 1, ?1, ?2, ?3, ?4, ?5, ?6, zeroblob(16), ?7 FROM sessions",
    )?
    .execute(params![
        staged_name(session),
        over.map_or("", |over| &over.app),
        number(|over| over.revision.0)?,
        number(|over| over.next_place.0)?,
        over.map_or(0, |over| over.created_at.as_millis()),
        over.map_or(0, |over| over.updated_at.as_millis()),
        over.map(|over| over.mark.as_str()),
    ])?;
    Ok(())
}

fn finish(db: &Connection, key: i64, info: &SessionInfo) -> FaultResult<()> {
    release_held(db, key)?;
    db.prepare_cached(
        "UPDATE sessions SET name = ?2, app = ?3, revision = ?4, next_place = ?5, created_at = ?6,
             updated_at = ?7, checksum = ?8, mark = ?9
         WHERE id = ?1",
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
    Ok(())
}

/// The keys of a session's segments, looked up once.
#[derive(Default)]
struct SegmentKeys(HashMap<SegmentId, i64>);

impl SegmentKeys {
    /// Returns a segment's key, giving its name one if it has none.
    fn of(&mut self, db: &Connection, session: i64, id: &SegmentId) -> FaultResult<i64> {
        if let Some(key) = self.0.get(id) {
            return Ok(*key);
        }
        let key = match lookup::segment_key(db, session, id)? {
            Some(key) => key,
            None => SegmentRow::insert(db, session, id, None)?,
        };
        self.0.insert(id.clone(), key);
        Ok(key)
    }
}

fn put_segments(db: &Connection, session: i64, segments: &[Segment]) -> FaultResult<()> {
    for segment in segments {
        SegmentRow::insert(db, session, &segment.id, Some(segment))?;
    }
    Ok(())
}

fn put_pages(db: &Connection, session: i64, pages: &[Page]) -> FaultResult<()> {
    let mut put =
        db.prepare_cached("INSERT INTO pages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    let mut segments = SegmentKeys::default();
    let mut listed: HashMap<(i64, i64), i64> = HashMap::new();
    for page in pages {
        let segment = segments.of(db, session, page.index.segment())?;
        let (columns, data) = (PageColumns::of(page)?, page.encode());
        if let Some(directory) = columns.listed_in() {
            *listed.entry((segment, directory)).or_default() += 1;
        }
        put.execute(params![
            segment,
            integer(page.index.number(), "page number")?,
            columns.parent,
            columns.place,
            columns.standing,
            columns.version,
            columns.turn_author,
            data,
            rows::page_checksum(segment, &data),
        ])?;
    }
    let mut count = db.prepare_cached(
        "INSERT INTO directories VALUES (?1, ?2, ?3)
         ON CONFLICT (segment, number) DO UPDATE SET listed = listed + excluded.listed",
    )?;
    for ((segment, number), pages) in listed {
        count.execute([segment, number, pages])?;
    }
    Ok(())
}

fn put_content(db: &Connection, session: i64, content: &PackedContent) -> FaultResult<()> {
    let hash = content.content.hash();
    let new = db
        .prepare_cached("INSERT OR IGNORE INTO staged VALUES (?1, ?2)")?
        .execute(params![session, hash.as_bytes()])?;
    if new > 0 {
        contents::refer(db, hash, Some(content))?;
    }
    Ok(())
}

fn put_entry(db: &Connection, session: i64, entry: &HistoryEntry) -> FaultResult<()> {
    history::append(db, session, entry)?;
    for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
        let held = db
            .prepare_cached("DELETE FROM staged WHERE session = ?1 AND hash = ?2")?
            .execute(params![session, hash.as_bytes()])?;
        // The first entry takes over the reference the import held.
        if held == 0 && !contents::refer(db, hash, None)? {
            let reason = format!("revision {} assigns it, but it was not sent", entry.revision);
            return Err(Fault::corrupt(format!("content {hash}"), reason));
        }
    }
    Ok(())
}

fn put_chunk(db: &Connection, row: ChunkRow<'_>, levels: &LevelChunk) -> FaultResult<()> {
    let data = ChunkRow::encode(levels);
    let sum = row.checksum(&data);
    db.prepare_cached("INSERT INTO levels VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        row.session,
        row.view,
        row.segment,
        row.chunk,
        data,
        sum
    ])?;
    Ok(())
}

fn put_view(db: &Connection, session: i64, head: &ViewHead) -> FaultResult<()> {
    let (view, touched) = (head.view.to_string(), integer(head.touched.0, "revision")?);
    if let Some(page) = &head.focus {
        let page = page.to_string();
        let sum = rows::text_checksum(session, &view, &page);
        db.prepare_cached("INSERT INTO focus VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![session, view, page, sum])?;
    }
    ViewRow { session, view, touched }.write(db)
}
