//! Rows: how each thing is stored, and read back only if it is what was written.
//!
//! A checksum covers a row's key and its data. Columns that repeat something of the data, so that it
//! can be found, are compared with it. Lists of columns are for a table that is called `t`.

use std::fmt::Display;

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId, Timestamp,
    storage::{
        ChunkKey, Content, ContentHash, CustomKey, LedgerKey, LevelChunk, Mark, Place, RunKey,
        RunRecord, SentWindow, SessionInfo, Version, ViewHead, ViewId,
    },
};
use tokio_postgres::Row;

use crate::packing::{Packed, checksum, unpack, unpack_content};

use super::error::{Fault, FaultResult, integer, natural};

pub(crate) use crate::columns::PageColumns;

/// Refuses a row whose checksum, in column `at`, is not the one expected.
fn fits(
    row: &Row,
    at: usize,
    expected: [u8; 16],
    what: impl FnOnce() -> String,
) -> FaultResult<()> {
    if row.try_get::<_, &[u8]>(at)? == expected {
        return Ok(());
    }
    Err(Fault::corrupt(what(), "its checksum does not match"))
}

fn parse<T: std::str::FromStr<Err: Display>>(text: &str, what: impl Display) -> FaultResult<T> {
    text.parse().map_err(|error| Fault::corrupt(what, error))
}

fn text(bytes: &[u8], what: impl Display) -> FaultResult<String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| Fault::corrupt(what, error))
}

/// A session's row.
#[derive(Debug, Clone)]
pub(crate) struct SessionRow {
    pub(crate) id: i64,
    /// Without the mark of one that is not whole, its name is that of the session.
    pub(crate) info: SessionInfo,
    /// The transactions that wrote to it last, newest first.
    pub(crate) recent: Vec<u8>,
}

impl SessionRow {
    pub(crate) const COLUMNS: &str = "t.id, t.name, t.app, t.revision, t.next_place, t.mark, \
                                      t.created_at, t.updated_at, t.recent, t.checksum";

    /// How many transactions are remembered. Others may make that many before one that was cut off
    /// asks, and it still finds out.
    const REMEMBERED: usize = 32;

    pub(crate) fn checksum(&self, name: &str) -> [u8; 16] {
        let info = &self.info;
        checksum(&[
            &self.id.to_le_bytes(),
            name.as_bytes(),
            info.app.as_bytes(),
            &info.revision.0.to_le_bytes(),
            &info.next_place.0.to_le_bytes(),
            info.mark.as_str().as_bytes(),
            &info.created_at.as_millis().to_le_bytes(),
            &info.updated_at.as_millis().to_le_bytes(),
            &self.recent,
        ])
    }

    /// Remembers a transaction.
    pub(crate) fn note(&mut self, transaction: i64) {
        let mut recent = transaction.to_le_bytes().to_vec();
        recent.extend_from_slice(&self.recent);
        recent.truncate(Self::REMEMBERED * 8);
        self.recent = recent;
    }

    /// Returns the transaction that wrote last.
    pub(crate) fn last(&self) -> Option<i64> {
        let bytes = self.recent.first_chunk::<8>();
        bytes.map(|bytes| i64::from_le_bytes(*bytes))
    }

    /// Tells whether a transaction is among those remembered.
    pub(crate) fn remembers(&self, transaction: i64) -> bool {
        self.recent.chunks(8).any(|id| id == transaction.to_le_bytes())
    }

    /// Tells whether all transactions there ever were are remembered.
    pub(crate) fn remembers_all(&self) -> bool {
        self.recent.len() < Self::REMEMBERED * 8
    }

    pub(crate) fn read(row: &Row) -> FaultResult<Self> {
        let name: &str = row.try_get(1)?;
        let what = || format!("session '{name}'");
        let info = SessionInfo {
            id: parse(name.trim_start_matches('~'), what())?,
            app: text(row.try_get(2)?, what())?,
            revision: Revision(natural(row.try_get(3)?, what())?),
            next_place: Place(natural(row.try_get(4)?, what())?),
            mark: Mark::try_from(row.try_get::<_, String>(5)?)
                .map_err(|error| Fault::corrupt(what(), error))?,
            created_at: Timestamp::from_millis(row.try_get(6)?),
            updated_at: Timestamp::from_millis(row.try_get(7)?),
        };
        let session = Self { id: row.try_get(0)?, info, recent: row.try_get(8)? };
        fits(row, 9, session.checksum(name), what)?;
        Ok(session)
    }
}

/// How a session is called in an error.
pub(crate) fn session_name(session: &SessionId) -> String {
    format!("session '{session}'")
}

pub(crate) const SEGMENT: &str = "t.session, t.name, t.data, t.checksum";

pub(crate) fn encode_segment(session: i64, segment: &Segment) -> (Vec<u8>, [u8; 16]) {
    let data = serde_json::to_vec(segment).expect("a segment has only string keys");
    let sum = checksum(&[&session.to_le_bytes(), segment.id.as_str().as_bytes(), &data]);
    (data, sum)
}

pub(crate) fn read_segment(row: &Row, of: &SessionId) -> FaultResult<Segment> {
    let (session, name): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
    let what = || format!("segment {name} of {}", session_name(of));
    let data: &[u8] = row.try_get(2)?;
    fits(row, 3, checksum(&[&session.to_le_bytes(), name.as_bytes(), data]), what)?;
    let segment: Segment =
        serde_json::from_slice(data).map_err(|error| Fault::corrupt(what(), error))?;
    if segment.id.as_str() != name {
        return Err(Fault::corrupt(what(), "it is stored under another name"));
    }
    Ok(segment)
}

pub(crate) const PAGE: &str = "t.session, t.segment, t.number, t.parent, t.place, t.standing, \
                               t.version, t.turn_author, t.data, t.checksum";

/// Computes the checksum of a page's row; its index is in the data.
pub(crate) fn page_checksum(session: i64, data: &[u8]) -> [u8; 16] {
    checksum(&[&session.to_le_bytes(), data])
}

pub(crate) fn read_page(row: &Row, of: &SessionId) -> FaultResult<Page> {
    let (segment, number): (&str, i64) = (row.try_get(1)?, row.try_get(2)?);
    let what = || format!("page {segment}-{number} of {}", session_name(of));
    let data: &[u8] = row.try_get(8)?;
    fits(row, 9, page_checksum(row.try_get(0)?, data), what)?;
    let page = Page::decode(data).map_err(|error| Fault::corrupt(what(), error))?;
    let index = &page.index;
    if index.segment().as_str() != segment || i64::try_from(index.number()) != Ok(number) {
        return Err(Fault::corrupt(what(), "it is stored under another index"));
    }
    let columns = PageColumns {
        parent: row.try_get(3)?,
        place: row.try_get(4)?,
        standing: row.try_get(5)?,
        version: row.try_get(6)?,
        turn_author: row.try_get(7)?,
    };
    if columns != PageColumns::of(&page)? {
        return Err(Fault::corrupt(what(), "its columns do not match its data"));
    }
    Ok(page)
}

pub(crate) const CONTENT: &str = "t.hash, t.raw, t.data";

pub(crate) fn read_content(row: &Row) -> FaultResult<Content> {
    let hash = read_hash(row, 0)?;
    Ok(unpack_content(hash, row.try_get(1)?, row.try_get(2)?)?)
}

pub(crate) fn read_hash(row: &Row, at: usize) -> FaultResult<ContentHash> {
    let bytes: &[u8] = row.try_get(at)?;
    let bytes = <[u8; 32]>::try_from(bytes);
    let wrong = |_| Fault::corrupt("a content", "its hash is not 32 bytes long");
    bytes.map(ContentHash::from_bytes).map_err(wrong)
}

pub(crate) const CHUNK: &str = "t.session, t.view_id, t.segment, t.chunk, t.data, t.checksum";

pub(crate) fn encode_chunk(
    session: i64,
    key: &ChunkKey,
    chunk: &LevelChunk,
) -> FaultResult<(Vec<u8>, [u8; 16])> {
    let data = serde_json::to_vec(chunk).expect("a chunk has only string keys");
    let number = integer(key.chunk, "level chunk")?;
    let sum = chunk_checksum(session, &key.view.to_string(), key.segment.as_str(), number, &data);
    Ok((data, sum))
}

fn chunk_checksum(session: i64, view: &str, segment: &str, chunk: i64, data: &[u8]) -> [u8; 16] {
    let [session, chunk] = [session, chunk].map(i64::to_le_bytes);
    checksum(&[&session, view.as_bytes(), segment.as_bytes(), &chunk, data])
}

pub(crate) fn read_chunk(row: &Row, of: &SessionId) -> FaultResult<(ChunkKey, LevelChunk)> {
    let (view, segment): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
    let (chunk, data): (i64, &[u8]) = (row.try_get(3)?, row.try_get(4)?);
    let what = || {
        let session = session_name(of);
        format!("chunk {chunk} of the levels of view {view} in segment {segment} of {session}")
    };
    fits(row, 5, chunk_checksum(row.try_get(0)?, view, segment, chunk, data), what)?;
    let key = ChunkKey {
        view: parse(view, what())?,
        segment: parse(segment, what())?,
        chunk: natural(chunk, what())?,
    };
    let chunk = serde_json::from_slice(data).map_err(|error| Fault::corrupt(what(), error))?;
    Ok((key, chunk))
}

/// A view with its focus, if it has one: a row of `contexture_views AS t` joined with one of
/// `contexture_focus AS f`.
pub(crate) const VIEW: &str = "t.session, t.view_id, t.touched, t.checksum, f.page, f.checksum";

pub(crate) fn view_checksum(session: i64, view: &str, touched: i64) -> [u8; 16] {
    checksum(&[&session.to_le_bytes(), view.as_bytes(), &touched.to_le_bytes()])
}

pub(crate) fn read_view(row: &Row, of: &SessionId) -> FaultResult<ViewHead> {
    let (session, view, touched): (i64, &str, i64) =
        (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    let what = || format!("view '{view}' of {}", session_name(of));
    fits(row, 3, view_checksum(session, view, touched), what)?;
    let focus = match row.try_get::<_, Option<&str>>(4)? {
        Some(page) => {
            let what = || format!("the focus of {}", what());
            fits(row, 5, text_checksum(session, view, page.as_bytes()), what)?;
            Some(parse(page, what())?)
        }
        None => None,
    };
    Ok(ViewHead { view: parse(view, what())?, focus, touched: Revision(natural(touched, what())?) })
}

pub(crate) const FOCUS: &str = "t.session, t.view_id, t.page, t.checksum";

/// Computes the checksum of a row of focus or custom state: a name and a text.
pub(crate) fn text_checksum(session: i64, name: &str, text: &[u8]) -> [u8; 16] {
    checksum(&[&session.to_le_bytes(), name.as_bytes(), text])
}

pub(crate) fn read_focus(row: &Row, of: &SessionId) -> FaultResult<(ViewId, PageIndex)> {
    let (view, page): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
    let what = || format!("the focus of view '{view}' of {}", session_name(of));
    fits(row, 3, text_checksum(row.try_get(0)?, view, page.as_bytes()), what)?;
    Ok((parse(view, what())?, parse(page, what())?))
}

pub(crate) const CUSTOM: &str = "t.session, t.name, t.content, t.checksum";

pub(crate) fn read_custom(row: &Row, of: &SessionId) -> FaultResult<(CustomKey, String)> {
    let (name, content): (&str, &[u8]) = (row.try_get(1)?, row.try_get(2)?);
    let what = || format!("custom state '{name}' of {}", session_name(of));
    fits(row, 3, text_checksum(row.try_get(0)?, name, content), what)?;
    Ok((parse(name, what())?, text(content, what())?))
}

pub(crate) const RUN: &str = "t.session, t.name, t.version, t.content, t.updated_at, t.checksum";

pub(crate) fn run_checksum(session: i64, record: &RunRecord) -> [u8; 16] {
    checksum(&[
        &session.to_le_bytes(),
        record.key.as_str().as_bytes(),
        &record.version.0.to_le_bytes(),
        record.value.as_bytes(),
        &record.updated_at.as_millis().to_le_bytes(),
    ])
}

pub(crate) fn read_run(row: &Row, of: &SessionId) -> FaultResult<RunRecord> {
    let name: &str = row.try_get(1)?;
    let what = || format!("run '{name}' of {}", session_name(of));
    let record = RunRecord {
        key: parse::<RunKey>(name, what())?,
        version: Version(natural(row.try_get(2)?, what())?),
        value: text(row.try_get(3)?, what())?,
        updated_at: Timestamp::from_millis(row.try_get(4)?),
    };
    fits(row, 5, run_checksum(row.try_get(0)?, &record), what)?;
    Ok(record)
}

/// Small entries and records are read often, and compressing them takes the writer's time.
const PACKED_FROM: usize = 4_096;

/// A history entry as it is stored, but for its session.
pub(crate) struct HistoryRow {
    pub(crate) revision: i64,
    pub(crate) actor: String,
    pub(crate) undoable: bool,
    pub(crate) packed: Packed,
    data: Vec<u8>,
}

impl HistoryRow {
    pub(crate) const COLUMNS: &str = "t.session, t.revision, t.actor, t.undoable, t.raw, t.data, \
                                      t.checksum";

    pub(crate) fn of(entry: &HistoryEntry) -> FaultResult<Self> {
        let data = serde_json::to_vec(entry).expect("an entry has only string keys");
        Ok(Self {
            revision: integer(entry.revision.0, "revision")?,
            actor: entry.actor.to_string(),
            undoable: entry.is_undoable(),
            packed: Packed::new(&data, PACKED_FROM),
            data,
        })
    }

    pub(crate) fn stored(&self) -> &[u8] {
        self.packed.stored(&self.data)
    }

    pub(crate) fn checksum(&self, session: i64) -> [u8; 16] {
        checksum(&[&session.to_le_bytes(), self.stored()])
    }

    pub(crate) fn read(row: &Row, of: &SessionId) -> FaultResult<HistoryEntry> {
        let (session, revision): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let what = || format!("revision {revision} of {}", session_name(of));
        let data: &[u8] = row.try_get(5)?;
        fits(row, 6, checksum(&[&session.to_le_bytes(), data]), what)?;
        let corrupt = |reason: String| Fault::corrupt(what(), reason);
        let data = unpack(row.try_get(4)?, data).map_err(corrupt)?;
        let entry: HistoryEntry =
            serde_json::from_slice(&data).map_err(|error| corrupt(error.to_string()))?;
        let (actor, undoable): (&str, bool) = (row.try_get(2)?, row.try_get(3)?);
        if i64::try_from(entry.revision.0) != Ok(revision) {
            return Err(Fault::corrupt(what(), "it is stored under another number"));
        }
        if entry.actor.to_string() != actor || entry.is_undoable() != undoable {
            return Err(Fault::corrupt(what(), "its columns do not match its data"));
        }
        Ok(entry)
    }
}

/// A record of a ledger as it is stored, but for its session.
pub(crate) struct SentRow {
    pub(crate) view: String,
    pub(crate) format: String,
    pub(crate) number: i64,
    pub(crate) packed: Packed,
    data: Vec<u8>,
}

impl SentRow {
    pub(crate) const COLUMNS: &str =
        "t.session, t.view_id, t.format, t.number, t.raw, t.data, t.checksum";

    pub(crate) fn of(key: &LedgerKey, sent: &SentWindow) -> FaultResult<Self> {
        let data = serde_json::to_vec(sent).expect("a record has only string keys");
        Ok(Self {
            view: key.view.to_string(),
            format: key.format.to_string(),
            number: integer(sent.number, "window")?,
            packed: Packed::new(&data, PACKED_FROM),
            data,
        })
    }

    pub(crate) fn stored(&self) -> &[u8] {
        self.packed.stored(&self.data)
    }

    pub(crate) fn checksum(&self, session: i64) -> [u8; 16] {
        Self::checksum_of(session, &self.view, &self.format, self.number, self.stored())
    }

    fn checksum_of(session: i64, view: &str, format: &str, number: i64, data: &[u8]) -> [u8; 16] {
        let [session, number] = [session, number].map(i64::to_le_bytes);
        checksum(&[&session, view.as_bytes(), format.as_bytes(), &number, data])
    }

    pub(crate) fn read(row: &Row, of: &SessionId) -> FaultResult<(LedgerKey, SentWindow)> {
        let (view, format): (&str, &str) = (row.try_get(1)?, row.try_get(2)?);
        let number: i64 = row.try_get(3)?;
        let what = || {
            let session = session_name(of);
            format!("window {number} in the {format} ledger of view {view} of {session}")
        };
        let data: &[u8] = row.try_get(5)?;
        fits(row, 6, Self::checksum_of(row.try_get(0)?, view, format, number, data), what)?;
        let corrupt = |reason: String| Fault::corrupt(what(), reason);
        let data = unpack(row.try_get(4)?, data).map_err(corrupt)?;
        let sent: SentWindow =
            serde_json::from_slice(&data).map_err(|error| corrupt(error.to_string()))?;
        if i64::try_from(sent.number) != Ok(number) {
            return Err(Fault::corrupt(what(), "it is stored under another number"));
        }
        Ok((LedgerKey { view: parse(view, what())?, format: parse(format, what())? }, sent))
    }
}

/// Reads the key of a ledger from the columns `view_id` and `format`.
pub(crate) fn read_ledger_key(row: &Row) -> FaultResult<LedgerKey> {
    let (view, format): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
    let what = format!("the {format} ledger of view {view}");
    Ok(LedgerKey { view: parse(view, &what)?, format: parse(format, &what)? })
}

/// Reads the key of a chunk from the columns `view_id`, `segment` and `chunk`.
pub(crate) fn read_chunk_key(row: &Row) -> FaultResult<ChunkKey> {
    let (view, segment): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
    let what = format!("the levels of view {view} in segment {segment}");
    let (view, segment): (ViewId, SegmentId) = (parse(view, &what)?, parse(segment, &what)?);
    Ok(ChunkKey { view, segment, chunk: natural(row.try_get(2)?, what)? })
}
