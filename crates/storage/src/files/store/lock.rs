//! Waiting for the lock of a folder.

use std::{
    fs::File,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use contexture_core::storage::{StorageError, StorageResult};
use rustix::fs::{FlockOperation, flock};

use crate::files::folder::refused;

/// Keeps all others out.
pub(super) fn acquire(lock: &File, path: &Path, patience: Duration) -> StorageResult<()> {
    let began = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < patience => {
                // Nobody holds it longer than a sync takes, but for those who rebuild.
                thread::sleep(Duration::from_micros(500));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let reason = format!("another process has held this lock for {patience:?}");
                return Err(StorageError::Unavailable { what: path.display().to_string(), reason });
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(refused(path, &error.into())),
        }
    }
}

/// Waits until nobody writes. Reading goes on without, if that takes too long: what is read is checked.
pub(super) fn share(lock: &File, patience: Duration) {
    let began = Instant::now();
    while flock(lock, FlockOperation::NonBlockingLockShared).is_err() && began.elapsed() < patience
    {
        thread::sleep(Duration::from_micros(500));
    }
}
