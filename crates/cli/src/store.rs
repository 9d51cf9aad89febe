//! Which storage: its URL, and opening it.

mod url;

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_core::{ErrorKind, MemoryStorage, PageStorage};
use contexture_storage::{CreateMode, Durability, SqliteOptions, SqliteStorage};

use crate::error::{Result, Stop};

pub(crate) use url::StoreUrl;

/// The store that is used when none is named.
pub(crate) const DEFAULT: &str = "sqlite:.contexture/contexture.db";

/// Whether opening may make what is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Only what exists.
    Existing,
    /// Makes it, folder included, where it does not exist.
    Create,
}

impl StoreUrl {
    /// Opens the storage; without [`Access::Create`] nothing is ever made on disk.
    pub(crate) fn open(&self, access: Access) -> Result<Arc<dyn PageStorage>> {
        match self {
            StoreUrl::Memory => Ok(Arc::new(MemoryStorage::new())),
            StoreUrl::Sqlite { path, durability } => self.open_sqlite(path, *durability, access),
            StoreUrl::Files { folder } => self.open_files(folder, access),
            StoreUrl::Postgres { url } => self.open_postgres(url, access),
            StoreUrl::S3 { bucket, prefix } => self.open_s3(bucket, prefix, access),
        }
    }

    fn open_sqlite(
        &self,
        path: &Path,
        durability: Durability,
        access: Access,
    ) -> Result<Arc<dyn PageStorage>> {
        let create = match access {
            Access::Create => CreateMode::IfMissing,
            Access::Existing if is_missing(path) => return Err(self.missing(path)),
            Access::Existing => CreateMode::MustExist,
        };
        let options = SqliteOptions { create, durability, ..SqliteOptions::default() };
        Ok(Arc::new(SqliteStorage::open(path, options)?))
    }

    fn open_files(&self, _folder: &Path, _access: Access) -> Result<Arc<dyn PageStorage>> {
        Err(self.not_built("files"))
    }

    fn open_postgres(&self, _url: &str, _access: Access) -> Result<Arc<dyn PageStorage>> {
        Err(self.not_built("postgres"))
    }

    fn open_s3(
        &self,
        _bucket: &str,
        _prefix: &str,
        _access: Access,
    ) -> Result<Arc<dyn PageStorage>> {
        Err(self.not_built("s3"))
    }

    fn not_built(&self, storage: &str) -> Stop {
        let reason = format!("this build does not have the storage '{storage}' yet");
        Stop::invalid(format!("invalid store '{self}': {reason}"), url::HINT)
    }

    /// Returns the files it lies in, and must not be reached in another way.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            StoreUrl::Sqlite { path, .. } => {
                let beside = |end: &&str| {
                    let mut file = path.clone().into_os_string();
                    file.push(end);
                    PathBuf::from(file)
                };
                ["", "-wal", "-shm", "-journal"].iter().map(beside).collect()
            }
            StoreUrl::Files { folder } => vec![folder.clone()],
            StoreUrl::Memory | StoreUrl::Postgres { .. } | StoreUrl::S3 { .. } => Vec::new(),
        }
    }

    /// Tells whether two name the same store, however they are written, as far as that can be told.
    pub(crate) fn is_same(&self, other: &StoreUrl) -> bool {
        match (self, other) {
            (StoreUrl::Sqlite { path, .. }, StoreUrl::Sqlite { path: other, .. })
            | (StoreUrl::Files { folder: path }, StoreUrl::Files { folder: other }) => {
                path == other
                    || path
                        .canonicalize()
                        .ok()
                        .zip(other.canonicalize().ok())
                        .is_some_and(|(path, other)| path == other || is_same_file(&path, &other))
            }
            (one, other) => one == other,
        }
    }

    fn missing(&self, path: &Path) -> Stop {
        let init = if self.to_string() == DEFAULT {
            "contexture init".to_owned()
        } else {
            format!("contexture --store {self} init")
        };
        Stop::failed(
            ErrorKind::NotFound,
            format!("there is no store at {}", path.display()),
            format!("`{init}` makes one; --store or CONTEXTURE_STORE names another"),
        )
    }
}

/// Tells whether nothing lies there, or an empty file; where that cannot be told, opening says why.
fn is_missing(path: &Path) -> bool {
    match path.metadata() {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Tells whether two paths lead to one file, as hard links do.
fn is_same_file(path: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let place = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
        place(path).is_some() && place(path) == place(other)
    }
    #[cfg(not(unix))]
    {
        let _ = (path, other);
        false
    }
}
