//! Contents: what is lost is scrubbed from history, and references are counted anew.

use std::collections::{BTreeMap, HashSet};

use contexture_core::{
    HistoryEntry, PageIndex, Revision, SessionId, Timestamp,
    storage::{ContentHash, PageBefore},
};
use rusqlite::{Connection, types::Value};

use super::Repair;
use crate::sqlite::{
    contents,
    error::{Fault, FaultResult},
    history, lookup,
    quarantine::{RowKey, Table},
    read::collect,
    remove,
    rows::{self, HistoryRow, PAGE_COLUMNS, PageHome, read_page},
};

const HISTORY: Table = Table { name: "history", key: &["session", "revision"] };
const BLOBS: Table = Table { name: "blobs", key: &["id"] };
const CONTENTS: Table = Table { name: "contents", key: &["hash"] };

impl Repair<'_> {
    pub(super) fn contents(&mut self, lost: Vec<(i64, u64)>) -> FaultResult<()> {
        for (row, fault) in unreadable(self.db)? {
            self.take(row, fault)?;
        }
        let sql = "SELECT id FROM blobs WHERE id NOT IN (SELECT blob FROM contents)";
        for id in collect(self.db, sql, [], |row| Ok(row.get::<_, i64>(0)?))? {
            let row = RowKey { table: BLOBS, key: vec![Value::Integer(id)] };
            self.take(row, Fault::corrupt(format!("blob {id}"), "no content refers to it"))?;
        }
        for (key, session) in self.sessions.clone() {
            self.forget_lost(key, &session)?;
        }
        let mut by_session: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
        lost.into_iter()
            .for_each(|(key, revision)| by_session.entry(key).or_default().push(revision));
        for (key, revisions) in by_session {
            self.stand_in(key, &revisions)?;
        }
        self.count_references()
    }

    /// Scrubs what refers to contents that are not there from a session's history.
    fn forget_lost(&mut self, key: i64, session: &SessionId) -> FaultResult<()> {
        let db = self.db;
        let is_lost = |hash: &ContentHash| !is_stored(db, hash).unwrap_or(true);
        let sql = format!("SELECT {} FROM history WHERE session = ?1", HistoryRow::COLUMNS);
        let mut changed: Vec<Revision> = Vec::new();
        {
            let mut query = db.prepare(&sql)?;
            let mut rows = query.query([key])?;
            while let Some(row) = rows.next()? {
                let mut entry = HistoryRow::read(row, key, session)?;
                if entry.forget(is_lost) {
                    changed.push(entry.revision);
                }
            }
        }
        for revision in changed {
            let Some(mut entry) = lookup::entry(db, key, session, revision)? else { continue };
            let number = i64::try_from(revision.0).unwrap_or(i64::MAX);
            let row =
                RowKey { table: HISTORY, key: vec![Value::Integer(key), Value::Integer(number)] };
            row.keep(db, "it refers to lost content")?;
            entry.forget(is_lost);
            history::rewrite(db, key, &entry)?;
            let name = rows::session_name(session);
            self.done
                .push(format!("revision {revision} of {name} no longer refers to lost content"));
        }
        Ok(())
    }

    /// Puts entries in place of lost ones that hold what pages still refer to: a content must not go
    /// with its last other reference while a page shows it, and a purge must find it.
    fn stand_in(&mut self, key: i64, lost: &[u64]) -> FaultResult<()> {
        let Some(session) = self.sessions.get(&key).cloned() else { return Ok(()) };
        let mut entries: BTreeMap<Revision, Vec<PageBefore>> = BTreeMap::new();
        for (index, content, newest) in self.unreferenced(key, &session)? {
            let at = broken_at(self.db, key, &session, &index, newest, lost)?;
            entries.entry(at).or_default().push(PageBefore {
                index,
                before: None,
                after: None,
                previous: None,
                restores: None,
                assigned: Some(content),
                purged: true,
            });
        }
        let sql = "SELECT updated_at FROM sessions WHERE id = ?1";
        let at = Timestamp::from_millis(self.db.query_row(sql, [key], |row| row.get(0))?);
        for (revision, pages) in entries {
            let entry = HistoryEntry::stand_in(revision, at, pages);
            history::append(self.db, key, &entry)?;
            let name = rows::session_name(&session);
            self.done.push(format!(
                "revision {revision} of {name} was written as a stand-in for the lost one"
            ));
        }
        Ok(())
    }

    /// Returns pages whose content no entry assigns, with the edit that last changed them.
    fn unreferenced(
        &self,
        key: i64,
        session: &SessionId,
    ) -> FaultResult<Vec<(PageIndex, ContentHash, Revision)>> {
        let mut assigned: HashSet<(PageIndex, ContentHash)> = HashSet::new();
        let sql = format!("SELECT {} FROM history WHERE session = ?1", HistoryRow::COLUMNS);
        for entry in collect(self.db, &sql, [key], |row| HistoryRow::read(row, key, session))? {
            let pages = entry.inverse.pages.into_iter();
            assigned.extend(pages.filter_map(|before| Some((before.index, before.assigned?))));
        }
        let mut found = Vec::new();
        let sql = format!("SELECT {PAGE_COLUMNS} FROM pages WHERE segment = ?1");
        let own = self.segments.iter().filter(|(_, (session, _))| *session == key);
        for (&segment_key, (_, segment)) in own {
            let home = PageHome { session, segment, key: segment_key };
            for page in collect(self.db, &sql, [segment_key], |row| read_page(row, home))? {
                let Some(content) = page.detail().map(|detail| detail.content) else { continue };
                let stored = is_stored(self.db, &content)?;
                if stored && !assigned.contains(&(page.index.clone(), content)) {
                    found.push((page.index, content, page.revision));
                }
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn count_references(&mut self) -> FaultResult<()> {
        let mut expected: BTreeMap<ContentHash, i64> = BTreeMap::new();
        for (key, session) in &self.sessions {
            for (hash, count) in remove::references(self.db, session, *key)? {
                *expected.entry(hash).or_default() += count;
            }
        }
        for hash in collect(self.db, "SELECT hash FROM staged", [], |row| Ok(row.get(0)?))? {
            *expected.entry(ContentHash::from_bytes(hash)).or_default() += 1;
        }
        let counted = collect(self.db, "SELECT hash, refs FROM contents", [], |row| {
            Ok((ContentHash::from_bytes(row.get(0)?), row.get::<_, i64>(1)?))
        })?;
        for (hash, refs) in counted {
            let count = expected.get(&hash).copied().unwrap_or(0);
            if refs != count {
                self.db
                    .prepare_cached("UPDATE contents SET refs = ?2 WHERE hash = ?1")?
                    .execute(rusqlite::params![hash.as_bytes(), count])?;
                self.done.push(format!(
                    "content {hash} now counts {count} references instead of {refs}"
                ));
            }
        }
        Ok(())
    }
}

/// Finds contents that are not what was written.
fn unreadable(db: &Connection) -> FaultResult<Vec<(RowKey, Fault)>> {
    let sql = "SELECT hash, raw, data FROM contents LEFT JOIN blobs ON blobs.id = contents.blob";
    let mut query = db.prepare(sql)?;
    let mut rows = query.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let read = match row.get(0).map(ContentHash::from_bytes) {
            Ok(hash) => contents::read(row, 1, hash).map(|_| ()),
            Err(error) => Err(error.into()),
        };
        if let Err(fault) = read {
            found.push((RowKey { table: CONTENTS, key: vec![row.get(0)?] }, fault));
        }
    }
    Ok(found)
}

fn is_stored(db: &Connection, hash: &ContentHash) -> FaultResult<bool> {
    let mut query = db.prepare_cached("SELECT 1 FROM contents WHERE hash = ?1")?;
    Ok(query.exists([hash.as_bytes()])?)
}

/// Follows a page's edits back to the one that is lost.
fn broken_at(
    db: &Connection,
    key: i64,
    session: &SessionId,
    index: &PageIndex,
    newest: Revision,
    lost: &[u64],
) -> FaultResult<Revision> {
    let mut next = Some(newest);
    while let Some(revision) = next {
        if lost.contains(&revision.0) {
            return Ok(revision);
        }
        let entry = lookup::entry(db, key, session, revision)?;
        let pages = entry.map(|entry| entry.inverse.pages).unwrap_or_default();
        let before = pages.into_iter().find(|before| before.index == *index);
        next = before.and_then(|before| before.previous).filter(|earlier| *earlier < revision);
    }
    Ok(Revision(lost.iter().copied().max().unwrap_or(0)))
}
