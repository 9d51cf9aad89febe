//! Rows out of an old file and into a new one, and heads for those that have lost theirs.

use std::collections::{BTreeSet, HashMap};

use contexture_core::{Clock, Page};
use contexture_vfs::Pages;
use rusqlite::{Connection, params, params_from_iter};

use super::{
    carve,
    home::{self, Home},
};
use crate::{
    SystemClock,
    sqlite::{error::FaultResult, read::collect, rows::SegmentRow},
};

/// Rows on their way into a new file.
pub(super) struct Rescue<'a> {
    pub(super) db: &'a Connection,
    pub(super) pages: Pages<'a>,
    /// Which tables begin in which pages, as far as the file still says.
    pub(super) roots: HashMap<u64, String>,
    /// Whether pages carry checksums.
    has_sums: bool,
    /// How many pages the file said it had beyond those that were there.
    missing: u64,
    /// How many bytes at the end of each page are not SQLite's.
    pub(super) reserved: usize,
    /// What indexes say of rows that may be lost themselves.
    names: Vec<Home>,
    /// The numbers of damaged pages.
    pub(super) damaged: BTreeSet<u64>,
    saved: usize,
}

impl<'a> Rescue<'a> {
    pub(super) fn new(db: &'a Connection, old: &'a Connection, missing: u64) -> FaultResult<Self> {
        let reserved = if contexture_vfs::has_room(old)? { contexture_vfs::SUM } else { 0 };
        Ok(Self {
            db,
            roots: roots(old),
            pages: Pages::of(old)?,
            has_sums: contexture_vfs::is_checked(old),
            missing,
            reserved,
            names: Vec::new(),
            damaged: BTreeSet::new(),
            saved: 0,
        })
    }

    /// Takes over every row that can be made out.
    pub(super) fn rows(&mut self) -> FaultResult<()> {
        for number in 1..=self.pages.count()? {
            // Where there are no sums every page counts as sound; its rows have sums of their own.
            if self.has_sums && self.is_damaged(number)? {
                self.damaged.insert(number);
            } else {
                self.page(number)?;
            }
        }
        // Names have no sums of their own, unlike rows: only those of sound pages count.
        let names = self.names.len();
        for number in self.damaged.clone() {
            self.page(number)?;
        }
        self.names.truncate(names);
        Ok(())
    }

    fn is_damaged(&mut self, number: u64) -> FaultResult<bool> {
        Ok(self.pages.is_damaged(number)? || is_blank(self.pages.read(number)?))
    }

    fn page(&mut self, number: u64) -> FaultResult<()> {
        let own = self.roots.get(&number).map(String::as_str);
        for cell in carve::page(&mut self.pages, number, self.reserved)?.cells {
            match home::find(cell, own) {
                Some(Home::Table(table, values)) => {
                    let places = vec!["?"; values.len()].join(", ");
                    // What a damaged page says yields to what a sound one says.
                    let sql = format!("INSERT OR IGNORE INTO {table} VALUES ({places})");
                    let put = self.db.prepare_cached(&sql)?.execute(params_from_iter(values))?;
                    self.saved += put;
                }
                Some(name @ (Home::SessionName(..) | Home::SegmentName(..))) => {
                    self.names.push(name);
                }
                Some(Home::Derived) | None => {}
            }
        }
        Ok(())
    }

    /// Keeps what is left of damaged pages, after the new file was repaired. Returns what was done.
    pub(super) fn finish(mut self) -> FaultResult<String> {
        let kept = match self.keep_leftovers()? {
            0 => "nothing else was in the damaged pages".to_owned(),
            1 => "1 damaged page holds more and is in the quarantine".to_owned(),
            kept => format!("{kept} damaged pages hold more and are in the quarantine"),
        };
        let damaged = match self.damaged.len() {
            1 => "1 page of the file was damaged".to_owned(),
            damaged => format!("{damaged} pages of the file were damaged"),
        };
        let saved = match self.saved {
            1 => "1 row was saved".to_owned(),
            saved => format!("{saved} rows were saved"),
        };
        let short = match self.missing {
            0 => String::new(),
            1 => "the file was cut short and its last page is lost; ".to_owned(),
            missing => format!("the file was cut short and its last {missing} pages are lost; "),
        };
        Ok(format!("{short}{damaged}; {saved} and the file was rewritten; {kept}"))
    }

    /// Puts rows for sessions and segments that are lost, as far as others speak of them. What they say
    /// cannot be read: that is for the repair to work out.
    pub(super) fn heads(&mut self) -> FaultResult<()> {
        let names = std::mem::take(&mut self.names);
        for name in &names {
            if let Home::SessionName(name, key) = name {
                self.put_session(*key, name)?;
            }
        }
        let sql = "SELECT session FROM history UNION SELECT session FROM segments
                   EXCEPT SELECT id FROM sessions";
        for key in collect(self.db, sql, [], |row| Ok(row.get::<_, i64>(0)?))? {
            self.put_session(key, &format!("recovered-{key}"))?;
        }
        for name in &names {
            if let Home::SegmentName(session, name, key) = name {
                self.put_segment(*session, *key, name)?;
            }
        }
        let sql = "SELECT segment, data FROM pages
                   WHERE segment NOT IN (SELECT id FROM segments) ORDER BY segment, number";
        let orphans = collect(self.db, sql, [], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                Page::decode(row.get_ref(1)?.as_blob().unwrap_or_default()).ok(),
            ))
        })?;
        for (key, page) in orphans {
            let Some(page) = page else { continue };
            if let Some(session) = self.session_of(&page)? {
                self.put_segment(session, key, page.index.segment().as_str())?;
            }
        }
        Ok(())
    }

    fn put_session(&self, key: i64, name: &str) -> FaultResult<()> {
        let now = SystemClock.now().as_millis();
        self.db
            .prepare_cached(
                "INSERT OR IGNORE INTO sessions
                 VALUES (?1, ?2, 'recovered', 0, 1, ?3, ?3, zeroblob(16), NULL)",
            )?
            .execute(params![key, name, now])?;
        Ok(())
    }

    fn put_segment(&self, session: i64, key: i64, name: &str) -> FaultResult<()> {
        let sql = "SELECT EXISTS (SELECT 1 FROM pages WHERE segment = ?1)";
        let has_pages: bool = self.db.query_row(sql, [key], |row| row.get(0))?;
        // One without pages may only have given a name its key, and does so now.
        let sum = match has_pages {
            true => [0; 16],
            false => SegmentRow::checksum(session, key, name, None),
        };
        self.db
            .prepare_cached("INSERT OR IGNORE INTO segments VALUES (?1, ?2, ?3, NULL, ?4)")?
            .execute(params![key, session, name, sum])?;
        Ok(())
    }

    /// Returns the session a page belongs to: the one whose history knows the edit that last changed it,
    /// and that has no such segment.
    fn session_of(&self, page: &Page) -> FaultResult<Option<i64>> {
        let sql = "SELECT id FROM sessions
                   WHERE NOT EXISTS (SELECT 1 FROM segments
                       WHERE segments.session = sessions.id AND segments.name = ?1)
                   ORDER BY EXISTS (SELECT 1 FROM history
                       WHERE history.session = sessions.id AND history.revision = ?2) DESC, id
                   LIMIT 1";
        let revision = i64::try_from(page.revision.0).unwrap_or(i64::MAX);
        let found =
            collect(self.db, sql, params![page.index.segment().as_str(), revision], |row| {
                Ok(row.get(0)?)
            })?;
        Ok(found.first().copied())
    }
}

pub(super) fn is_blank(page: &[u8]) -> bool {
    page.iter().all(|byte| *byte == 0)
}

/// Returns which tables begin in which pages, as far as the file still says.
fn roots(old: &Connection) -> HashMap<u64, String> {
    let sql = "SELECT rootpage, name FROM sqlite_schema WHERE type = 'table'";
    let roots = collect(old, sql, [], |row| {
        Ok((u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0), row.get::<_, String>(1)?))
    });
    roots.unwrap_or_default().into_iter().collect()
}
