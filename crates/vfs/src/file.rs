//! The file of a database: reads are verified, writes get their sums, all else is passed on.
#![allow(unsafe_code, reason = "SQLite calls a file through pointers")]

use std::{
    ffi::{c_int, c_void},
    ptr, slice,
};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};

use crate::{
    lost,
    page::{HEADER, Layout, has_sum, put_sum},
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
    /// Whether SQLite is shown another header, because the file's own is lost. Only to save the rest.
    lost: bool,
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
            File { base, kind, layout: Layout::default(), lost: false, buffer: Vec::new() },
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

/// Returns what is known of the pages of a file, and whether its header is lost; nothing of a file that is
/// not ours.
///
/// # Safety
/// `file` is null or open.
pub(crate) unsafe fn known(file: *mut sqlite3_file) -> Option<(Layout, bool)> {
    // SAFETY: the file is open; only `wrap` gives one our methods, which is what tells it from others.
    unsafe {
        let ours =
            !file.is_null() && [&raw const ALONE, &raw const SHARED].contains(&(*file).pMethods);
        ours.then(|| ((*file.cast::<File>()).layout, (*file.cast::<File>()).lost))
    }
}

/// Calls a method of the system's own file.
macro_rules! call {
    ($file:expr, $method:ident $(, $argument:expr)*) => {{
        let own = $crate::file::own($file);
        match (*(*own).pMethods).$method {
            Some(method) => method(own $(, $argument)*),
            None => rusqlite::ffi::SQLITE_IOERR,
        }
    }};
}

pub(crate) use call;

/// Makes a method that only passes on.
macro_rules! pass {
    ($name:ident, $method:ident $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls it with a file that `wrap` made, and arguments fit for the system's own.
            unsafe { call!(file, $method $(, $argument)*) }
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
        let code = call!(file, xClose);
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
        let code = call!(file, xRead, place, length, offset);
        let Ok(length) = usize::try_from(length) else { return code };
        if code == ffi::SQLITE_OK && offset == 0 && length >= HEADER {
            show_header(file, slice::from_raw_parts_mut(place.cast(), HEADER));
            note_layout(file);
        }
        let file = &mut *file.cast::<File>();
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
        call!(file, xWrite, bytes, length, offset)
    }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made and does not use it while this runs.
    unsafe {
        if (*file.cast::<File>()).kind == Kind::Still {
            return ffi::SQLITE_OK;
        }
        let code = call!(file, xLock, level);
        if code == ffi::SQLITE_OK && level == ffi::SQLITE_LOCK_SHARED {
            // Another process may have given the file its sums since it was opened.
            note_layout(file);
        }
        code
    }
}

/// Notes what the header of a file says now.
///
/// # Safety
/// `file` is one of ours and open.
unsafe fn note_layout(file: *mut sqlite3_file) {
    // SAFETY: the file is open, and each place takes as many bytes as are asked for.
    unsafe {
        let mut start = vec![0_u8; HEADER];
        let code = call!(file, xRead, start.as_mut_ptr().cast(), HEADER as c_int, 0);
        if code != ffi::SQLITE_OK {
            return;
        }
        show_header(file, &mut start);
        let mut layout = Layout::of(&start);
        if layout.reserved && !layout.checked {
            // Only the whole page tells whether its version is true.
            start.resize(layout.size, 0);
            let code = call!(file, xRead, start.as_mut_ptr().cast(), layout.size as c_int, 0);
            layout = if code == ffi::SQLITE_OK { Layout::of(&start) } else { layout };
        } else if layout.size == 0 && is_header_lost(file) {
            // SQLite may read a first page from the log, and the others are verified all the same.
            layout = Layout::of(&lost::header(0));
        }
        (*file.cast::<File>()).layout = layout;
    }
}

/// Tells whether a file is ours and its first page is damaged.
///
/// # Safety
/// `file` is one of ours and open.
unsafe fn is_header_lost(file: *mut sqlite3_file) -> bool {
    lost::has_lost_header(|number, page| {
        let offset = i64::try_from(number - 1).unwrap_or(i64::MAX) * page.len() as i64;
        let (place, length) = (page.as_mut_ptr().cast(), page.len() as c_int);
        // SAFETY: the file is open, and the page takes that many bytes.
        unsafe { call!(file, xRead, place, length, offset) == ffi::SQLITE_OK }
    })
}

/// Puts the header that a file must have had in the place of one that is lost, where what is left is to be
/// saved.
///
/// # Safety
/// `file` is one of ours and open.
unsafe fn show_header(file: *mut sqlite3_file, header: &mut [u8]) {
    // SAFETY: the file is open, and the size has a place.
    unsafe {
        if (*file.cast::<File>()).kind != Kind::Salvage {
            return;
        }
        let lost = is_header_lost(file);
        (*file.cast::<File>()).lost = lost;
        let mut size: sqlite3_int64 = 0;
        if lost && call!(file, xFileSize, &raw mut size) == ffi::SQLITE_OK {
            header.copy_from_slice(&lost::header(u64::try_from(size).unwrap_or(0)));
        }
    }
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made.
    unsafe {
        match (*file.cast::<File>()).kind {
            Kind::Still => ffi::SQLITE_OK,
            Kind::Checked | Kind::Salvage => call!(file, xUnlock, level),
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
            Kind::Checked | Kind::Salvage => call!(file, xCheckReservedLock, answer),
        }
    }
}

unsafe extern "C" fn device_characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite hands over a file that `wrap` made.
    let own = unsafe { call!(file, xDeviceCharacteristics) };
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
    fn judge(&self, bytes: &[u8], offset: i64) -> c_int {
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
        // What is left of a first page is damaged, whatever SQLite changes in it.
        let damaged = self.lost && number == 1;
        if damaged || !(self.layout.checked && self.layout.reserved) {
            return None;
        }
        self.buffer.clear();
        self.buffer.extend_from_slice(bytes);
        put_sum(number, &mut self.buffer);
        Some(&self.buffer)
    }
}
