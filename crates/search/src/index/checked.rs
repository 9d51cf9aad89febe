//! A folder whose files are checked before they are read, so that damage is noticed rather than searched.
//!
//! Files of the index end with a checksum, which is compared when a file is first opened. What says which files there
//! are has none: a line with its checksum is added to it. Files that this process has written are not read again
//! for that.

use std::{
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use contexture_core::storage::Checksum;
use tantivy::{
    HasLen,
    directory::{
        Directory, DirectoryLock, FileHandle, FileSlice, Lock, MmapDirectory, WatchCallback,
        WatchHandle, WritePtr,
        error::{DeleteError, LockError, OpenReadError, OpenWriteError},
        footer::Footer,
    },
};

/// How much of a file is read at a time.
const PIECE: usize = 1 << 20;

/// A folder whose files are checked before they are read.
#[derive(Debug, Clone)]
pub(crate) struct CheckedDirectory {
    files: MmapDirectory,
    known: Arc<Mutex<HashSet<PathBuf>>>,
}

impl CheckedDirectory {
    pub(crate) fn new(files: MmapDirectory) -> Self {
        Self { files, known: Arc::default() }
    }

    fn is_known(&self, path: &Path) -> bool {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
    }

    fn note(&self, path: &Path) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }

    fn forget(&self, path: &Path) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
    }
}

impl Directory for CheckedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let handle = self.files.get_file_handle(path)?;
        if !self.is_known(path) {
            check(&handle).map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()))?;
            self.note(path);
        }
        Ok(handle)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.forget(path);
        self.files.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let writer = self.files.open_write(path)?;
        self.note(path);
        Ok(writer)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let mut read = self.files.atomic_read(path)?;
        let end = read.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let is_whole = read.get(end + 1..) == Some(line(&read[..end]).as_bytes());
        if !is_whole {
            let error = damage("its checksum does not fit");
            return Err(OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        read.truncate(end);
        Ok(read)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let mut written = data.to_vec();
        written.push(b'\n');
        written.extend_from_slice(line(data).as_bytes());
        self.files.atomic_write(path, &written)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.files.acquire_lock(lock)
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.files.watch(callback)
    }
}

/// Returns the line that is added to what says which files there are.
fn line(data: &[u8]) -> String {
    Checksum::of(data).to_string()
}

/// Compares what a file holds with the checksum at its end.
fn check(handle: &Arc<dyn FileHandle>) -> io::Result<()> {
    let (footer, held) = Footer::extract_footer(FileSlice::new(handle.clone()))
        .map_err(|error| damage(&error.to_string()))?;
    let mut hasher = crc32fast::Hasher::new();
    for from in (0..held.len()).step_by(PIECE) {
        let to = held.len().min(from + PIECE);
        hasher.update(&held.read_bytes_slice(from..to)?);
    }
    if hasher.finalize() != footer.crc {
        return Err(damage("its checksum does not fit"));
    }
    Ok(())
}

fn damage(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(folder: &Path) -> CheckedDirectory {
        CheckedDirectory::new(MmapDirectory::open(folder).unwrap())
    }

    #[test]
    fn notices_every_flipped_bit_of_what_lists_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new("meta.json");
        let data = b"{\"segments\":[]}\n";
        directory(folder.path()).atomic_write(path, data).unwrap();
        let written = std::fs::read(folder.path().join(path)).unwrap();
        assert_eq!(directory(folder.path()).atomic_read(path).unwrap(), data);
        for at in 0..written.len() * 8 {
            let mut flipped = written.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            std::fs::write(folder.path().join(path), flipped).unwrap();
            assert!(directory(folder.path()).atomic_read(path).is_err(), "bit {at}");
        }
        for length in 0..written.len() {
            std::fs::write(folder.path().join(path), &written[..length]).unwrap();
            assert!(directory(folder.path()).atomic_read(path).is_err(), "{length} bytes");
        }
    }
}
