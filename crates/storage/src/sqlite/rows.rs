//! Rows: how each thing is stored, and read back only if it is what was written.
//!
//! A checksum covers a row's key and its data. Columns that repeat something of the data, so that it
//! can be found, are compared with it.

use std::fmt::Display;

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId, Timestamp,
    storage::{LevelChunk, Mark, Place, SessionInfo, ViewId},
};
use rusqlite::{Connection, Row, params};

use crate::packing::{Packed, checksum, unpack};

use super::error::{Fault, FaultResult, natural};

pub(crate) use crate::columns::PageColumns;

/// Tells whether a row's checksum, in column `at`, is the one expected.
pub(crate) fn fits(row: &Row<'_>, at: usize, expected: [u8; 16]) -> FaultResult<bool> {
    Ok(row.get_ref(at)?.as_blob().is_ok_and(|stored| *stored == expected))
}

/// How a session is called in an error.
pub(crate) fn session_name(session: &SessionId) -> String {
    format!("session '{session}'")
}

/// A session's row.
pub(crate) struct SessionRow {
    pub(crate) key: i64,
    pub(crate) info: SessionInfo,
}

impl SessionRow {
    pub(crate) const COLUMNS: &str =
        "id, name, app, revision, next_place, created_at, updated_at, checksum, mark";

    pub(crate) fn checksum(key: i64, info: &SessionInfo) -> [u8; 16] {
        Self::checksum_with(key, info, Some(info.mark.as_str()))
    }

    /// Computes the checksum; that of a row from before there were marks covers none.
    pub(crate) fn checksum_with(key: i64, info: &SessionInfo, mark: Option<&str>) -> [u8; 16] {
        let numbers = [
            info.revision.0.to_le_bytes(),
            info.next_place.0.to_le_bytes(),
            info.created_at.as_millis().to_le_bytes(),
            info.updated_at.as_millis().to_le_bytes(),
        ];
        let key = key.to_le_bytes();
        let mut parts: Vec<&[u8]> = vec![&key, info.id.as_str().as_bytes(), info.app.as_bytes()];
        parts.extend(numbers.iter().map(|number| &number[..]));
        parts.extend(mark.map(str::as_bytes));
        checksum(&parts)
    }

    pub(crate) fn read(row: &Row<'_>) -> FaultResult<Self> {
        let name: String = row.get(1)?;
        let what = format!("session '{name}'");
        let id: SessionId = name.parse().map_err(|error| Fault::corrupt(&what, error))?;
        let created_at = Timestamp::from_millis(row.get(5)?);
        let mark: Option<String> = row.get(8)?;
        let own = mark.clone().map(Mark::try_from).transpose();
        let own = own.map_err(|error| Fault::corrupt(&what, error))?;
        let info = SessionInfo {
            app: row.get(2)?,
            revision: Revision(natural(row.get(3)?, &what)?),
            next_place: Place(natural(row.get(4)?, &what)?),
            mark: own.unwrap_or_else(|| Mark::of_session(&id, created_at)),
            created_at,
            updated_at: Timestamp::from_millis(row.get(6)?),
            id,
        };
        let key = row.get(0)?;
        if !fits(row, 7, Self::checksum_with(key, &info, mark.as_deref()))? {
            return Err(Fault::corrupt(what, "its checksum does not match"));
        }
        Ok(Self { key, info })
    }
}

/// A segment's row. Without a segment it only gives a name its key.
pub(crate) struct SegmentRow {
    pub(crate) key: i64,
    pub(crate) segment: Option<Segment>,
}

impl SegmentRow {
    pub(crate) const COLUMNS: &str = "id, name, data, checksum";

    pub(crate) fn encode(segment: &Segment) -> Vec<u8> {
        serde_json::to_vec(segment).expect("a segment has only string keys")
    }

    /// Writes a new row; returns its key.
    pub(crate) fn insert(
        db: &Connection,
        session: i64,
        id: &SegmentId,
        segment: Option<&Segment>,
    ) -> FaultResult<i64> {
        let key = db
            .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM segments")?
            .query_row([], |row| row.get(0))?;
        let data = segment.map(Self::encode);
        let sum = Self::checksum(session, key, id.as_str(), data.as_deref());
        db.prepare_cached("INSERT INTO segments VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
            key,
            session,
            id.as_str(),
            data,
            sum
        ])?;
        Ok(key)
    }

    pub(crate) fn checksum(session: i64, key: i64, name: &str, data: Option<&[u8]>) -> [u8; 16] {
        let parts = [&session.to_le_bytes(), &key.to_le_bytes(), name.as_bytes()];
        match data {
            Some(data) => checksum(&[parts[0], parts[1], parts[2], data]),
            None => checksum(&parts),
        }
    }

    pub(crate) fn read(row: &Row<'_>, session: i64, session_id: &SessionId) -> FaultResult<Self> {
        let key = row.get(0)?;
        let name = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        let what = || format!("segment {name} of {}", session_name(session_id));
        let data = row.get_ref(2)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        if !fits(row, 3, Self::checksum(session, key, name, data))? {
            return Err(Fault::corrupt(what(), "its checksum does not match"));
        }
        let decode =
            |data| serde_json::from_slice(data).map_err(|error| Fault::corrupt(what(), error));
        let segment: Option<Segment> = data.map(decode).transpose()?;
        if segment.as_ref().is_some_and(|segment| segment.id.as_str() != name) {
            return Err(Fault::corrupt(what(), "it is stored under another name"));
        }
        Ok(Self { key, segment })
    }
}

/// What a page is called in an error.
pub(crate) fn page_name(session: &SessionId, segment: &SegmentId, number: impl Display) -> String {
    format!("page {segment}-{number} of {}", session_name(session))
}

/// Where pages are read from.
#[derive(Clone, Copy)]
pub(crate) struct PageHome<'a> {
    pub(crate) session: &'a SessionId,
    pub(crate) segment: &'a SegmentId,
    pub(crate) key: i64,
}

/// The columns [`read_page`] reads.
pub(crate) const PAGE_COLUMNS: &str =
    "number, parent, place, standing, version, turn_author, data, checksum";

/// Computes the checksum of a page's row; its number is in the data.
pub(crate) fn page_checksum(segment: i64, data: &[u8]) -> [u8; 16] {
    checksum(&[&segment.to_le_bytes(), data])
}

pub(crate) fn read_page(row: &Row<'_>, home: PageHome<'_>) -> FaultResult<Page> {
    let number: i64 = row.get(0)?;
    let corrupt =
        |reason: &str| Fault::corrupt(page_name(home.session, home.segment, number), reason);
    let data = row.get_ref(6)?.as_blob().map_err(|_| corrupt("its data is missing"))?;
    if !fits(row, 7, page_checksum(home.key, data))? {
        return Err(corrupt("its checksum does not match"));
    }
    let page = Page::decode(data).map_err(|error| corrupt(&error))?;
    let named = u64::try_from(number).map(|number| PageIndex::new(home.segment.clone(), number));
    if named.ok().as_ref() != Some(&page.index) {
        return Err(corrupt("it is stored under another index"));
    }
    let columns = PageColumns {
        parent: row.get(1)?,
        place: row.get(2)?,
        standing: row.get(3)?,
        version: row.get(4)?,
        turn_author: row.get(5)?,
    };
    if columns != PageColumns::of(&page)? {
        return Err(corrupt("its columns do not match its data"));
    }
    Ok(page)
}

/// A history entry as it is stored.
pub(crate) struct HistoryRow {
    pub(crate) actor: String,
    pub(crate) undoable: bool,
    pub(crate) packed: Packed,
    pub(crate) data: Vec<u8>,
}

impl HistoryRow {
    pub(crate) const COLUMNS: &str = "revision, actor, undoable, raw, data, checksum";

    /// Small entries are read often, and compressing them takes the writer's time.
    const PACKED_FROM: usize = 4_096;

    pub(crate) fn of(entry: &HistoryEntry) -> Self {
        let data = serde_json::to_vec(entry).expect("an entry has only string keys");
        Self {
            actor: entry.actor.to_string(),
            undoable: entry.is_undoable(),
            packed: Packed::new(&data, Self::PACKED_FROM),
            data,
        }
    }

    pub(crate) fn stored(&self) -> &[u8] {
        self.packed.stored(&self.data)
    }

    pub(crate) fn checksum(&self, session: i64) -> [u8; 16] {
        checksum(&[&session.to_le_bytes(), self.stored()])
    }

    pub(crate) fn read(
        row: &Row<'_>,
        session: i64,
        session_id: &SessionId,
    ) -> FaultResult<HistoryEntry> {
        let revision: i64 = row.get(0)?;
        let corrupt = |reason: &str| {
            Fault::corrupt(format!("revision {revision} of {}", session_name(session_id)), reason)
        };
        let data = row.get_ref(4)?.as_blob().map_err(|_| corrupt("its data is missing"))?;
        if !fits(row, 5, checksum(&[&session.to_le_bytes(), data]))? {
            return Err(corrupt("its checksum does not match"));
        }
        let data = unpack(row.get(3)?, data).map_err(|reason| corrupt(&reason))?;
        let entry: HistoryEntry =
            serde_json::from_slice(&data).map_err(|error| corrupt(&error.to_string()))?;
        let (actor, undoable): (String, bool) = (row.get(1)?, row.get(2)?);
        let fits = u64::try_from(revision) == Ok(entry.revision.0)
            && actor == entry.actor.to_string()
            && undoable == entry.is_undoable();
        if fits { Ok(entry) } else { Err(corrupt("its columns do not match its data")) }
    }
}

/// Names a chunk of level state by keys.
#[derive(Clone, Copy)]
pub(crate) struct ChunkRow<'a> {
    pub(crate) session: i64,
    pub(crate) view: &'a str,
    pub(crate) segment: i64,
    pub(crate) chunk: i64,
}

impl ChunkRow<'_> {
    pub(crate) fn checksum(self, data: &[u8]) -> [u8; 16] {
        checksum(&[
            &self.session.to_le_bytes(),
            self.view.as_bytes(),
            &self.segment.to_le_bytes(),
            &self.chunk.to_le_bytes(),
            data,
        ])
    }

    pub(crate) fn encode(chunk: &LevelChunk) -> Vec<u8> {
        serde_json::to_vec(chunk).expect("a chunk has only string keys")
    }

    /// Reads the columns `data, checksum` from `at`.
    pub(crate) fn read(self, row: &Row<'_>, at: usize) -> FaultResult<LevelChunk> {
        let what = || format!("chunk {} of the levels of view {}", self.chunk, self.view);
        let data = row.get_ref(at)?.as_blob().map_err(rusqlite::Error::from)?;
        if !fits(row, at + 1, self.checksum(data))? {
            return Err(Fault::corrupt(what(), "its checksum does not match"));
        }
        serde_json::from_slice(data).map_err(|error| Fault::corrupt(what(), error))
    }
}

/// What is known of a view, but for its focus.
pub(crate) struct ViewRow {
    pub(crate) session: i64,
    pub(crate) view: String,
    pub(crate) touched: i64,
}

impl ViewRow {
    pub(crate) const COLUMNS: &str = "view, touched, checksum";

    fn checksum(&self) -> [u8; 16] {
        let (session, touched) = (self.session.to_le_bytes(), self.touched.to_le_bytes());
        checksum(&[&session, self.view.as_bytes(), &touched])
    }

    pub(crate) fn write(&self, db: &Connection) -> FaultResult<()> {
        db.prepare_cached(
            "INSERT INTO views VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session, view) DO UPDATE SET
                 touched = excluded.touched, checksum = excluded.checksum",
        )?
        .execute(params![self.session, self.view, self.touched, self.checksum()])?;
        Ok(())
    }

    /// Reads which view it is, and which edit last changed it.
    pub(crate) fn read(
        row: &Row<'_>,
        session: i64,
        session_id: &SessionId,
    ) -> FaultResult<(ViewId, Revision)> {
        let head = Self { session, view: row.get(0)?, touched: row.get(1)? };
        let what = format!("view '{}' of {}", head.view, session_name(session_id));
        if !fits(row, 2, head.checksum())? {
            return Err(Fault::corrupt(what, "its checksum does not match"));
        }
        let view = head.view.parse().map_err(|error| Fault::corrupt(&what, error))?;
        Ok((view, Revision(natural(head.touched, what)?)))
    }
}

/// Computes the checksum of a row of `focus` or `custom`: a name and a text.
pub(crate) fn text_checksum(session: i64, name: &str, text: &str) -> [u8; 16] {
    checksum(&[&session.to_le_bytes(), name.as_bytes(), text.as_bytes()])
}

/// Reads the columns `name, text, checksum` of a row of `focus` or `custom`.
pub(crate) fn read_text(row: &Row<'_>, session: i64, what: &str) -> FaultResult<(String, String)> {
    let (name, text): (String, String) = (row.get(0)?, row.get(1)?);
    if !fits(row, 2, text_checksum(session, &name, &text))? {
        return Err(Fault::corrupt(format!("{what} '{name}'"), "its checksum does not match"));
    }
    Ok((name, text))
}
