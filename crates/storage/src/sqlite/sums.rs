//! Checksums for the pages of a file that was made without them.
//!
//! Nobody else may have the file open, because an earlier program that writes on would leave pages
//! without. Every step can be cut off: until the last one the file counts as one without checksums.

use rusqlite::{Connection, TransactionBehavior};

use super::{
    error::FaultResult,
    schema::{self, Identity},
};

/// Gives a file its checksums, where that can be done now. Otherwise it stays as it is, and works.
pub(crate) fn give(db: &Connection, what: &str) {
    match exclusively(db) {
        Ok(()) => {}
        Err(fault) => {
            let fault = format!("{fault:?}");
            tracing::info!(path = what, fault, "the pages of this file have no checksums yet");
        }
    }
    // Others may use it again, from the next read on.
    let release = db
        .pragma_update(None, "locking_mode", "NORMAL")
        .and_then(|()| Identity::read(db).map(|_| ()));
    if let Err(error) = release {
        tracing::warn!(path = what, %error, "the lock on a file was not released");
    }
}

fn exclusively(db: &Connection) -> FaultResult<()> {
    db.busy_timeout(std::time::Duration::ZERO)?;
    // Fails when anybody else has it open.
    db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))?;
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    let sealed = {
        let mine = rusqlite::Transaction::new_unchecked(db, TransactionBehavior::Exclusive)?;
        let sealed = Identity::read(&mine)?.has_sums();
        mine.commit()?;
        sealed
    };
    if sealed || !is_sound(db)? {
        return Ok(());
    }
    if !contexture_vfs::has_room(db)? {
        contexture_vfs::reserve(db)?;
        db.execute_batch("VACUUM")?;
    }
    contexture_vfs::seal(db)?;
    schema::mark_sums(db)
}

/// Tells whether the structure of a file is in order: writing a damaged one anew would hide the damage.
fn is_sound(db: &Connection) -> FaultResult<bool> {
    let sql = "PRAGMA integrity_check(1)";
    Ok(db.query_row(sql, [], |row| row.get::<_, String>(0))? == "ok")
}
