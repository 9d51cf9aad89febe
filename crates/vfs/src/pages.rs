//! The pages of a file as a whole: leaving room for sums, giving them, verifying them, reading past SQLite.
#![allow(unsafe_code, reason = "SQLite hands out its file as a pointer")]

use std::{ffi::c_int, ptr};

use rusqlite::{
    Connection,
    ffi::{self, sqlite3_file, sqlite3_int64},
};

use crate::{
    checked,
    file::{call, known},
    page::{Layout, SUM, has_sum, put_sum},
};

/// Leaves room for sums in the pages of a database: in a new one before its first table is made, in
/// another by the next `VACUUM`.
pub fn reserve(db: &Connection) -> rusqlite::Result<()> {
    let mut bytes = SUM as c_int;
    // SAFETY: the connection is open, and this operation reads and writes an integer.
    checked(unsafe {
        ffi::sqlite3_file_control(
            db.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_RESERVE_BYTES,
            (&raw mut bytes).cast(),
        )
    })
}

/// Tells whether the pages of a database carry sums.
pub fn is_checked(db: &Connection) -> bool {
    Pages::of(db).is_ok_and(|pages| pages.layout.checked)
}

/// Tells whether a database is ours though its header is damaged: other pages carry sums.
///
/// Only one that was opened to [save](crate::SALVAGE) what can be saved is looked at so.
pub fn has_lost_header(db: &Connection) -> bool {
    Pages::of(db).is_ok_and(|pages| pages.lost)
}

/// Tells whether the pages of a database leave room for sums.
pub fn has_room(db: &Connection) -> rusqlite::Result<bool> {
    Ok(Pages::of(db)?.layout.reserved)
}

/// Gives every page of a file its sum, without changing anything else.
///
/// No other connection may have it open, and no transaction be under way. The file counts as checked only
/// when its `user_version` says so: until then it may be written without sums again.
pub fn seal(db: &Connection) -> rusqlite::Result<()> {
    let mut pages = Pages::of(db)?;
    if !pages.layout.reserved {
        return Err(misuse());
    }
    for number in 1..=pages.count()? {
        pages.read(number)?;
        put_sum(number, &mut pages.page);
        pages.write_sum(number)?;
    }
    pages.sync()
}

/// Returns the numbers of the pages in the file that are not what was written ([`Pages::is_damaged`]).
pub fn damaged_pages(db: &Connection) -> rusqlite::Result<Vec<u64>> {
    let mut pages = Pages::of(db)?;
    if !pages.layout.checked {
        return Ok(Vec::new());
    }
    let mut damaged = Vec::new();
    for number in 1..=pages.count()? {
        if pages.is_damaged(number)? {
            damaged.push(number);
        }
    }
    Ok(damaged)
}

/// The pages of a database's file as they lie there, past SQLite. It locks nothing.
pub struct Pages<'a> {
    /// Keeps the file open.
    _db: &'a Connection,
    file: *mut sqlite3_file,
    layout: Layout,
    lost: bool,
    page: Vec<u8>,
}

impl<'a> Pages<'a> {
    /// Returns the pages of a database that was opened through this crate.
    pub fn of(db: &'a Connection) -> rusqlite::Result<Self> {
        let mut file: *mut sqlite3_file = ptr::null_mut();
        // SAFETY: the connection is open, and this operation writes a pointer to its file.
        checked(unsafe {
            ffi::sqlite3_file_control(
                db.handle(),
                c"main".as_ptr(),
                ffi::SQLITE_FCNTL_FILE_POINTER,
                (&raw mut file).cast(),
            )
        })?;
        // SAFETY: SQLite returns its file, open as long as the connection.
        let (layout, lost) = unsafe { known(file) }.ok_or_else(misuse)?;
        let page = vec![0; layout.size];
        Ok(Self { _db: db, file, layout, lost, page })
    }

    /// Returns how many there are. They are numbered from 1.
    pub fn count(&self) -> rusqlite::Result<u64> {
        let mut size: sqlite3_int64 = 0;
        // SAFETY: the file is open, and the place takes its size.
        checked(unsafe { call!(self.file, xFileSize, &raw mut size) })?;
        let size = u64::try_from(size).unwrap_or(0);
        Ok(size.checked_div(self.layout.size as u64).unwrap_or(0))
    }

    fn offset(&self, number: u64) -> i64 {
        i64::try_from(number.saturating_sub(1).saturating_mul(self.layout.size as u64))
            .unwrap_or(i64::MAX)
    }

    /// Reads one.
    pub fn read(&mut self, number: u64) -> rusqlite::Result<&[u8]> {
        let (length, offset) = (self.page.len() as c_int, self.offset(number));
        // SAFETY: the file is open, and the page takes that many bytes.
        checked(unsafe { call!(self.file, xRead, self.page.as_mut_ptr().cast(), length, offset) })?;
        Ok(&self.page)
    }

    fn write_sum(&self, number: u64) -> rusqlite::Result<()> {
        let start = self.page.len() - SUM;
        let offset = self.offset(number) + start as i64;
        let sum = &self.page[start..];
        // SAFETY: the file is open, and the sum has that many bytes.
        checked(unsafe { call!(self.file, xWrite, sum.as_ptr().cast(), SUM as c_int, offset) })
    }

    fn sync(&self) -> rusqlite::Result<()> {
        // SAFETY: the file is open.
        checked(unsafe { call!(self.file, xSync, ffi::SQLITE_SYNC_FULL) })
    }

    /// Tells whether one is not what was written, in a file whose pages carry sums.
    ///
    /// Pages of zeros are not: in a file that grows they stand where a page is still in the log. Reading
    /// one through SQLite all the same is an error.
    pub fn is_damaged(&mut self, number: u64) -> rusqlite::Result<bool> {
        // The page at which SQLite locks is never written.
        let locked = LOCKED.checked_div(self.layout.size as u64);
        if locked == Some(number.saturating_sub(1)) {
            return Ok(false);
        }
        // Another process may be writing it just now: what is damaged stays so.
        for _ in 0..3 {
            self.read(number)?;
            if has_sum(number, &self.page) || self.page.iter().all(|byte| *byte == 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Where in a file SQLite puts its locks.
const LOCKED: u64 = 0x4000_0000;

fn misuse() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_MISUSE), None)
}
