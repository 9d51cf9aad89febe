//! Reading a file that cannot be written: on a read-only file system, or with the right to read alone.
//!
//! SQLite makes files beside one that has a write-ahead log, even to read it. Where they are there
//! already it can do without, and sees what others write. Where they are not, nobody has the file open:
//! it is read as it lies, and every read makes sure at its end that this was true.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use contexture_core::storage::StorageError;

use super::{
    error::FaultResult,
    open::{self, beside},
    readers::Reader,
};

/// What a file and its log were when they were opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Still {
    path: PathBuf,
    file: Option<Look>,
    log: Option<Look>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    size: u64,
    time: Option<SystemTime>,
}

impl Still {
    /// Opens a connection that writes nothing beside the file.
    pub(crate) fn reader(path: &Path, busy_timeout: Duration) -> FaultResult<Reader> {
        if beside(path, "-shm").exists() {
            return Ok(Reader { db: open::reader(path, busy_timeout)?, still: None });
        }
        let still = Self::of(path);
        let db = match still.log {
            Some(log) if log.size > 0 => open::still_log_reader(path, busy_timeout)?,
            _ => open::still_reader(path, busy_timeout)?,
        };
        Ok(Reader { db, still: Some(still) })
    }

    fn of(path: &Path) -> Self {
        Self { file: look(path), log: look(&beside(path, "-wal")), path: path.to_owned() }
    }

    /// Refuses a file that was written since.
    pub(crate) fn check(&self) -> FaultResult<()> {
        if *self == Self::of(&self.path) {
            return Ok(());
        }
        let what = self.path.display().to_string();
        let reason = "it was written while it was being read".to_owned();
        Err(StorageError::Unavailable { what, reason }.into())
    }
}

fn look(path: &Path) -> Option<Look> {
    let file = fs::metadata(path).ok()?;
    Some(Look { size: file.len(), time: file.modified().ok() })
}
