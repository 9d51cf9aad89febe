//! The file of a database: reads are verified, writes get their sums, all else is passed on.
#![allow(unsafe_code, reason = "SQLite calls a file through pointers")]

use std::{
    ffi::{c_int, c_void},
    ptr, slice,
};

use rusqlite::{
    Connection,
    ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods},
};

use crate::{
    checked,
    page::{HEADER, Layout, SUM, has_sum, put_sum},
};

/// What a file system does with the files of databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Verifies what it reads.
    Checked,
    /// Believes what it reads.
    Salvage,
    /// Verifies what it reads, of files that nobody can write.
    Still,
}

/// A file of ours. The system's own file follows it in the same allocation, [`OWN`] bytes on.
#[repr(C)]
pub(crate) struct File {
    /// What SQLite sees.
    base: sqlite3_file,
    kind: Kind,
    layout: Layout,
    /// Where a page gets its sum: what SQLite hands over to be written is not ours to change.
    buffer: Vec<u8>,
}

/// Where in the allocation the system's own file lies.
pub(crate) const OWN: usize = size_of::<File>().next_multiple_of(16);

/// Makes a file of ours around the system's own, which is open.
///
/// # Safety
/// `file` points to an allocation of [`OWN`] bytes and the system's own file, which nobody else uses.
pub(crate) unsafe fn wrap(file: *mut sqlite3_file, kind: Kind) {
    // SAFETY: the caller vouches for the allocation; the system's file is open, so it has its methods.
    unsafe {
        let shared =
            (*(*own(file)).pMethods).iVersion >= 2 && (*(*own(file)).pMethods).xShmMap.is_some();
        let base =
            sqlite3_file { pMethods: if shared { &raw const SHARED } else { &raw const ALONE } };
        ptr::write(
            file.cast::<File>(),
            File { base, kind, layout: Layout::default(), buffer: Vec::new() },
        );
    }
}

/// Returns the system's own file behind one of ours.
///
/// # Safety
/// `file` points to an allocation as [`wrap`] wants it.
pub(crate) unsafe fn own(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the allocation goes on behind `OWN`.
    unsafe { file.byte_add(OWN) }
}

/// Calls a method of the system's own file.
macro_rules! own {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let own = own($file);
        match (*(*own).pMethods).$method {
            Some(method) => method(own $(, $argument)*),
            None => ffi::SQLITE_IOERR,
        }
    }};
}

/// Makes a method that only passes on.
macro_rules! pass {
    ($name:ident, $method:ident $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls it with a file that `wrap` made, and arguments fit for the system's own.
            unsafe { own!(file, $method $(, $argument)*) }
        }
    };
}

pass!(truncate, xTruncate, size: sqlite3_int64);
pass!(sync, xSync, flags: c_int);
pass!(file_size, xFileSize, size: *mut sqlite3_int64);
pass!(file_control, xFileControl, operation: c_int, argument: *mut c_void);
pass!(sector_size, xSectorSize);
pass!(shm_map, xShmMap, region: c_int, size: c_int, extend: c_int, place: *mut *mut c_void);
pass!(shm_lock, xShmLock, offset: c_int, count: c_int, flags: c_int);
pass!(shm_unmap, xShmUnmap, delete: c_int);

/// What SQLite finds in a file of ours that has no shared memory.
static ALONE: sqlite3_io_methods = methods(1);

/// What SQLite finds in a file of ours that several processes share. A version of 3 would also offer the
/// file as memory, past every check.
static SHARED: sqlite3_io_methods = methods(2);

const fn methods(version: c_int) -> sqlite3_io_methods {
    sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(file_size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(file_control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(device_characteristics),
        xShmMap: Some(shm_map),
        xShmLock: Some(shm_lock),
        xShmBarrier: Some(shm_barrier),
        xShmUnmap: Some(shm_unmap),
        xFetch: None,
        xUnfetch: None,
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: `wrap` made it, and SQLite does not use it afterwards.
    unsafe {
        let code = own!(file, xClose);
        ptr::drop_in_place(&raw mut (*file.cast::<File>()).buffer);
        code
    }
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    place: *mut c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made and a place for that many bytes, and uses
    // neither while this runs. The system's own file fills the place, with zeros beyond the file's end.
    unsafe {
        let code = own!(file, xRead, place, length, offset);
        let file = &mut *file.cast::<File>();
        let Ok(length) = usize::try_from(length) else { return code };
        match code {
            ffi::SQLITE_OK => file.judge(slice::from_raw_parts(place.cast(), length), offset),
            // SQLite would take what lies beyond the end of the file for zeros.
            ffi::SQLITE_IOERR_SHORT_READ
                if file.verifies() && file.layout.page(offset, length).is_some() =>
            {
                ffi::SQLITE_IOERR_DATA
            }
            code => code,
        }
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made and that many bytes, and uses neither while this
    // runs. The buffer holds as many and lives until the next write.
    unsafe {
        let ours = &mut *file.cast::<File>();
        let Ok(size) = usize::try_from(length) else { return ffi::SQLITE_IOERR_WRITE };
        let page = slice::from_raw_parts(bytes.cast::<u8>(), size);
        let with_sum = ours.with_sum(page, offset);
        let bytes = with_sum.map_or(bytes, |page| page.as_ptr().cast());
        own!(file, xWrite, bytes, length, offset)
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made and does not use it while this runs.
    unsafe {
        if (*file.cast::<File>()).kind == Kind::Still {
            return ffi::SQLITE_OK;
        }
        let code = own!(file, xLock, level);
        if code == ffi::SQLITE_OK && level == ffi::SQLITE_LOCK_SHARED {
            // Another process may have given the file its sums since it was opened.
            let mut header = [0_u8; HEADER];
            if own!(file, xRead, header.as_mut_ptr().cast(), HEADER as c_int, 0) == ffi::SQLITE_OK {
                (*file.cast::<File>()).layout = Layout::of(&header);
            }
        }
        code
    }
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made.
    unsafe {
        match (*file.cast::<File>()).kind {
            Kind::Still => ffi::SQLITE_OK,
            Kind::Checked | Kind::Salvage => own!(file, xUnlock, level),
        }
    }
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, answer: *mut c_int) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made and a place for the answer.
    unsafe {
        match (*file.cast::<File>()).kind {
            Kind::Still => {
                *answer = 0;
                ffi::SQLITE_OK
            }
            Kind::Checked | Kind::Salvage => own!(file, xCheckReservedLock, answer),
        }
    }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made.
    let own = unsafe { own!(file, xDeviceCharacteristics) };
    // Part of a page cannot be verified.
    own & !ffi::SQLITE_IOCAP_SUBPAGE_READ
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: SQLite hands over a file that `wrap` made.
    unsafe {
        let own = own(file);
        if let Some(barrier) = (*(*own).pMethods).xShmBarrier {
            barrier(own);
        }
    }
}

impl File {
    fn verifies(&self) -> bool {
        self.layout.checked && self.kind != Kind::Salvage
    }

    /// Judges what was read.
    fn judge(&mut self, bytes: &[u8], offset: i64) -> c_int {
        if offset == 0 && bytes.len() >= HEADER {
            self.layout = Layout::of(bytes);
        }
        match self.layout.page(offset, bytes.len()) {
            Some(number) if self.verifies() && !has_sum(number, bytes) => ffi::SQLITE_IOERR_DATA,
            _ => ffi::SQLITE_OK,
        }
    }

    /// Returns a page with its sum, where it gets one.
    fn with_sum(&mut self, bytes: &[u8], offset: i64) -> Option<&[u8]> {
        if offset == 0 && bytes.len() >= HEADER {
            self.layout = Layout::of(bytes);
        }
        let number = self.layout.page(offset, bytes.len())?;
        if !(self.layout.checked && self.layout.reserved) {
            return None;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes);
        put_sum(number, &mut self.buffer);
        Some(&self.buffer)
    }
}

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
        // SAFETY: SQLite returns its file, open as long as the connection; only `wrap` gives one our
        // methods, which is what tells it from others.
        let layout = unsafe {
            let ours = !file.is_null()
                && [&raw const ALONE, &raw const SHARED].contains(&(*file).pMethods);
            if !ours {
                return Err(misuse());
            }
            (*file.cast::<File>()).layout
        };
        let page = vec![0; layout.size];
        Ok(Self { _db: db, file, layout, page })
    }

    /// Returns how many there are. They are numbered from 1.
    pub fn count(&self) -> rusqlite::Result<u64> {
        let mut size: sqlite3_int64 = 0;
        // SAFETY: the file is open, and the place takes its size.
        checked(unsafe { own!(self.file, xFileSize, &raw mut size) })?;
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
        checked(unsafe { own!(self.file, xRead, self.page.as_mut_ptr().cast(), length, offset) })?;
        Ok(&self.page)
    }

    fn write_sum(&self, number: u64) -> rusqlite::Result<()> {
        let start = self.page.len() - SUM;
        let offset = self.offset(number) + start as i64;
        let sum = &self.page[start..];
        // SAFETY: the file is open, and the sum has that many bytes.
        checked(unsafe { own!(self.file, xWrite, sum.as_ptr().cast(), SUM as c_int, offset) })
    }

    fn sync(&self) -> rusqlite::Result<()> {
        // SAFETY: the file is open.
        checked(unsafe { own!(self.file, xSync, ffi::SQLITE_SYNC_FULL) })
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
