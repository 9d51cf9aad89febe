//! Verifying everything: the file's structure, every row, every count. It names all it finds.

use std::collections::{BTreeMap, HashMap};

use contexture_core::{SegmentId, SessionId, storage::ContentHash};
use rusqlite::{Connection, Params, Row};

use super::{
    contents, counts,
    error::{Fault, FaultResult},
    import::STAGED,
    ledger::SentRow,
    remove,
    rows::{
        self, ChunkRow, HistoryRow, PAGE_COLUMNS, PageHome, SegmentRow, SessionRow, ViewRow,
        read_page, read_text,
    },
    runs,
};

/// Lists what is wrong, one sentence each.
pub(crate) fn problems(db: &Connection) -> FaultResult<Vec<String>> {
    let mut survey = Survey { db, problems: Vec::new(), references: BTreeMap::new() };
    survey.pages_of_file();
    survey.rows("the file", "PRAGMA integrity_check(1000)", [], |_, row| {
        let line: String = row.get(0)?;
        if line == "ok" { Ok(()) } else { Err(Fault::corrupt("the file", line)) }
    });
    let sessions = survey.sessions();
    for (&key, session) in &sessions {
        survey.session(key, session);
    }
    survey.contents();
    survey.rows("the token counts", counts::ALL, [], |_, row| counts::check(row));
    survey.strays();
    Ok(survey.problems)
}

struct Survey<'a> {
    db: &'a Connection,
    problems: Vec<String>,
    /// How often history says each content was assigned.
    references: BTreeMap<ContentHash, i64>,
}

impl Survey<'_> {
    /// Visits the rows of a query; what is wrong with one does not keep it from the next.
    fn rows(
        &mut self,
        what: &str,
        sql: &str,
        params: impl Params,
        mut visit: impl FnMut(&mut Self, &Row<'_>) -> FaultResult<()>,
    ) {
        let db = self.db;
        let run = |survey: &mut Self| -> FaultResult<()> {
            let mut query = db.prepare_cached(sql)?;
            let mut rows = query.query(params)?;
            while let Some(row) = rows.next()? {
                if let Err(fault) = visit(survey, row) {
                    survey.report(what, fault);
                }
            }
            Ok(())
        };
        if let Err(fault) = run(self) {
            self.report(what, fault);
        }
    }

    /// Finds pages of the file that are not what was written, whatever they hold.
    fn pages_of_file(&mut self) {
        match contexture_vfs::damaged_pages(self.db) {
            Ok(damaged) => self
                .problems
                .extend(damaged.iter().map(|page| format!("page {page} of the file is damaged"))),
            Err(error) => self.report("the file", error.into()),
        }
    }

    fn report(&mut self, what: &str, fault: Fault) {
        self.problems.push(match fault {
            Fault::Storage(error) => error.to_string(),
            Fault::Sqlite(error) if contexture_vfs::is_damage(&error) => {
                format!("{what} cannot be read: a page of the file is damaged")
            }
            Fault::Sqlite(error) => format!("{what} cannot be read: {error}"),
        });
    }

    fn sessions(&mut self) -> BTreeMap<i64, SessionId> {
        let mut sessions = BTreeMap::new();
        let sql = format!("SELECT {} FROM sessions", SessionRow::COLUMNS);
        self.rows("the list of sessions", &sql, [], |survey, row| {
            let name: String = row.get(1)?;
            // One that is still being taken over shows nowhere, but it refers to contents.
            if let Some(name) = name.strip_prefix(STAGED) {
                let id = name.parse().map_err(|error| Fault::corrupt(name, error))?;
                return survey.references_of(row.get(0)?, &id);
            }
            // What the session holds is looked at even where its own row is damaged.
            if let Ok(id) = name.parse() {
                sessions.insert(row.get(0)?, id);
            }
            SessionRow::read(row).map(|_| ())
        });
        sessions
    }

    /// Counts what a session that is being taken over refers to.
    fn references_of(&mut self, key: i64, session: &SessionId) -> FaultResult<()> {
        for (hash, count) in remove::references(self.db, session, key)? {
            *self.references.entry(hash).or_default() += count;
        }
        let mut query = self.db.prepare_cached("SELECT hash FROM staged WHERE session = ?1")?;
        let mut held = query.query([key])?;
        while let Some(row) = held.next()? {
            *self.references.entry(ContentHash::from_bytes(row.get(0)?)).or_default() += 1;
        }
        Ok(())
    }

    fn session(&mut self, key: i64, session: &SessionId) {
        let name = rows::session_name(session);
        let mut segments: HashMap<i64, SegmentId> = HashMap::new();
        let sql = format!("SELECT {} FROM segments WHERE session = ?1", SegmentRow::COLUMNS);
        self.rows(&format!("the segments of {name}"), &sql, [key], |_, row| {
            if let Ok(id) = row.get::<_, String>(1)?.parse() {
                segments.insert(row.get(0)?, id);
            }
            SegmentRow::read(row, key, session).map(|_| ())
        });
        for (&key, segment) in &segments {
            self.pages(PageHome { session, segment, key });
        }
        let sql = format!("SELECT {} FROM history WHERE session = ?1", HistoryRow::COLUMNS);
        self.rows(&format!("the history of {name}"), &sql, [key], |survey, row| {
            let entry = HistoryRow::read(row, key, session)?;
            for hash in entry.inverse.pages.iter().filter_map(|before| before.assigned) {
                *survey.references.entry(hash).or_default() += 1;
            }
            Ok(())
        });
        let sql = "SELECT view, segment, chunk, data, checksum FROM levels WHERE session = ?1";
        self.rows(&format!("the levels of {name}"), sql, [key], |_, row| {
            let view: String = row.get(0)?;
            let (segment, chunk) = (row.get(1)?, row.get(2)?);
            ChunkRow { session: key, view: &view, segment, chunk }.read(row, 3).map(|_| ())
        });
        let sql = "SELECT view, page, checksum FROM focus WHERE session = ?1";
        self.rows(&format!("the focus of {name}"), sql, [key], |_, row| {
            read_text(row, key, &format!("in {name}, the focus of view")).map(|_| ())
        });
        let sql = format!("SELECT {} FROM views WHERE session = ?1", ViewRow::COLUMNS);
        self.rows(&format!("the views of {name}"), &sql, [key], |_, row| {
            ViewRow::read(row, key, session).map(|_| ())
        });
        let sql = format!("SELECT {} FROM ledger WHERE session = ?1", SentRow::COLUMNS);
        self.rows(&format!("the ledgers of {name}"), &sql, [key], |_, row| {
            SentRow::read(row, key, session).map(|_| ())
        });
        let sql = format!("SELECT {} FROM runs WHERE session = ?1", runs::COLUMNS);
        self.rows(&format!("the run records of {name}"), &sql, [key], |_, row| {
            runs::read_row(row, key, session).map(|_| ())
        });
        let sql = "SELECT name, content, checksum FROM custom WHERE session = ?1";
        self.rows(&format!("the custom state of {name}"), sql, [key], |_, row| {
            read_text(row, key, &format!("in {name}, custom state")).map(|_| ())
        });
    }

    fn pages(&mut self, home: PageHome<'_>) {
        let what = format!("segment {} of {}", home.segment, rows::session_name(home.session));
        let sql = format!("SELECT {PAGE_COLUMNS} FROM pages WHERE segment = ?1");
        self.rows(&what, &sql, [home.key], |_, row| read_page(row, home).map(|_| ()));
        let mut counted: BTreeMap<i64, i64> = BTreeMap::new();
        let sql = "SELECT parent, count(*) FROM pages
                   WHERE segment = ?1 AND standing = 0 AND parent IS NOT NULL GROUP BY parent";
        self.rows(&what, sql, [home.key], |_, row| {
            counted.insert(row.get(0)?, row.get(1)?);
            Ok(())
        });
        let sql = "SELECT number, listed FROM directories WHERE segment = ?1";
        self.rows(&what, sql, [home.key], |_, row| {
            let (number, listed): (i64, i64) = (row.get(0)?, row.get(1)?);
            *counted.entry(number).or_default() -= listed;
            Ok(())
        });
        for (number, difference) in counted.into_iter().filter(|(_, difference)| *difference != 0) {
            let page = rows::page_name(home.session, home.segment, number);
            self.problems.push(format!("{page} lists {difference} more pages than it counts"));
        }
    }

    fn contents(&mut self) {
        let sql = "SELECT hash, refs, raw, data FROM contents
                   LEFT JOIN blobs ON blobs.id = contents.blob";
        self.rows("the contents", sql, [], |survey, row| {
            let hash = row.get(0).map(ContentHash::from_bytes)?;
            let (refs, expected): (i64, _) = (row.get(1)?, survey.references.remove(&hash));
            if refs != expected.unwrap_or(0) {
                let counts = format!(
                    "counts {refs} references, but the history has {}",
                    expected.unwrap_or(0)
                );
                survey.problems.push(format!("content {hash} {counts}"));
            }
            contents::read(row, 2, hash).map(|_| ())
        });
        for (hash, count) in std::mem::take(&mut self.references) {
            self.problems.push(format!(
                "content {hash} is missing, but the history refers to it {count} times"
            ));
        }
    }

    /// Finds rows that belong to nothing.
    fn strays(&mut self) {
        for (what, sql) in [
            ("segment", "SELECT name FROM segments WHERE session NOT IN (SELECT id FROM sessions)"),
            (
                "page number",
                "SELECT number FROM pages WHERE segment NOT IN (SELECT id FROM segments)",
            ),
            (
                "revision",
                "SELECT revision FROM history WHERE session NOT IN (SELECT id FROM sessions)",
            ),
            ("view", "SELECT view FROM views WHERE session NOT IN (SELECT id FROM sessions)"),
            (
                "the focus of view",
                "SELECT view FROM focus
                 WHERE NOT EXISTS (SELECT 1 FROM views
                     WHERE views.session = focus.session AND views.view = focus.view)",
            ),
            (
                "window sent",
                "SELECT number FROM ledger WHERE session NOT IN (SELECT id FROM sessions)",
            ),
            ("run", "SELECT key FROM runs WHERE session NOT IN (SELECT id FROM sessions)"),
            ("blob", "SELECT id FROM blobs WHERE id NOT IN (SELECT blob FROM contents)"),
        ] {
            self.rows(what, sql, [], |survey, row| {
                let name = row.get_ref(0)?;
                let name = name
                    .as_str()
                    .map(str::to_owned)
                    .or_else(|_| name.as_i64().map(|n| n.to_string()));
                let name = name.map_err(rusqlite::Error::from)?;
                survey.problems.push(format!("{what} {name} belongs to nothing"));
                Ok(())
            });
        }
    }
}
