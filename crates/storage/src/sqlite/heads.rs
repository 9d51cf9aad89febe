//! What the writer knows of sessions and segments without asking again.
//!
//! Heads are loaded once, changed in memory by each commit of a group, and written back once before
//! the transaction commits. They hold only as long as nobody else writes: `PRAGMA data_version`
//! tells. After a transaction that failed they are forgotten.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use contexture_core::{
    Revision, Segment, SegmentId, SessionId,
    storage::{Mark, NewSession, Place, SessionInfo, StorageError, ViewId},
};
use rusqlite::{Connection, params};

use super::{
    error::{FaultResult, integer},
    lookup,
    rows::{SegmentRow, SessionRow, ViewRow},
    schema::{self, Identity},
};

/// The heads of the sessions written to lately.
#[derive(Default)]
pub(crate) struct Heads {
    /// What the database's state was called when they were loaded.
    state: Option<i64>,
    sessions: HashMap<SessionId, Head>,
    /// Sessions with something to write back.
    touched: Vec<SessionId>,
}

/// A session's head.
pub(crate) struct Head {
    pub(crate) key: i64,
    pub(crate) info: SessionInfo,
    segments: HashMap<SegmentId, SegmentHead>,
    /// By how many the count of pages listed in a directory (segment and number) changes.
    listed: HashMap<(i64, i64), i64>,
    /// The views that changed, with the edits that did it last.
    views: BTreeMap<ViewId, Revision>,
    changed: bool,
}

/// A segment's head.
pub(crate) struct SegmentHead {
    pub(crate) key: i64,
    /// None when the row only gives the name its key.
    pub(crate) segment: Option<Segment>,
    changed: bool,
}

impl Heads {
    /// How many sessions are remembered at most.
    const MOST: usize = 1_000;

    /// Forgets everything if another connection wrote. To be called inside the write transaction.
    pub(crate) fn refresh(&mut self, db: &Connection, what: &str) -> FaultResult<()> {
        let state = db.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if self.state != Some(state) {
            self.forget();
            let identity = Identity::read(db)?;
            identity.check(what)?;
            if !identity.has_tables() {
                let reason = format!("it is no longer at schema version {}", schema::VERSION);
                return Err(StorageError::Unavailable { what: what.to_owned(), reason }.into());
            }
            self.state = Some(state);
        }
        if self.sessions.len() > Self::MOST {
            self.sessions.clear();
        }
        Ok(())
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns a session's head, loading it if need be.
    pub(crate) fn session(
        &mut self,
        db: &Connection,
        id: &SessionId,
    ) -> FaultResult<Option<&mut Head>> {
        if !self.sessions.contains_key(id) {
            let Some(row) = lookup::session(db, id)? else { return Ok(None) };
            self.sessions.insert(id.clone(), Head::new(row.key, row.info));
        }
        Ok(self.sessions.get_mut(id))
    }

    /// Makes a session's row and head.
    pub(crate) fn create(
        &mut self,
        db: &Connection,
        id: &SessionId,
        new: &NewSession,
    ) -> FaultResult<()> {
        let info = SessionInfo {
            id: id.clone(),
            app: new.app.clone(),
            revision: Revision(0),
            next_place: Place(1),
            created_at: new.at,
            updated_at: new.at,
            mark: new.mark.clone().map_or_else(|| unguessable(db), Ok)?,
        };
        let key = db
            .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM sessions")?
            .query_row([], |row| row.get(0))?;
        db.prepare_cached("INSERT INTO sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
            .execute(params![
                key,
                id.as_str(),
                info.app,
                integer(info.revision.0, "revision")?,
                integer(info.next_place.0, "place")?,
                info.created_at.as_millis(),
                info.updated_at.as_millis(),
                SessionRow::checksum(key, &info),
                info.mark.as_str(),
            ])?;
        self.sessions.insert(id.clone(), Head::new(key, info));
        Ok(())
    }

    /// Remembers that a session's head is to be written back.
    pub(crate) fn touch(&mut self, id: &SessionId) {
        if let Some(head) = self.sessions.get_mut(id)
            && !std::mem::replace(&mut head.changed, true)
        {
            self.touched.push(id.clone());
        }
    }

    /// Writes back what changed.
    pub(crate) fn write_back(&mut self, db: &Connection) -> FaultResult<()> {
        for id in self.touched.drain(..) {
            if let Some(head) = self.sessions.get_mut(&id) {
                head.write_back(db)?;
            }
        }
        Ok(())
    }
}

/// Makes a mark that nobody can guess.
fn unguessable(db: &Connection) -> FaultResult<Mark> {
    let mut seed = db.prepare_cached("SELECT randomblob(32)")?;
    Ok(Mark::from_seed(&seed.query_row([], |row| row.get::<_, Vec<u8>>(0))?))
}

impl Head {
    fn new(key: i64, info: SessionInfo) -> Self {
        let (segments, listed, views) = (HashMap::new(), HashMap::new(), BTreeMap::new());
        Self { key, info, segments, listed, views, changed: false }
    }

    /// Returns a segment's head, loading it if need be.
    pub(crate) fn segment(
        &mut self,
        db: &Connection,
        id: &SegmentId,
    ) -> FaultResult<Option<&mut SegmentHead>> {
        match self.segments.entry(id.clone()) {
            Entry::Occupied(entry) => Ok(Some(entry.into_mut())),
            Entry::Vacant(entry) => {
                let row = lookup::segment(db, self.key, &self.info.id, id)?;
                Ok(row.map(|row| {
                    let SegmentRow { key, segment } = row;
                    entry.insert(SegmentHead { key, segment, changed: false })
                }))
            }
        }
    }

    /// Returns a segment's head, giving its name a key if it has none.
    pub(crate) fn segment_or_name(
        &mut self,
        db: &Connection,
        id: &SegmentId,
    ) -> FaultResult<&mut SegmentHead> {
        if self.segment(db, id)?.is_none() {
            let key = SegmentRow::insert(db, self.key, id, None)?;
            self.segments.insert(id.clone(), SegmentHead { key, segment: None, changed: false });
        }
        Ok(self.segments.get_mut(id).expect("it was there or was just made"))
    }

    /// Counts a page that a directory lists from now on, or no longer.
    pub(crate) fn count_listed(&mut self, segment: i64, directory: Option<i64>, by: i64) {
        if let Some(number) = directory {
            *self.listed.entry((segment, number)).or_default() += by;
        }
    }

    /// Notes that an edit changed a view.
    pub(crate) fn touch_view(&mut self, view: &ViewId, revision: Revision) {
        self.views.insert(view.clone(), revision);
    }

    fn write_back(&mut self, db: &Connection) -> FaultResult<()> {
        self.changed = false;
        let info = &self.info;
        db.prepare_cached(
            "UPDATE sessions SET revision = ?2, next_place = ?3, updated_at = ?4, checksum = ?5,
                 mark = ?6, created_at = ?7
             WHERE id = ?1",
        )?
        .execute(params![
            self.key,
            integer(info.revision.0, "revision")?,
            integer(info.next_place.0, "place")?,
            info.updated_at.as_millis(),
            SessionRow::checksum(self.key, info),
            info.mark.as_str(),
            info.created_at.as_millis(),
        ])?;
        let mut update =
            db.prepare_cached("UPDATE segments SET data = ?2, checksum = ?3 WHERE id = ?1")?;
        for (id, head) in &mut self.segments {
            if let Some(segment) = head.segment.as_ref().filter(|_| head.changed) {
                let data = SegmentRow::encode(segment);
                let sum = SegmentRow::checksum(self.key, head.key, id.as_str(), Some(&data));
                update.execute(params![head.key, data, sum])?;
                head.changed = false;
            }
        }
        let mut count = db.prepare_cached(
            "INSERT INTO directories VALUES (?1, ?2, ?3)
             ON CONFLICT (segment, number) DO UPDATE SET listed = listed + excluded.listed",
        )?;
        for ((segment, number), by) in self.listed.drain().filter(|(_, by)| *by != 0) {
            count.execute([segment, number, by])?;
        }
        for (view, revision) in std::mem::take(&mut self.views) {
            let touched = integer(revision.0, "revision")?;
            ViewRow { session: self.key, view: view.to_string(), touched }.write(db)?;
        }
        Ok(())
    }
}

impl SegmentHead {
    /// Returns the segment, if there is one, to be changed.
    pub(crate) fn change(&mut self) -> Option<&mut Segment> {
        self.changed = true;
        self.segment.as_mut()
    }

    /// Puts a segment in its place.
    pub(crate) fn replace(&mut self, segment: Segment) {
        self.changed = true;
        self.segment = Some(segment);
    }
}
