//! Databases in memory that several connections of this process share, by name.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::error::FaultResult;

/// Returns a name that no database of this process has.
pub(crate) fn name() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    PathBuf::from(format!("/contexture-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// Opens a connection. The database is there as long as one of them is.
pub(crate) fn connect(name: &Path, busy_timeout: Duration) -> FaultResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags_and_vfs(name, flags, c"memdb")?;
    db.busy_timeout(busy_timeout)?;
    db.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(()))?;
    db.set_prepared_statement_cache_capacity(100);
    Ok(db)
}

/// Copies all that a connection sees into a database in memory, which must be open and empty. The
/// connection must know URIs.
pub(crate) fn copy(from: &Connection, to: &Path) -> FaultResult<()> {
    from.execute("VACUUM INTO ?1", [format!("file:{}?vfs=memdb", to.display())])?;
    Ok(())
}
