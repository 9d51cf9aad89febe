//! One commit: checked, numbered, settled and written, inside the writer's transaction.

use std::collections::HashMap;

use contexture_core::{
    PageIndex, Revision, Segment, SessionId,
    storage::{
        Assigned, Change, ChunkKey, ContentHash, LevelChunk, NewSession, PageDelta, Place,
        StorageError,
    },
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::packing::PackedContent;

use super::{
    basis, contents,
    error::{Fault, FaultResult, integer},
    heads::{Head, Heads},
    history, ledger, lookup,
    rows::{self, ChunkRow, PageColumns},
    runs,
};

/// A commit on its way.
pub(crate) struct CommitRequest {
    pub(crate) session: SessionId,
    pub(crate) create: Option<NewSession>,
    pub(crate) change: Option<Change>,
    /// The change's contents, compressed where that pays.
    pub(crate) contents: Vec<PackedContent>,
    /// The number of the state after it, once it is made.
    pub(crate) revision: Revision,
}

impl CommitRequest {
    /// Tells whether it must leave no trace of what it takes away.
    pub(crate) fn purges(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.purge)
    }
}

/// Why a commit was not made.
pub(crate) enum Refusal {
    /// Nothing was written.
    Before(Fault),
    /// Something was written: the transaction is spoilt, and so are the heads.
    Midway(Fault),
}

/// Makes a commit. A request that was spoilt by another may be made again: settling a change
/// replaces what it was settled to before.
pub(crate) fn apply(
    db: &Connection,
    heads: &mut Heads,
    request: &mut CommitRequest,
) -> Result<(), Refusal> {
    check(db, heads, request).map_err(Refusal::Before)?;
    request.revision = write(db, heads, request).map_err(Refusal::Midway)?;
    Ok(())
}

fn check(db: &Connection, heads: &mut Heads, request: &CommitRequest) -> FaultResult<()> {
    let head = heads.session(db, &request.session)?;
    let session = request.session.clone();
    match (&request.create, &head) {
        (Some(_), Some(_)) => return Err(StorageError::SessionExists { session }.into()),
        (None, None) => return Err(StorageError::SessionMissing { session }.into()),
        (Some(_), None) | (None, Some(_)) => {}
    }
    match &request.change {
        Some(change) => basis::check(db, head, change),
        None => Ok(()),
    }
}

fn write(db: &Connection, heads: &mut Heads, request: &mut CommitRequest) -> FaultResult<Revision> {
    if let Some(new) = &request.create {
        heads.create(db, &request.session, new)?;
    }
    let head = heads.session(db, &request.session)?.ok_or_else(|| {
        Fault::corrupt(rows::session_name(&request.session), "it no longer exists")
    })?;
    let Some(change) = &mut request.change else { return Ok(head.info.revision) };
    let assigned = assign(db, head, change)?;
    change.assign(&assigned);
    write_pages(db, head, change)?;
    write_levels(db, head, change)?;
    write_texts(db, head.key, change)?;
    change.runs.iter().try_for_each(|put| runs::write(db, head.key, put))?;
    if change.purge {
        ledger::scrub(db, head)?;
    }
    let freed = history::amend(db, head, change, assigned.revision)?;
    history::append(db, head.key, &change.history_entry(assigned.revision))?;
    let new: HashMap<ContentHash, &PackedContent> =
        request.contents.iter().map(|new| (new.content.hash(), new)).collect();
    for hash in change.pages.iter().filter_map(PageDelta::assigned_content) {
        contents::refer(db, hash, new.get(&hash).copied())?;
    }
    for (hash, references) in freed {
        contents::release(db, hash, references)?;
    }
    heads.touch(&request.session);
    Ok(assigned.revision)
}

fn assign(db: &Connection, head: &mut Head, change: &Change) -> FaultResult<Assigned> {
    let revision = Revision(add(head.info.revision.0, 1, "revision")?);
    head.info.revision = revision;
    change.stamp(&mut head.info);
    let place = head.info.next_place;
    head.info.next_place = Place(add(place.0, change.places.count, "place")?);
    // Segments come first: claims may be on one that this very change adds.
    write_segments(db, head, change, revision)?;
    let mut numbers = Vec::with_capacity(change.numbers.len());
    for claim in &change.numbers {
        let segment = head.segment(db, &claim.segment)?.and_then(|head| head.change());
        let segment = segment.ok_or_else(|| {
            Fault::corrupt(format!("segment {}", claim.segment), "it no longer exists")
        })?;
        numbers.push(segment.next_number);
        segment.next_number = add(segment.next_number, claim.count, "page number")?;
    }
    for id in change.touched_segments() {
        if let Some(segment) = head.segment(db, id)?.and_then(|head| head.change()) {
            segment.touched = revision;
        }
    }
    for view in change.touched_views() {
        head.touch_view(&view, revision);
    }
    Ok(Assigned { revision, numbers, place })
}

fn write_segments(
    db: &Connection,
    head: &mut Head,
    change: &Change,
    revision: Revision,
) -> FaultResult<()> {
    for delta in &change.segments {
        let mut after = Segment { revision, ..delta.after.clone() };
        let head = head.segment_or_name(db, &after.id)?;
        if let Some(stored) = &head.segment {
            after.next_number = stored.next_number;
            after.touched = stored.touched;
        }
        head.replace(after);
    }
    for (id, floor) in &change.floors {
        if let Some(segment) = head.segment(db, id)?.and_then(|head| head.change()) {
            segment.next_number = segment.next_number.max(*floor);
        }
    }
    Ok(())
}

fn add(number: u64, count: u64, what: &str) -> FaultResult<u64> {
    let sum = number.saturating_add(count);
    integer(sum, what)?;
    Ok(sum)
}

fn write_pages(db: &Connection, head: &mut Head, change: &Change) -> FaultResult<()> {
    let mut put = db.prepare_cached(
        "INSERT INTO pages VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (segment, number) DO UPDATE SET
             parent = excluded.parent, place = excluded.place, standing = excluded.standing,
             version = excluded.version, turn_author = excluded.turn_author,
             data = excluded.data, checksum = excluded.checksum",
    )?;
    for delta in &change.pages {
        let number = integer(delta.index.number(), "page number")?;
        let segment = head.segment_or_name(db, delta.index.segment())?.key;
        if !is_new(change, delta) {
            let listed_in = listed_in(db, segment, number)?;
            head.count_listed(segment, listed_in, -1);
        }
        let Some(page) = &delta.after else {
            db.prepare_cached("DELETE FROM pages WHERE segment = ?1 AND number = ?2")?
                .execute([segment, number])?;
            continue;
        };
        let (columns, data) = (PageColumns::of(page)?, page.encode());
        head.count_listed(segment, columns.listed_in(), 1);
        put.execute(params![
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
    }
    Ok(())
}

/// Tells whether a settled change gives the page a number nobody had before.
fn is_new(change: &Change, delta: &PageDelta) -> bool {
    let claimed = |index: &PageIndex| {
        let mut claims = change.numbers.iter();
        claims.any(|claim| index.number() >= claim.first && *index.segment() == claim.segment)
    };
    delta.before.is_none() && claimed(&delta.index)
}

/// Returns the directory that lists a page as it stands.
fn listed_in(db: &Connection, segment: i64, number: i64) -> FaultResult<Option<i64>> {
    let mut query = db.prepare_cached(
        "SELECT parent FROM pages WHERE segment = ?1 AND number = ?2 AND standing = 0",
    )?;
    let parent = query.query_row([segment, number], |row| row.get(0)).optional()?;
    Ok(parent.flatten())
}

fn write_levels(db: &Connection, head: &mut Head, change: &Change) -> FaultResult<()> {
    let mut chunks: HashMap<ChunkKey, (i64, LevelChunk)> = HashMap::new();
    for delta in &change.levels {
        let key = ChunkKey::of(&delta.view, &delta.page);
        if !chunks.contains_key(&key) {
            let segment = head.segment_or_name(db, &key.segment)?.key;
            chunks.insert(key.clone(), (segment, lookup::chunk(db, head.key, segment, &key)?));
        }
        let (_, chunk) = chunks.get_mut(&key).expect("it was there or was just loaded");
        chunk.set(delta.page.number(), delta.after.clone());
    }
    for (key, (segment, chunk)) in &chunks {
        let view = key.view.to_string();
        let number = integer(key.chunk, "level chunk")?;
        let row = ChunkRow { session: head.key, view: &view, segment: *segment, chunk: number };
        if chunk.is_empty() {
            db.prepare_cached(
                "DELETE FROM levels
                 WHERE session = ?1 AND view = ?2 AND segment = ?3 AND chunk = ?4",
            )?
            .execute(params![row.session, view, row.segment, row.chunk])?;
            continue;
        }
        let data = ChunkRow::encode(chunk);
        db.prepare_cached(
            "INSERT INTO levels VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (session, view, segment, chunk) DO UPDATE SET
                 data = excluded.data, checksum = excluded.checksum",
        )?
        .execute(params![
            row.session,
            view,
            row.segment,
            row.chunk,
            data,
            row.checksum(&data)
        ])?;
    }
    Ok(())
}

/// Writes focus and custom state.
fn write_texts(db: &Connection, session: i64, change: &Change) -> FaultResult<()> {
    for delta in &change.focus {
        let view = delta.view.to_string();
        let Some(page) = &delta.after else {
            db.prepare_cached("DELETE FROM focus WHERE session = ?1 AND view = ?2")?
                .execute(params![session, view])?;
            continue;
        };
        let page = page.to_string();
        db.prepare_cached(
            "INSERT INTO focus VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session, view) DO UPDATE SET
                 page = excluded.page, checksum = excluded.checksum",
        )?
        .execute(params![
            session,
            view,
            page,
            rows::text_checksum(session, &view, &page)
        ])?;
    }
    for delta in &change.custom {
        let name = delta.key.as_str();
        let Some(content) = &delta.after else {
            db.prepare_cached("DELETE FROM custom WHERE session = ?1 AND name = ?2")?
                .execute(params![session, name])?;
            continue;
        };
        db.prepare_cached(
            "INSERT INTO custom VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session, name) DO UPDATE SET
                 content = excluded.content, checksum = excluded.checksum",
        )?
        .execute(params![
            session,
            name,
            content,
            rows::text_checksum(session, name, content)
        ])?;
    }
    Ok(())
}
