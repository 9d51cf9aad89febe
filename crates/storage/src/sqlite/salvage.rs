//! Salvage: a file whose structure is damaged is written anew from the rows that its pages still hold.
//!
//! ```text
//! every page ──► rows ──► a new file beside it ──► repair ──► copied over the old one
//! ```
//!
//! Rows are taken from sound pages first, then from damaged ones: a row of those that is not what was
//! written goes into the quarantine, and so does the damaged page itself. Nobody else may have the file
//! open. If it is cut off before the new file is whole, nothing has changed; afterwards the file cannot be
//! opened until the copying is finished, by salvaging again.

mod carve;
mod home;

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use contexture_core::{
    Clock, Page,
    storage::{StorageError, StorageResult},
};
use contexture_vfs::Pages;
use rusqlite::{
    Connection, MAIN_DB, OpenFlags, TransactionBehavior, backup::Backup, params, params_from_iter,
};

use self::home::Home;
use super::{
    error::Outcome,
    open::{self, beside, refused},
    quarantine,
    read::collect,
    repair,
    rows::SegmentRow,
    schema,
};
use crate::SystemClock;

/// What lies beside a file while it is being salvaged.
const BEGUN: &str = "-salvage";

/// What lies beside a file that must be copied over it.
const WHOLE: &str = "-salvaged";

/// Refuses a file over which another must still be copied.
pub(crate) fn check_finished(path: &Path) -> StorageResult<()> {
    if !beside(path, WHOLE).exists() {
        return Ok(());
    }
    let what = path.display().to_string();
    let reason = "its repair was cut off, and `store check --repair` finishes it".to_owned();
    Err(StorageError::Corrupt { what, reason })
}

/// Saves what can be saved of a file, if its structure is damaged; returns what was done, a sentence each.
pub(crate) fn salvage(path: &Path, patience: Duration) -> StorageResult<Vec<String>> {
    let mut done = Vec::new();
    let run = |done: &mut Vec<String>| -> Outcome<()> {
        let whole = beside(path, WHOLE);
        if !whole.exists() && is_sound(path, patience) {
            return Ok(());
        }
        let mut old = exclusive(path, patience)?;
        if whole.exists() {
            done.push("a repair that was cut off was finished".to_owned());
        } else {
            let begun = rescue(&old, path, done)?;
            fs::File::open(&begun)
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&begun, &whole))
                .map_err(|error| refused(path, &error))?;
        }
        copy_over(&whole, &mut old)?;
        drop(old);
        fs::remove_file(&whole).map_err(|error| refused(path, &error).into())
    };
    run(&mut done).map(|()| done).map_err(|fault| fault.at(path))
}

/// Tells whether the structure of a file is in order.
fn is_sound(path: &Path, patience: Duration) -> bool {
    let look = || -> Outcome<bool> {
        let db = open::reader(path, patience)?;
        let sql = "PRAGMA integrity_check(1)";
        let sound = db.query_row(sql, [], |row| row.get::<_, String>(0))? == "ok";
        Ok(sound && contexture_vfs::damaged_pages(&db)?.is_empty())
    };
    look().unwrap_or(false)
}

/// Opens a file that nobody else may use meanwhile, whatever is wrong with it.
fn exclusive(path: &Path, patience: Duration) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = open::connection(path, flags, contexture_vfs::SALVAGE)?;
    if db.is_readonly(MAIN_DB)? {
        let (what, reason) = (path.display().to_string(), "the system allows only reading");
        return Err(StorageError::ReadOnly { what, reason: reason.to_owned() }.into());
    }
    db.busy_timeout(patience)?;
    // So SQLite opens it also where its list of tables cannot be read.
    db.pragma_update(None, "writable_schema", true)?;
    db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    db.transaction_with_behavior(TransactionBehavior::Exclusive)?.commit()?;
    Ok(db)
}

/// Makes a new file of what the old one still holds. Returns its path.
fn rescue(old: &Connection, path: &Path, done: &mut Vec<String>) -> Outcome<PathBuf> {
    let begun = beside(path, BEGUN);
    match fs::remove_file(&begun) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(refused(path, &error).into());
        }
        _ => open::make(&begun).map_err(|error| refused(path, &error))?,
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut new = open::connection(&begun, flags, contexture_vfs::CHECKED)?;
    contexture_vfs::reserve(&new)?;
    // Only whole does it count, and then it is on the disk.
    new.pragma_update(None, "synchronous", "OFF")?;
    // Otherwise SQLite would not write a page that is used and freed within the transaction, and the
    // file would have a hole there, without a checksum.
    new.pragma_update(None, "secure_delete", true)?;
    schema::migrate(&mut new, &begun.display().to_string())?;
    let transaction = new.transaction()?;
    let mut rescue =
        Rescue { db: &transaction, reserved: 0, names: Vec::new(), damaged: 0, saved: 0 };
    rescue.rows(old)?;
    rescue.heads()?;
    let (damaged, saved) = (rescue.damaged, rescue.saved);
    let damaged = if damaged == 1 {
        "1 page of the file was".to_owned()
    } else {
        format!("{damaged} pages of the file were")
    };
    done.push(format!(
        "{damaged} damaged; {saved} rows were saved and the file was written \
         anew, the damaged pages lie in the quarantine"
    ));
    done.extend(repair::all(&transaction)?);
    transaction.commit()?;
    Ok(begun)
}

/// Rows on their way into a new file.
struct Rescue<'a> {
    db: &'a Connection,
    /// How many bytes at the end of each page are not SQLite's.
    reserved: usize,
    /// What indexes say of rows that may be lost themselves.
    names: Vec<Home>,
    damaged: usize,
    saved: usize,
}

impl Rescue<'_> {
    fn rows(&mut self, old: &Connection) -> Outcome<()> {
        let roots = roots(old);
        let mut pages = Pages::of(old)?;
        let has_sums = contexture_vfs::is_checked(old);
        self.reserved = if contexture_vfs::has_room(old)? { contexture_vfs::SUM } else { 0 };
        let mut damaged = Vec::new();
        for number in 1..=pages.count()? {
            // Where there are no sums every page counts as sound; its rows have sums of their own.
            if has_sums && (pages.is_damaged(number)? || is_blank(pages.read(number)?)) {
                damaged.push(number);
            } else {
                self.page(&mut pages, number, &roots)?;
            }
        }
        // Names have no sums of their own, unlike rows: only those of sound pages count.
        let names = self.names.len();
        for number in &damaged {
            self.page(&mut pages, *number, &roots)?;
            let page = pages.read(*number)?;
            if !is_blank(page) {
                quarantine::keep_bytes(self.db, &format!("page {number}"), page)?;
            }
        }
        self.names.truncate(names);
        self.damaged = damaged.len();
        Ok(())
    }

    fn page(
        &mut self,
        pages: &mut Pages<'_>,
        number: u64,
        roots: &HashMap<u64, String>,
    ) -> Outcome<()> {
        let own = roots.get(&number).map(String::as_str);
        for cell in carve::cells(pages, number, self.reserved)? {
            match home::find(cell, own) {
                Some(Home::Table(table, values)) => {
                    let places = vec!["?"; values.len()].join(", ");
                    // What a damaged page says yields to what a sound one says.
                    let sql = format!("INSERT OR IGNORE INTO {table} VALUES ({places})");
                    let put = self.db.prepare_cached(&sql)?.execute(params_from_iter(values))?;
                    self.saved += put;
                }
                Some(name) => self.names.push(name),
                None => {}
            }
        }
        Ok(())
    }

    /// Puts rows for sessions and segments that are lost, as far as others speak of them. What they say
    /// cannot be read: that is for the repair to work out.
    fn heads(&mut self) -> Outcome<()> {
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

    fn put_session(&self, key: i64, name: &str) -> Outcome<()> {
        let now = SystemClock.now().as_millis();
        self.db
            .prepare_cached(
                "INSERT OR IGNORE INTO sessions
                 VALUES (?1, ?2, 'recovered', 0, 1, ?3, ?3, zeroblob(16), NULL)",
            )?
            .execute(params![key, name, now])?;
        Ok(())
    }

    fn put_segment(&self, session: i64, key: i64, name: &str) -> Outcome<()> {
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
    fn session_of(&self, page: &Page) -> Outcome<Option<i64>> {
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

fn is_blank(page: &[u8]) -> bool {
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

/// Copies a whole file over a damaged one. Without a journal: cut off, it is done again, and taking it back
/// would give damaged pages sums that are right.
fn copy_over(whole: &Path, old: &mut Connection) -> Outcome<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let new = open::connection(whole, flags, contexture_vfs::CHECKED)?;
    old.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    old.pragma_update(None, "synchronous", "FULL")?;
    let backup = Backup::new(&new, old)?;
    match backup.step(-1)? {
        rusqlite::backup::StepResult::Done => {}
        _ => {
            let reason = "another program is using it".to_owned();
            let what = whole.display().to_string();
            return Err(StorageError::Unavailable { what, reason }.into());
        }
    }
    drop(backup);
    Ok(contexture_vfs::seal(old)?)
}
