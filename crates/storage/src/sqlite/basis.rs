//! Whether what a change was based on still stands.

use contexture_core::{
    HistoryEntry, PageIndex, Revision, SegmentId,
    storage::{Change, ChunkKey, CustomKey, LevelChunk, StorageError, ViewId},
};
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    error::{Fault, FaultResult},
    heads::Head,
    lookup,
    rows::read_text,
    runs,
};

/// Refuses a change when something it was based on has moved. Without a head there is no session yet.
pub(crate) fn check(db: &Connection, head: Option<&mut Head>, change: &Change) -> FaultResult<()> {
    let session = head.as_ref().map(|head| head.key);
    change.runs.iter().try_for_each(|put| runs::check(db, session, put))?;
    let mut present = Present { db, head };
    let basis = &change.basis;
    for (index, version) in &basis.pages {
        if present.page_version(index)? != version.map(|version| version.0) {
            return moved(format!("page {index}"));
        }
    }
    for (index, parent) in &basis.standing {
        if !present.stands(index, parent.as_ref())? {
            return moved(format!("the place of page {index}"));
        }
    }
    for (id, version) in &basis.segments {
        if present.segment_version(id)? != version.map(|version| version.0) {
            return moved(format!("segment {id}"));
        }
    }
    for (parent, last) in &basis.lists {
        if present.last_place(parent)? != last.map(|place| place.0) {
            return moved(format!("the list of pages in {parent}"));
        }
    }
    for (view, page, entry) in &basis.levels {
        if present.chunk(&ChunkKey::of(view, page))?.entry(page.number()) != *entry {
            return moved(format!("the level of {page} in view {view}"));
        }
    }
    for (view, focus) in &basis.focus {
        if present.focus(view)? != focus.as_ref().map(PageIndex::to_string) {
            return moved(format!("the focus of view {view}"));
        }
    }
    for (key, value) in &basis.custom {
        if present.custom(key)? != *value {
            return moved(format!("custom state '{key}'"));
        }
    }
    for mark in &change.marks {
        let entry = present.entry(mark.revision)?;
        if entry.and_then(|entry| entry.undone_by) != mark.before {
            return moved(format!("revision {}", mark.revision));
        }
    }
    Ok(())
}

fn moved(subject: String) -> FaultResult<()> {
    Err(Fault::Storage(StorageError::Conflict { subject }))
}

/// What stands now.
struct Present<'a> {
    db: &'a Connection,
    head: Option<&'a mut Head>,
}

impl Present<'_> {
    fn segment_key(&mut self, id: &SegmentId) -> FaultResult<Option<i64>> {
        let Some(head) = &mut self.head else { return Ok(None) };
        Ok(head.segment(self.db, id)?.map(|segment| segment.key))
    }

    /// Returns the keys of a page's row, if there can be one.
    fn page_key(&mut self, index: &PageIndex) -> FaultResult<Option<(i64, i64)>> {
        let Ok(number) = i64::try_from(index.number()) else { return Ok(None) };
        Ok(self.segment_key(index.segment())?.map(|segment| (segment, number)))
    }

    fn page_version(&mut self, index: &PageIndex) -> FaultResult<Option<u64>> {
        let Some(key) = self.page_key(index)? else { return Ok(None) };
        let version = self
            .db
            .prepare_cached("SELECT version FROM pages WHERE segment = ?1 AND number = ?2")?
            .query_row(key, |row| row.get::<_, i64>(0))
            .optional()?;
        Ok(version.and_then(|version| u64::try_from(version).ok()))
    }

    /// Tells whether a page is listed, under that parent.
    fn stands(&mut self, index: &PageIndex, parent: Option<&PageIndex>) -> FaultResult<bool> {
        let Some(key) = self.page_key(index)? else { return Ok(false) };
        let found: Option<Option<i64>> = self
            .db
            .prepare_cached(
                "SELECT parent FROM pages WHERE segment = ?1 AND number = ?2 AND standing = 0",
            )?
            .query_row(key, |row| row.get(0))
            .optional()?;
        Ok(match (found, parent) {
            (None, _) => false,
            (Some(None), None) => true,
            (Some(Some(number)), Some(parent)) => {
                parent.segment() == index.segment() && i64::try_from(parent.number()) == Ok(number)
            }
            (Some(_), _) => false,
        })
    }

    fn segment_version(&mut self, id: &SegmentId) -> FaultResult<Option<u64>> {
        let Some(head) = &mut self.head else { return Ok(None) };
        let segment = head.segment(self.db, id)?.and_then(|head| head.segment.as_ref());
        Ok(segment.map(|segment| segment.version.0))
    }

    fn last_place(&mut self, parent: &PageIndex) -> FaultResult<Option<u64>> {
        let Some(key) = self.page_key(parent)? else { return Ok(None) };
        let place = lookup::last_place(self.db, key)?;
        Ok(place.and_then(|place| u64::try_from(place).ok()))
    }

    fn chunk(&mut self, key: &ChunkKey) -> FaultResult<LevelChunk> {
        let Some(segment) = self.segment_key(&key.segment)? else {
            return Ok(LevelChunk::default());
        };
        let Some(head) = &self.head else { return Ok(LevelChunk::default()) };
        lookup::chunk(self.db, head.key, segment, key)
    }

    fn focus(&mut self, view: &ViewId) -> FaultResult<Option<String>> {
        let sql = "SELECT view, page, checksum FROM focus WHERE session = ?1 AND view = ?2";
        self.text(sql, &view.to_string(), "the focus of view")
    }

    fn custom(&mut self, key: &CustomKey) -> FaultResult<Option<String>> {
        let sql = "SELECT name, content, checksum FROM custom WHERE session = ?1 AND name = ?2";
        self.text(sql, key.as_str(), "custom state")
    }

    fn text(&self, sql: &str, name: &str, what: &str) -> FaultResult<Option<String>> {
        let Some(head) = &self.head else { return Ok(None) };
        let mut query = self.db.prepare_cached(sql)?;
        let mut rows = query.query(params![head.key, name])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        read_text(row, head.key, what).map(|(_, text)| Some(text))
    }

    fn entry(&self, revision: Revision) -> FaultResult<Option<HistoryEntry>> {
        let Some(head) = &self.head else { return Ok(None) };
        lookup::entry(self.db, head.key, &head.info.id, revision)
    }
}
