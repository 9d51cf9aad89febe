//! Checksums for every page of a SQLite file.
//!
//! SQLite believes what it reads. A page that a disk lost makes rows unreachable, and a query that does
//! not find them says that there are none. This crate stands between SQLite and the operating system: a
//! page written to the file gets a checksum over its bytes and its number, and a page read from it
//! without the right one is an error ([`is_damage`]), never an answer.
//!
//! ```text
//! SQLite ──► contexture ──► the system's own file system
//!              pages of the database: sums put and verified
//!              log, journals, temporary files: passed through
//! ```
//!
//! The sum lies in the last [`SUM`] bytes of a page, which SQLite leaves to its file systems
//! ([`reserve`]). Whether a file has sums stands in its header: that many bytes are reserved, and its
//! `user_version` is at least [`SINCE`]. A lower one counts only where the sum of the first page does not
//! show that it is damaged. Files without are read and written as they are. The log has sums of its own; a
//! page gets ours when it moves from there into the file.
//!
//! ```
//! use rusqlite::{Connection, OpenFlags};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("a.db");
//! contexture_vfs::register()?;
//! let vfs = contexture_vfs::CHECKED;
//! let db = Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs)?;
//! contexture_vfs::reserve(&db)?;
//! db.execute_batch("BEGIN; CREATE TABLE t (x); PRAGMA user_version = 5; COMMIT")?;
//! assert!(contexture_vfs::is_checked(&db));
//! assert_eq!(contexture_vfs::damaged_pages(&db)?, []);
//! # Ok(()) }
//! ```

mod file;
mod lost;
mod page;
mod pages;
mod vfs;

use rusqlite::ffi;

pub use page::{SINCE, SUM};
pub use pages::{Pages, damaged_pages, has_lost_header, has_room, is_checked, reserve, seal};
pub use vfs::register;

/// The file system that puts sums and verifies them.
pub const CHECKED: &str = "contexture";

/// The file system that puts sums and believes what it reads: to save what can be saved. It shows SQLite
/// a header where the file has lost its own.
pub const SALVAGE: &str = "contexture-salvage";

/// The file system for files that nobody can write: it verifies sums and takes no locks.
pub const STILL: &str = "contexture-still";

/// Tells whether a read failed because a page is not what was written.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_DATA)
}

/// Says what SQLite said, as its binding does.
fn checked(code: std::ffi::c_int) -> rusqlite::Result<()> {
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}
