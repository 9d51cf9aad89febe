//! A session as one file: the source documents' SaveToFile and LoadFromFile.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use contexture_core::{ContextSystem, Error, Result, storage::StorageError};

/// The largest file that is loaded, in bytes.
const MOST: u64 = 4 * 1024 * 1024 * 1024;

/// Saves a session to a file and fills one from a file.
#[async_trait]
pub trait SessionFile {
    /// Writes the whole session as the documents' JSON. A file that is there is replaced when all of the
    /// new one is on the disk, and not before; only its owner can read it.
    async fn save_to_file(&self, path: &Path) -> Result<()>;

    /// Fills this session, which must hold no segment yet, all or nothing. Returns what had to be
    /// repaired.
    async fn load_from_file(&self, path: &Path) -> Result<Vec<String>>;
}

#[async_trait]
impl SessionFile for ContextSystem {
    async fn save_to_file(&self, path: &Path) -> Result<()> {
        let document = self.marshal().await?;
        replace(path, document.as_bytes()).map_err(|error| unavailable(path, &error))
    }

    async fn load_from_file(&self, path: &Path) -> Result<Vec<String>> {
        let bytes = read(path).map_err(|error| unavailable(path, &error))?;
        if bytes.len() as u64 > MOST {
            let what = path.display().to_string();
            return Err(Error::TooLarge { what, size: bytes.len() as u64, limit: MOST });
        }
        self.unmarshal(&bytes).await
    }
}

fn unavailable(path: &Path, error: &io::Error) -> Error {
    let (what, reason) = (path.display().to_string(), error.to_string());
    StorageError::Unavailable { what, reason }.into()
}

/// Reads a file, one byte more than is taken at most.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Puts a file in the place of another, or of none.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut beside = OsString::from(".");
    beside.push(name);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    beside.push(format!(".{}-{number}.tmp", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = write(&beside, bytes).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // What was begun is of no use, and what it says is nobody else's business.
        let _ = fs::remove_file(&beside);
    }
    written?;
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => sync_folder(folder),
        None => sync_folder(Path::new(".")),
    }
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
