//! Storages as the suites see them: a name, and empty places to keep sessions in.
//!
//! A storage's tests implement [`Backend`] once; everything generic takes it from there
//! ([`conformance`](crate::conformance), [`faults`](crate::faults)).

use std::{path::PathBuf, sync::Arc};

use contexture_core::{MemoryStorage, PageStorage, storage::StorageResult};

/// A kind of storage.
pub trait Backend: Send + Sync {
    /// Returns the name it has in URLs.
    fn name(&self) -> &'static str;

    /// Makes an empty place: a folder, a database, a prefix of its own. It goes with the home.
    fn home(&self) -> Box<dyn Home>;
}

/// A place that can be opened again and again, also several times at once where the storage is shared.
pub trait Home: Send + Sync {
    /// Opens what lies there, making it the first time.
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>>;

    /// Returns what another process opens it by; none where it lives in this process only.
    fn locator(&self) -> Option<String>;

    /// Returns the folder that holds nothing else, for storages that keep files.
    fn folder(&self) -> Option<PathBuf> {
        None
    }

    /// Opens what lies there, which must be possible.
    fn open(&self) -> Arc<dyn PageStorage> {
        self.try_open().unwrap_or_else(|error| panic!("it can be opened: {error}"))
    }
}

/// The memory storage, which is the model of all others.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryBackend;

/// Holds what is in memory, so that opening it again finds it.
#[derive(Debug, Default)]
struct MemoryHome(Arc<MemoryStorage>);

impl Backend for MemoryBackend {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn home(&self) -> Box<dyn Home> {
        Box::new(MemoryHome::default())
    }
}

impl Home for MemoryHome {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        Ok(self.0.clone())
    }

    fn locator(&self) -> Option<String> {
        None
    }
}
