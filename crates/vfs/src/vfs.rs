//! The file systems that SQLite knows by name: only opening a database is ours, all else is passed on.
#![allow(unsafe_code, reason = "SQLite calls a file system through pointers")]

use std::{
    ffi::{CStr, c_char, c_int},
    ptr,
    sync::OnceLock,
};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_filename, sqlite3_int64, sqlite3_vfs};

use crate::{
    checked,
    file::{Kind, OWN, own, wrap},
};

/// Makes the file systems known to SQLite, once in a process; later calls do nothing.
pub fn register() -> rusqlite::Result<()> {
    static DONE: OnceLock<c_int> = OnceLock::new();
    let code = *DONE.get_or_init(|| {
        let kinds = [
            (c"contexture", Kind::Checked),
            (c"contexture-salvage", Kind::Salvage),
            (c"contexture-still", Kind::Still),
        ];
        kinds
            .into_iter()
            .map(|(name, kind)| add(name, kind))
            .find(|code| *code != ffi::SQLITE_OK)
            .unwrap_or(ffi::SQLITE_OK)
    });
    checked(code)
}

/// What a file system of ours knows.
struct Shim {
    own: *mut sqlite3_vfs,
    kind: Kind,
}

fn add(name: &'static CStr, kind: Kind) -> c_int {
    // SAFETY: the system's own file system is there as long as the process. What is registered is never
    // freed either, and its methods are the ones below.
    unsafe {
        let code = ffi::sqlite3_initialize();
        let own = ffi::sqlite3_vfs_find(ptr::null());
        if code != ffi::SQLITE_OK || own.is_null() {
            return if code == ffi::SQLITE_OK { ffi::SQLITE_ERROR } else { code };
        }
        let shim = Box::leak(Box::new(Shim { own, kind }));
        let vfs = Box::leak(Box::new(sqlite3_vfs {
            // 3 would only add the replacing of system calls, for SQLite's own tests.
            iVersion: (*own).iVersion.min(2),
            szOsFile: OWN as c_int + (*own).szOsFile,
            mxPathname: (*own).mxPathname,
            pNext: ptr::null_mut(),
            zName: name.as_ptr(),
            pAppData: ptr::from_mut(shim).cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            // Extensions are never loaded.
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: Some(current_time),
            xGetLastError: Some(last_error),
            xCurrentTimeInt64: Some(current_time_millis),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        ffi::sqlite3_vfs_register(vfs, 0)
    }
}

/// Returns what a file system of ours knows.
///
/// # Safety
/// [`add`] registered it.
unsafe fn shim(vfs: *mut sqlite3_vfs) -> &'static Shim {
    // SAFETY: `add` left it there for as long as the process.
    unsafe { &*(*vfs).pAppData.cast::<Shim>() }
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls it with one of ours and an allocation of the size that `add` asked for.
    unsafe {
        let Shim { own: vfs, kind } = *shim(vfs);
        let Some(open) = (*vfs).xOpen else { return ffi::SQLITE_CANTOPEN };
        if flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
            return open(vfs, name, file, flags, opened);
        }
        // Without methods SQLite does not close it.
        (*file).pMethods = ptr::null();
        let own = own(file);
        (*own).pMethods = ptr::null();
        let code = open(vfs, name, own, flags, opened);
        if code == ffi::SQLITE_OK {
            wrap(file, kind);
        } else if !(*own).pMethods.is_null()
            && let Some(close) = (*(*own).pMethods).xClose
        {
            close(own);
        }
        code
    }
}

/// Makes a method that only passes on.
macro_rules! pass {
    ($name:ident, $method:ident, $missing:expr $(, $argument:ident: $type:ty)*) => {
        unsafe extern "C" fn $name(vfs: *mut sqlite3_vfs $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls it with one of ours, and arguments fit for the system's own.
            unsafe {
                let own = shim(vfs).own;
                match (*own).$method {
                    Some(method) => method(own $(, $argument)*),
                    None => $missing,
                }
            }
        }
    };
}

pass!(delete, xDelete, ffi::SQLITE_IOERR_DELETE, name: *const c_char, sync: c_int);
pass!(access, xAccess, ffi::SQLITE_IOERR, name: *const c_char, flags: c_int, answer: *mut c_int);
pass!(
    full_pathname, xFullPathname, ffi::SQLITE_CANTOPEN,
    name: *const c_char, length: c_int, place: *mut c_char
);
pass!(randomness, xRandomness, 0, length: c_int, place: *mut c_char);
pass!(sleep, xSleep, 0, microseconds: c_int);
pass!(current_time, xCurrentTime, ffi::SQLITE_ERROR, days: *mut f64);
pass!(last_error, xGetLastError, 0, length: c_int, place: *mut c_char);
pass!(current_time_millis, xCurrentTimeInt64, ffi::SQLITE_ERROR, millis: *mut sqlite3_int64);
