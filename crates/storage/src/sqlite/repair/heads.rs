//! Heads of sessions and segments: everything hangs on them, so they are rebuilt.

use contexture_core::{
    Operation, Page, Revision, Segment, SegmentId, SessionId, Timestamp,
    storage::{Mark, Place, SessionInfo, check::Remains},
};
use rusqlite::{params, types::Value};

use super::{Repair, row_problem};
use crate::sqlite::{
    error::{Fault, FaultResult},
    import::STAGED,
    quarantine::{RowKey, Table},
    read::collect,
    rows::{self, HistoryRow, SegmentRow, SessionRow},
};

const SESSIONS: Table = Table { name: "sessions", key: &["id"] };
const SEGMENTS: Table = Table { name: "segments", key: &["id"] };

impl Repair<'_> {
    /// Rebuilds the heads of sessions that cannot be read, from their history and pages.
    pub(super) fn sessions(&mut self) -> FaultResult<()> {
        let sql = format!("SELECT {} FROM sessions", SessionRow::COLUMNS);
        let rows = collect(self.db, &sql, [], |row| {
            let key: i64 = row.get(0)?;
            let name: String = row.get(1)?;
            let staged = name.strip_prefix(STAGED).and_then(|name| name.parse().ok());
            let read = match staged {
                Some(id) => Ok(id),
                None => SessionRow::read(row).map(|row| row.info.id),
            };
            Ok((key, name, read))
        })?;
        for (key, name, read) in rows {
            let id = match read {
                Ok(id) => id,
                Err(fault) => self.rebuild_session(key, &name, fault)?,
            };
            self.sessions.insert(key, id);
        }
        Ok(())
    }

    fn rebuild_session(&mut self, key: i64, name: &str, fault: Fault) -> FaultResult<SessionId> {
        let row = RowKey { table: SESSIONS, key: vec![Value::Integer(key)] };
        let reason = row_problem(&row, fault);
        row.keep(self.db, &reason)?;
        let id: SessionId = match name.parse() {
            Ok(id) => id,
            Err(_) => format!("recovered-{key}")
                .parse()
                .map_err(|error| Fault::corrupt("a session's name", error))?,
        };
        let info = self.session_info(key, id.clone())?;
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.db
            .prepare_cached(
                "UPDATE sessions SET name = ?2, app = ?3, revision = ?4, next_place = ?5,
                     created_at = ?6, updated_at = ?7, checksum = ?8, mark = ?9
                 WHERE id = ?1",
            )?
            .execute(params![
                key,
                info.id.as_str(),
                info.app,
                number(info.revision.0),
                number(info.next_place.0),
                info.created_at.as_millis(),
                info.updated_at.as_millis(),
                SessionRow::checksum(key, &info),
                info.mark.as_str(),
            ])?;
        self.done.push(format!("{reason}; its head was rebuilt from its history and pages"));
        Ok(id)
    }

    /// Returns a head that is beyond all that the session holds.
    fn session_info(&self, key: i64, id: SessionId) -> FaultResult<SessionInfo> {
        // Rows that are not what was written yet say nothing.
        let sql = format!("SELECT {} FROM history WHERE session = ?1", HistoryRow::COLUMNS);
        let revisions = collect(self.db, &sql, [key], |row| {
            Ok(HistoryRow::read(row, key, &id).map_or(Revision(0), |entry| entry.revision))
        })?;
        let sql = "SELECT segment, data, checksum FROM pages
                   WHERE segment IN (SELECT id FROM segments WHERE session = ?1)";
        let places = collect(self.db, sql, [key], |row| {
            let (data, sum) = (row.get_ref(1)?.as_blob(), row.get_ref(2)?.as_blob());
            let (data, sum) = (data.unwrap_or_default(), sum.unwrap_or_default());
            let page = Page::decode(data).ok();
            let whole = page.filter(|_| {
                row.get(0).is_ok_and(|segment| sum == rows::page_checksum(segment, data))
            });
            Ok(whole.map_or(Place(0), |page| page.place))
        })?;
        let sql = "SELECT app, created_at, updated_at, mark FROM sessions WHERE id = ?1";
        let info = self.db.query_row(sql, [key], |row| {
            let created_at = Timestamp::from_millis(row.get(1)?);
            let mark: Option<String> = row.get(3)?;
            let own = mark.and_then(|mark| Mark::try_from(mark).ok());
            Ok(SessionInfo {
                app: row.get(0)?,
                revision: revisions.into_iter().max().unwrap_or(Revision(0)),
                next_place: Place(places.into_iter().map(|place| place.0).max().unwrap_or(0) + 1),
                mark: own.unwrap_or_else(|| Mark::of_session(&id, created_at)),
                created_at,
                updated_at: Timestamp::from_millis(row.get(2)?),
                id: id.clone(),
            })
        })?;
        Ok(info)
    }

    /// Rebuilds the rows of segments that cannot be read, as far as they say what they are.
    pub(super) fn segments(&mut self) -> FaultResult<()> {
        let sessions = self.sessions.clone();
        let sql = format!("SELECT {}, session FROM segments", SegmentRow::COLUMNS);
        let rows = collect(self.db, &sql, [], |row| {
            let (key, name, session): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(4)?);
            let read = match sessions.get(&session) {
                Some(id) => SegmentRow::read(row, session, id).map(|_| ()),
                None => Err(Fault::corrupt(format!("segment {name}"), "it belongs to nothing")),
            };
            Ok((key, name, session, read))
        })?;
        for (key, name, session, read) in rows {
            let id: Option<SegmentId> = name.parse().ok();
            match (read, id) {
                (Ok(()), Some(id)) => drop(self.segments.insert(key, (session, id))),
                (Ok(()), None) => {}
                (Err(fault), Some(id)) if self.sessions.contains_key(&session) => {
                    self.rebuild_segment(key, session, &id, fault)?;
                    self.segments.insert(key, (session, id));
                }
                (Err(fault), _) => {
                    let row = RowKey { table: SEGMENTS, key: vec![Value::Integer(key)] };
                    self.take(row, fault)?;
                }
            }
        }
        Ok(())
    }

    fn rebuild_segment(
        &mut self,
        key: i64,
        session: i64,
        id: &SegmentId,
        fault: Fault,
    ) -> FaultResult<()> {
        let row = RowKey { table: SEGMENTS, key: vec![Value::Integer(key)] };
        let reason = row_problem(&row, fault);
        row.keep(self.db, &reason)?;
        let sql = "SELECT data, (SELECT max(number) FROM pages WHERE segment = ?1)
                   FROM segments WHERE id = ?1";
        let (data, last): (Option<Vec<u8>>, Option<i64>) =
            self.db.query_row(sql, [key], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let beyond = last.and_then(|last| u64::try_from(last).ok()).map_or(1, |last| last + 1);
        let says = data.as_deref().and_then(|data| serde_json::from_slice::<Segment>(data).ok());
        let says = says.filter(|segment| segment.id == *id);
        let (mut segment, how) = match says {
            Some(segment) => (segment, "its readable data was kept: look at it again".to_owned()),
            None => {
                let made = self.made_again(key, id, session)?;
                let how = format!(
                    "it was rebuilt, with kind {} and permission {}: change them if they are wrong",
                    made.kind, made.permission
                );
                (made, how)
            }
        };
        segment.next_number = segment.next_number.max(beyond);
        let data = SegmentRow::encode(&segment);
        let sum = SegmentRow::checksum(session, key, id.as_str(), Some(&data));
        self.db
            .prepare_cached("UPDATE segments SET data = ?2, checksum = ?3 WHERE id = ?1")?
            .execute(params![key, data, sum])?;
        self.done.push(format!("{reason}; {how}"));
        Ok(())
    }

    /// Makes a segment again of which only the name is known, from its root and what history remembers.
    fn made_again(&self, key: i64, id: &SegmentId, session: i64) -> FaultResult<Segment> {
        let sql = "SELECT revision, updated_at FROM sessions WHERE id = ?1";
        let (revision, at): (i64, i64) =
            self.db.query_row(sql, [session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sql = "SELECT data FROM pages WHERE segment = ?1 AND number = 0";
        let root = collect(self.db, sql, [key], |row| {
            Ok(Page::decode(row.get_ref(0)?.as_blob().unwrap_or_default()).ok())
        })?;
        let root = root.into_iter().flatten().find(|root| root.index == id.root());
        let sql = "SELECT data FROM segments WHERE session = ?1 AND id <> ?2 AND data IS NOT NULL";
        let others = collect(self.db, sql, [session, key], |row| {
            let data = row.get_ref(0)?.as_blob().unwrap_or_default();
            Ok(serde_json::from_slice::<Segment>(data).ok())
        })?;
        let before = self.earlier(id, session)?;
        let remains = Remains {
            id,
            pages: &root.iter().collect::<Vec<_>>(),
            before: before.as_ref(),
            behind: Segment::behind(others.iter().flatten()),
            revision: Revision(u64::try_from(revision).unwrap_or(0)),
            at: Timestamp::from_millis(at),
        };
        Ok(remains.rebuild())
    }

    /// Returns a segment as it was before its newest edit that history remembers.
    fn earlier(&self, id: &SegmentId, session: i64) -> FaultResult<Option<Segment>> {
        let name = &self.sessions[&session];
        let columns = HistoryRow::COLUMNS;
        let sql =
            format!("SELECT {columns} FROM history WHERE session = ?1 ORDER BY revision DESC");
        let entries = collect(self.db, &sql, [session], |row| {
            let Ok(entry) = HistoryRow::read(row, session, name) else { return Ok(None) };
            let removed = entry.operation == Operation::RemoveSegment;
            let mut changed = entry.inverse.segments.into_iter().filter(|it| it.id == *id);
            let before = changed.next().and_then(|changed| changed.before);
            Ok(before.map(|before| Segment { removed, ..before }))
        })?;
        Ok(entries.into_iter().flatten().next())
    }
}
