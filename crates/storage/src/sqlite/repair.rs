//! Repair: what is derived is derived anew, and what cannot be read goes into the quarantine, so that
//! all the rest can be read again. Nothing is deleted. It is one transaction.
//!
//! What a lost row leaves behind in the tree (orphans, a page without its content) is mended above, as
//! edits: [`contexture_core::storage::check::repair_session`].

mod contents;
mod heads;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contexture_core::{SegmentId, SessionId};
use rusqlite::{Connection, Row, params, types::Value};

use super::{
    counts,
    error::{Fault, FaultResult, natural},
    import::STAGED,
    ledger::SentRow,
    quarantine::{RowKey, Table},
    read::collect,
    rows::{
        self, ChunkRow, HistoryRow, PAGE_COLUMNS, PageColumns, PageHome, ViewRow, read_page,
        read_text,
    },
    runs,
};
use contexture_core::Page;

/// Mends everything; returns what was done, a sentence each.
pub(crate) fn all(db: &Connection) -> FaultResult<Vec<String>> {
    let mut repair =
        Repair { db, done: Vec::new(), sessions: BTreeMap::new(), segments: HashMap::new() };
    repair.structure()?;
    repair.sessions()?;
    repair.segments()?;
    repair.pages()?;
    repair.records()?;
    let lost = repair.history()?;
    repair.contents(lost)?;
    repair.views()?;
    repair.directories()?;
    Ok(repair.done)
}

struct Repair<'a> {
    db: &'a Connection,
    done: Vec<String>,
    /// Those that are still being taken over, too.
    sessions: BTreeMap<i64, SessionId>,
    segments: HashMap<i64, (i64, SegmentId)>,
}

impl Repair<'_> {
    /// Rebuilds the indexes where they do not match the rows. Deeper damage cannot be repaired in place, but
    /// by [`super::salvage`].
    fn structure(&mut self) -> FaultResult<()> {
        if integrity(self.db).is_ok_and(|found| found.is_none()) {
            return Ok(());
        }
        let rebuilt = self.db.execute_batch("REINDEX");
        match rebuilt.map_err(Fault::from).and_then(|()| integrity(self.db)) {
            Ok(None) => {
                self.done.push("the indexes did not match the rows and were rebuilt".to_owned());
                Ok(())
            }
            Ok(Some(found)) => Err(beyond_repair(&found)),
            Err(Fault::Sqlite(error)) => Err(beyond_repair(&error.to_string())),
            Err(fault) => Err(fault),
        }
    }

    /// Visits the rows of a table. The key of each follows its columns.
    fn unreadable(
        &self,
        table: Table,
        columns: &str,
        read: impl Fn(&Row<'_>) -> FaultResult<()>,
    ) -> FaultResult<Vec<(RowKey, Fault)>> {
        let sql = format!("SELECT {columns}, {} FROM {}", table.key.join(", "), table.name);
        let mut query = self.db.prepare(&sql)?;
        let first = query.column_count() - table.key.len();
        let mut rows = query.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            if let Err(fault) = read(row) {
                let key = (first..first + table.key.len()).map(|at| row.get::<_, Value>(at));
                found.push((RowKey { table, key: key.collect::<Result<_, _>>()? }, fault));
            }
        }
        Ok(found)
    }

    /// Takes the rows of a table that cannot be read into the quarantine.
    fn sweep(
        &mut self,
        table: Table,
        columns: &str,
        read: impl Fn(&Row<'_>) -> FaultResult<()>,
    ) -> FaultResult<Vec<RowKey>> {
        let found = self.unreadable(table, columns, read)?;
        found.into_iter().map(|(row, fault)| self.take(row, fault)).collect()
    }

    fn take(&mut self, row: RowKey, fault: Fault) -> FaultResult<RowKey> {
        let reason = row_problem(&row, fault);
        row.take(self.db, &reason)?;
        self.done.push(format!("{reason}; it was moved to the quarantine"));
        Ok(row)
    }

    /// Returns the session a row belongs to.
    fn session(&self, key: i64) -> FaultResult<&SessionId> {
        self.sessions.get(&key).ok_or_else(|| Fault::corrupt("a row", "it belongs to nothing"))
    }

    fn pages(&mut self) -> FaultResult<()> {
        let table = Table { name: "pages", key: &["segment", "number"] };
        let columns = format!("{PAGE_COLUMNS}, segment");
        let found = self.unreadable(table, &columns, |row| self.page(row).map(|_| ()))?;
        for (row, fault) in found {
            match self.decoded(&row)? {
                Some(page) => self.put_columns(&row, &page)?,
                None => drop(self.take(row, fault)?),
            }
        }
        Ok(())
    }

    fn page(&self, row: &Row<'_>) -> FaultResult<Page> {
        let key = row.get(8)?;
        let (session, segment) = self
            .segments
            .get(&key)
            .ok_or_else(|| Fault::corrupt("a page", "its segment is missing"))?;
        read_page(row, PageHome { session: self.session(*session)?, segment, key })
    }

    /// Reads a page whose data is what was written, though its columns are not.
    fn decoded(&self, row: &RowKey) -> FaultResult<Option<Page>> {
        let [Value::Integer(segment), Value::Integer(number)] = row.key[..] else {
            return Ok(None);
        };
        let Some((_, id)) = self.segments.get(&segment) else { return Ok(None) };
        let sql = "SELECT data, checksum FROM pages WHERE segment = ?1 AND number = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let page = query.query_row([segment, number], |row| {
            let data = row.get_ref(0)?.as_blob()?;
            let sum = row.get_ref(1)?.as_blob()?;
            Ok(Page::decode(data).ok().filter(|_| sum == rows::page_checksum(segment, data)))
        })?;
        let fits = |page: &Page| {
            page.index.segment() == id && u64::try_from(number) == Ok(page.index.number())
        };
        Ok(page.filter(fits))
    }

    fn put_columns(&mut self, row: &RowKey, page: &Page) -> FaultResult<()> {
        row.keep(self.db, "its columns do not match its data")?;
        let columns = PageColumns::of(page)?;
        self.db
            .prepare_cached(
                "UPDATE pages SET parent = ?3, place = ?4, standing = ?5, version = ?6,
                     turn_author = ?7
                 WHERE segment = ?1 AND number = ?2",
            )?
            .execute(params![
                row.key[0],
                row.key[1],
                columns.parent,
                columns.place,
                columns.standing,
                columns.version,
                columns.turn_author,
            ])?;
        self.done.push(format!("page {}: its columns were rebuilt from its data", page.index));
        Ok(())
    }

    /// Sweeps what stands alone: where it is gone, nothing else is wrong.
    fn records(&mut self) -> FaultResult<()> {
        let known = self.sessions.clone();
        let of = |key: i64| {
            known.get(&key).ok_or_else(|| Fault::corrupt("a row", "it belongs to nothing"))
        };
        let table = Table { name: "levels", key: &["session", "view", "segment", "chunk"] };
        self.sweep(table, "data, checksum, session, view, segment, chunk", |row| {
            let view: String = row.get(3)?;
            let (session, segment, chunk) = (row.get(2)?, row.get(4)?, row.get(5)?);
            of(session)?;
            ChunkRow { session, view: &view, segment, chunk }.read(row, 0).map(|_| ())
        })?;
        for (name, columns) in
            [("focus", "view, page, checksum"), ("custom", "name, content, checksum")]
        {
            let key: &[_] =
                if name == "focus" { &["session", "view"] } else { &["session", "name"] };
            self.sweep(Table { name, key }, &format!("{columns}, session"), |row| {
                let session = of(row.get(3)?)?;
                let what = format!("in {}, {name}", rows::session_name(session));
                read_text(row, row.get(3)?, &what).map(|_| ())
            })?;
        }
        let table = Table { name: "views", key: &["session", "view"] };
        self.sweep(table, &format!("{}, session", ViewRow::COLUMNS), |row| {
            ViewRow::read(row, row.get(3)?, of(row.get(3)?)?).map(|_| ())
        })?;
        let table = Table { name: "ledger", key: &["session", "view", "format", "number"] };
        self.sweep(table, &format!("{}, session", SentRow::COLUMNS), |row| {
            SentRow::read(row, row.get(6)?, of(row.get(6)?)?).map(|_| ())
        })?;
        let table = Table { name: "runs", key: &["session", "key"] };
        self.sweep(table, &format!("{}, session", runs::COLUMNS), |row| {
            runs::read_row(row, row.get(5)?, of(row.get(5)?)?).map(|_| ())
        })?;
        let table = Table { name: "counts", key: &["key"] };
        self.sweep(table, "key, tokens", counts::check)?;
        Ok(())
    }

    /// Sweeps history; returns the revisions that are lost, by session.
    fn history(&mut self) -> FaultResult<Vec<(i64, u64)>> {
        let table = Table { name: "history", key: &["session", "revision"] };
        let known = self.sessions.clone();
        let lost = self.sweep(table, &format!("{}, session", HistoryRow::COLUMNS), |row| {
            let key = row.get(6)?;
            let session = known.get(&key);
            let session =
                session.ok_or_else(|| Fault::corrupt("a revision", "it belongs to nothing"))?;
            HistoryRow::read(row, key, session).map(|_| ())
        })?;
        let named = lost.into_iter().filter_map(|row| match row.key[..] {
            [Value::Integer(session), Value::Integer(revision)] => {
                Some((session, natural(revision, "revision").ok()?))
            }
            _ => None,
        });
        let mut lost: BTreeSet<(i64, u64)> =
            named.filter(|(session, _)| known.contains_key(session)).collect();
        lost.extend(self.gaps()?);
        Ok(lost.into_iter().collect())
    }

    /// Returns the revisions that history skips, by session: their rows are gone.
    fn gaps(&self) -> FaultResult<Vec<(i64, u64)>> {
        // One that is still being taken over need not be whole.
        let sql = "SELECT id, revision FROM sessions WHERE substr(name, 1, length(?1)) <> ?1";
        let heads = collect(self.db, sql, [STAGED], |row| {
            Ok((row.get::<_, i64>(0)?, natural(row.get(1)?, "revision")?))
        })?;
        let mut gaps = Vec::new();
        for (key, newest) in heads {
            let sql = "SELECT revision FROM history WHERE session = ?1";
            let there: BTreeSet<i64> =
                collect(self.db, sql, [key], |row| Ok(row.get(0)?))?.into_iter().collect();
            let is_there = |revision: &u64| {
                i64::try_from(*revision).is_ok_and(|revision| there.contains(&revision))
            };
            // What lies beyond the newest entry left no trace that could be looked at.
            let last = there.last().and_then(|last| u64::try_from(*last).ok()).unwrap_or(0);
            let skipped = (1..=newest.min(last)).filter(|revision| !is_there(revision));
            gaps.extend(skipped.map(|revision| (key, revision)));
        }
        Ok(gaps)
    }

    /// Lists views that say something and are not listed. What last changed them is not known, but it
    /// is no later than the session's newest edit.
    fn views(&mut self) -> FaultResult<()> {
        let sql = "SELECT sessions.id, said.view, sessions.revision FROM sessions JOIN (
                       SELECT session, view FROM levels
                       UNION SELECT session, view FROM focus
                       UNION SELECT session, 'system' FROM custom) AS said
                   ON said.session = sessions.id
                   WHERE NOT EXISTS (SELECT 1 FROM views
                       WHERE views.session = said.session AND views.view = said.view)";
        let missing = collect(self.db, sql, [], |row| {
            Ok(ViewRow { session: row.get(0)?, view: row.get(1)?, touched: row.get(2)? })
        })?;
        for view in missing {
            view.write(self.db)?;
            let session = rows::session_name(self.session(view.session)?);
            self.done.push(format!("view {} of {session} was listed again", view.view));
        }
        Ok(())
    }

    /// Recounts the pages of every directory.
    fn directories(&mut self) -> FaultResult<()> {
        let counted = "SELECT segment, parent AS number, count(*) AS listed FROM pages
                       WHERE standing = 0 AND parent IS NOT NULL GROUP BY segment, parent";
        let sql = format!(
            "SELECT count(*) FROM (
                 SELECT 1 FROM (SELECT * FROM ({counted})
                     UNION ALL SELECT segment, number, -listed FROM directories)
                 GROUP BY segment, number HAVING sum(listed) <> 0)"
        );
        let wrong: i64 = self.db.query_row(&sql, [], |row| row.get(0))?;
        if wrong > 0 {
            self.db.execute("DELETE FROM directories", [])?;
            self.db.execute(&format!("INSERT INTO directories {counted}"), [])?;
            self.done.push(format!("the pages of {wrong} directories were recounted"));
        }
        Ok(())
    }
}

/// Returns the first thing that is wrong with the file's structure.
fn integrity(db: &Connection) -> FaultResult<Option<String>> {
    let mut query = db.prepare("PRAGMA integrity_check(1)")?;
    let line: String = query.query_row([], |row| row.get(0))?;
    Ok((line != "ok").then_some(line))
}

fn beyond_repair(found: &str) -> Fault {
    Fault::corrupt(
        "the file",
        format!(
            "its structure is damaged and nothing was changed in it ({found}); close all other programs \
             that have it open, then repair it again"
        ),
    )
}

/// Says what is wrong with a row.
fn row_problem(row: &RowKey, fault: Fault) -> String {
    match fault {
        Fault::Storage(error) => error.to_string(),
        Fault::Sqlite(error) => {
            format!("{} {} cannot be read: {error}", row.table.name, row.name())
        }
    }
}
