//! The storages the generic suites run on. A new one is added to [`all`] and to [`open`].

#![allow(dead_code, reason = "each test binary and the benches use some of it")]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_core::{PageStorage, storage::StorageResult};
use contexture_storage::{Durability, SqliteOptions, SqliteStorage};
use contexture_testkit::backend::{Backend, Home, MemoryBackend};
use tempfile::TempDir;

/// Every storage, the model first.
pub(crate) fn all() -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(MemoryBackend),
        Box::new(SqliteBackend),
        // Here: files, postgres, s3.
    ]
}

/// The storages that outlive the process.
pub(crate) fn durable() -> Vec<Box<dyn Backend>> {
    all().into_iter().filter(|backend| backend.home().locator().is_some()).collect()
}

/// The storages that keep files of their own.
pub(crate) fn in_folders() -> Vec<Box<dyn Backend>> {
    all().into_iter().filter(|backend| backend.home().folder().is_some()).collect()
}

/// Opens what a [`Home`] of another process told as its locator.
pub(crate) fn open(locator: &str) -> StorageResult<Arc<dyn PageStorage>> {
    match locator.split_once(':') {
        Some(("sqlite", path)) => open_sqlite(Path::new(path)),
        // Here: files, postgres, s3.
        _ => panic!("'{locator}' names no storage"),
    }
}

/// One file in a folder of its own.
///
/// Commits do not wait for the disk: thousands follow, and no test here cuts the power.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SqliteBackend;

struct SqliteHome(TempDir);

fn open_sqlite(path: &Path) -> StorageResult<Arc<dyn PageStorage>> {
    let options = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
    Ok(Arc::new(SqliteStorage::open(path, options)?))
}

impl SqliteHome {
    fn path(&self) -> PathBuf {
        self.0.path().join("contexture.db")
    }
}

impl Backend for SqliteBackend {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn home(&self) -> Box<dyn Home> {
        Box::new(SqliteHome(tempfile::tempdir().expect("a folder can be made")))
    }
}

impl Home for SqliteHome {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        open_sqlite(&self.path())
    }

    fn locator(&self) -> Option<String> {
        Some(format!("sqlite:{}", self.path().display()))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.0.path().to_owned())
    }
}
