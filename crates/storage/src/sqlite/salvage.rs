//! Salvage: a file whose structure is damaged is written anew from the rows that its pages still hold.
//!
//! ```text
//! every page ──► rows ──► a new file beside it ──► repair ──► copied over the old one
//! ```
//!
//! Rows are taken from sound pages first, then from damaged ones: a row of those that is not what was
//! written goes into the quarantine, and so does a damaged page that holds more than was saved. Nobody else may have the file
//! open. If it is cut off before the new file is whole, nothing has changed; afterwards the file cannot be
//! opened until the copying is finished, by salvaging again.

mod carve;
mod home;
mod leftover;
mod rescue;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use contexture_core::storage::{StorageError, StorageResult};
use contexture_vfs::Pages;
use rusqlite::{Connection, MAIN_DB, OpenFlags, TransactionBehavior, backup::Backup};

use self::rescue::Rescue;
use super::{
    error::FaultResult,
    open::{self, beside, refused},
    repair, schema,
    traces::TraceReason,
};

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
    let reason = "its repair was interrupted; repair it again to finish".to_owned();
    Err(StorageError::Corrupt { what, reason })
}

/// Removes the copy that a salvage left when it was cut off before the copy was whole; says so
/// where that fails.
///
/// Only for those who have the file open: as long as they do nobody is salvaging it, and whoever does so
/// later makes the copy again from the beginning. A copy that is whole is needed, and keeps a file from being
/// opened.
pub(crate) fn remove_leftover(path: &Path) -> Option<TraceReason> {
    let begun = beside(path, BEGUN);
    match fs::remove_file(&begun) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %begun.display(), %error, "a copy could not be removed");
            Some(TraceReason::Copy)
        }
        _ => None,
    }
}

/// Saves what can be saved of a file, if its structure is damaged; returns what was done, a sentence each.
pub(crate) fn salvage(path: &Path, patience: Duration) -> StorageResult<Vec<String>> {
    let mut done = Vec::new();
    let run = |done: &mut Vec<String>| -> FaultResult<()> {
        let whole = beside(path, WHOLE);
        if !whole.exists() && is_sound(path, patience) {
            return Ok(());
        }
        let (mut old, missing) = exclusive(path, patience)?;
        if whole.exists() {
            done.push("an interrupted repair was finished".to_owned());
        } else {
            let begun = rescue(&old, missing, path, done)?;
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
    let look = || -> FaultResult<bool> {
        let db = open::reader(path, patience)?;
        let sql = "PRAGMA integrity_check(1)";
        let sound = db.query_row(sql, [], |row| row.get::<_, String>(0))? == "ok";
        Ok(sound && contexture_vfs::damaged_pages(&db)?.is_empty())
    };
    look().unwrap_or(false)
}

/// Returns how many pages a file says it has beyond those that are there.
fn missing(pages: &mut Pages<'_>) -> FaultResult<u64> {
    let there = pages.count()?;
    if there == 0 || pages.is_damaged(1)? {
        return Ok(0);
    }
    let count: Option<[u8; 4]> = pages.read(1)?.get(28..32).and_then(|it| it.try_into().ok());
    Ok(count.map_or(0, |count| u64::from(u32::from_be_bytes(count)).saturating_sub(there)))
}

/// Opens a file that nobody else may use meanwhile, whatever is wrong with it.
///
/// Returns also how many pages the file says it has beyond those that are there: what SQLite does next
/// corrects that.
fn exclusive(path: &Path, patience: Duration) -> FaultResult<(Connection, u64)> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = open::connection(path, flags, contexture_vfs::SALVAGE)?;
    if db.is_readonly(MAIN_DB)? {
        let (what, reason) = (path.display().to_string(), "the system allows only read access");
        return Err(StorageError::ReadOnly { what, reason: reason.to_owned() }.into());
    }
    db.busy_timeout(patience)?;
    let missing = missing(&mut Pages::of(&db)?)?;
    // So SQLite opens it also where its list of tables cannot be read.
    db.pragma_update(None, "writable_schema", true)?;
    db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    db.transaction_with_behavior(TransactionBehavior::Exclusive)?.commit()?;
    Ok((db, missing))
}

/// Makes a new file of what the old one still holds. Returns its path.
fn rescue(
    old: &Connection,
    missing: u64,
    path: &Path,
    done: &mut Vec<String>,
) -> FaultResult<PathBuf> {
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
    let mut rescue = Rescue::new(&transaction, old, missing)?;
    rescue.rows()?;
    rescue.heads()?;
    let repaired = repair::all(&transaction)?;
    done.push(rescue.finish()?);
    done.extend(repaired);
    transaction.commit()?;
    Ok(begun)
}

/// Copies a whole file over a damaged one. Without a journal: cut off, it is done again, and taking it back
/// would give damaged pages sums that are right.
fn copy_over(whole: &Path, old: &mut Connection) -> FaultResult<()> {
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
