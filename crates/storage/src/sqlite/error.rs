//! What SQLite says, in the words of [`StorageError`].

use std::{fmt::Display, path::Path};

use contexture_core::storage::StorageError;
use rusqlite::{Error, ErrorCode, ffi};

pub(crate) use crate::columns::{integer, limit};

/// What goes wrong below the trait, before it is known in which file.
#[derive(Debug)]
pub(crate) enum Fault {
    Storage(StorageError),
    Sqlite(Error),
}

pub(crate) type FaultResult<T> = Result<T, Fault>;

impl Fault {
    /// Names the file it happened in.
    pub(crate) fn at(self, path: &Path) -> StorageError {
        match self {
            Fault::Storage(error) => error,
            Fault::Sqlite(error) => named(path, &error),
        }
    }

    /// Says that what was read is not what was written.
    pub(crate) fn corrupt(what: impl Display, reason: impl Display) -> Self {
        Fault::Storage(StorageError::Corrupt { what: what.to_string(), reason: reason.to_string() })
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Fault::Storage(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Sqlite(error)
    }
}

/// Why a page cannot be read, and what to do.
const DAMAGED: &str = "a page of the file is damaged: the disk lost it, or another program, such as a plain sqlite3, wrote \
     to the file; a repair saves everything that the pages still hold, which is all of it \
     if another program wrote to them";

fn named(path: &Path, error: &Error) -> StorageError {
    let (what, reason) = (path.display().to_string(), error.to_string());
    let Some(code) = error.sqlite_error() else {
        // A column of another type than was written, or a row that must be there and is not.
        return StorageError::Corrupt { what, reason };
    };
    if code.extended_code == ffi::SQLITE_IOERR_SHORT_READ {
        return StorageError::Corrupt { what, reason: "the file ends too early".to_owned() };
    }
    // What never was one of ours was refused before.
    if contexture_vfs::is_damage(error) || code.code == ErrorCode::NotADatabase {
        return StorageError::Corrupt { what, reason: DAMAGED.to_owned() };
    }
    match code.code {
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StorageError::ReadOnly { what, reason },
        ErrorCode::DatabaseCorrupt
        | ErrorCode::ConstraintViolation
        | ErrorCode::TypeMismatch
        // The SQL is ours and fixed, so this is a table or column that is not there.
        | ErrorCode::Unknown => StorageError::Corrupt { what, reason },
        _ => StorageError::Unavailable { what, reason },
    }
}

/// Converts a number back.
pub(crate) fn natural(integer: i64, what: impl Display) -> FaultResult<u64> {
    u64::try_from(integer).map_err(|_| Fault::corrupt(what, format!("{integer} is negative")))
}
