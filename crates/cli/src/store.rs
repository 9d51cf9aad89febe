//! The store: its URL, and how to open it.

mod url;

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_agents::tools::workspace::Protected;
use contexture_core::{
    ErrorKind, MemoryStorage, PageStorage,
    storage::{ContentHash, StorageError, StorageResult},
};
use contexture_storage::{
    CreateMode, Durability, FilesOptions, FilesStorage, PostgresOptions, PostgresStorage,
    S3Options, S3Storage, SqliteOptions, SqliteStorage, Unwritable,
};

use crate::error::{Result, Stop};

pub(crate) use url::StoreUrl;

/// The store to use when none is named.
pub(crate) const DEFAULT: &str = "sqlite:.contexture/contexture.db";

/// What the name of the owner's token ends with, behind the store's.
#[cfg(feature = "server")]
const TOKEN: &str = ".token";

/// What the name of the file ends with that says which server serves the store, instead of the token's end.
#[cfg(feature = "server")]
const SERVER: &str = "server";

/// What `.contexture/.gitignore` says.
const GITIGNORE: &str =
    "# Conversations stay on this machine; agents and settings are for everybody.\n/*.db*\n";

/// Whether opening may create a missing store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Opens an existing store only; read-only if it cannot be written.
    Existing,
    /// Creates the store, folder included, if it does not exist.
    Create,
}

impl StoreUrl {
    /// Returns the store of a project that the working folder is in.
    pub(crate) fn in_project(project: &Path) -> Self {
        let path = project.join(".contexture/contexture.db");
        StoreUrl::Sqlite { path, durability: Durability::PowerCut }
    }

    /// Opens the store; without [`Access::Create`], nothing is ever created.
    pub(crate) async fn open(&self, access: Access) -> Result<Arc<dyn PageStorage>> {
        let storage = match self.try_open(access).await {
            Err(StorageError::Missing { what }) => return Err(self.missing(&what)),
            opened => opened?,
        };
        if access == Access::Create {
            self.keep_out_of_git()?;
        }
        Ok(storage)
    }

    /// Keeps a store in `.contexture` from being committed by accident; an existing `.gitignore` stays.
    fn keep_out_of_git(&self) -> Result<()> {
        let StoreUrl::Sqlite { path, .. } = self else { return Ok(()) };
        let Some(folder) = path.parent().filter(|folder| folder.ends_with(".contexture")) else {
            return Ok(());
        };
        let ignored = folder.join(".gitignore");
        let file = fs::File::create_new(&ignored);
        match file.and_then(|mut file| file.write_all(GITIGNORE.as_bytes())) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                let message = format!("cannot write {}: {error}", ignored.display());
                Err(Stop::failed(ErrorKind::Unavailable, message, "make the folder writable"))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn try_open(&self, access: Access) -> StorageResult<Arc<dyn PageStorage>> {
        let (create, unwritable) = match access {
            Access::Create => (CreateMode::IfMissing, Unwritable::Refuse),
            Access::Existing => (CreateMode::MustExist, Unwritable::Read),
        };
        Ok(match self {
            StoreUrl::Memory => Arc::new(MemoryStorage::new()),
            StoreUrl::Sqlite { path, .. } if access == Access::Existing && is_missing(path) => {
                return Err(StorageError::Missing { what: path.display().to_string() });
            }
            StoreUrl::Sqlite { path, durability } => {
                let durability = *durability;
                let options =
                    SqliteOptions { create, unwritable, durability, ..SqliteOptions::default() };
                Arc::new(SqliteStorage::open(path, options)?)
            }
            StoreUrl::Files { folder, durability } => {
                let durability = *durability;
                let options =
                    FilesOptions { create, unwritable, durability, ..FilesOptions::default() };
                Arc::new(FilesStorage::open(folder, options)?)
            }
            StoreUrl::Postgres { url } => {
                let options = PostgresOptions { create, ..PostgresOptions::default() };
                Arc::new(PostgresStorage::open(url, options).await?)
            }
            StoreUrl::S3 { .. } => {
                let options = S3Options { create, ..S3Options::from_env() };
                Arc::new(S3Storage::open(&self.address(), options).await?)
            }
        })
    }

    /// Prepares a damaged store for opening and repair, if possible: moves obstacles aside, or saves what
    /// can be saved. Returns what was done, one sentence each.
    pub(crate) fn make_ready(&self) -> StorageResult<Vec<String>> {
        match self {
            StoreUrl::Sqlite { path, .. } => SqliteStorage::salvage(path, SqliteOptions::default()),
            StoreUrl::Files { folder, .. } => FilesStorage::make_ready(folder),
            StoreUrl::Memory | StoreUrl::Postgres { .. } | StoreUrl::S3 { .. } => Ok(Vec::new()),
        }
    }

    /// Returns the folder of the store's search index: beside the store, or among the user's caches where
    /// the store is a server. None for a store in memory, and where there is no such folder.
    pub(crate) fn search_folder(&self) -> Option<PathBuf> {
        let beside = |path: &Path| {
            let mut name = path.file_name()?.to_owned();
            name.push(".search");
            Some(path.with_file_name(name))
        };
        match self {
            StoreUrl::Sqlite { path, .. } => beside(path),
            StoreUrl::Files { folder, .. } => beside(folder),
            StoreUrl::Postgres { .. } | StoreUrl::S3 { .. } => {
                let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cache"));
                let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
                let cache = cache.filter(|path| path.is_absolute()).or_else(home)?;
                let name = ContentHash::of(self.to_string().as_bytes()).to_string();
                Some(cache.join("contexture/search").join(&name[..32]))
            }
            StoreUrl::Memory => None,
        }
    }

    /// Returns the file of the owner's token: beside the store, or among the user's configuration where the
    /// store is a server. None for a store in memory. The folder of the user's configuration is created.
    #[cfg(feature = "server")]
    pub(crate) fn token_file(&self) -> Result<Option<PathBuf>> {
        let file = self.token_path()?;
        if let (StoreUrl::Postgres { .. } | StoreUrl::S3 { .. }, Some(file)) = (self, &file)
            && let Some(folder) = file.parent()
        {
            private_folder(folder).map_err(|error| {
                let message = format!("cannot create {}: {error}", folder.display());
                Stop::failed(ErrorKind::Unavailable, message, "make its parent writable")
            })?;
        }
        Ok(file)
    }

    /// Returns where the owner's token is, or will be, and creates nothing.
    #[cfg(feature = "server")]
    pub(crate) fn token_path(&self) -> Result<Option<PathBuf>> {
        let beside = |path: &Path| {
            let mut name = path.file_name()?.to_owned();
            name.push(TOKEN);
            Some(path.with_file_name(name))
        };
        match self {
            StoreUrl::Sqlite { path, .. } => Ok(beside(path)),
            StoreUrl::Files { folder, .. } => Ok(beside(folder)),
            StoreUrl::Memory => Ok(None),
            StoreUrl::Postgres { .. } | StoreUrl::S3 { .. } => {
                let Some(config) = crate::project::folder::config() else {
                    return Err(Stop::invalid(
                        "there is no folder for the owner's token: neither HOME nor XDG_CONFIG_HOME is set",
                        "set HOME to a folder that only you can read",
                    ));
                };
                let name = ContentHash::of(self.to_string().as_bytes()).to_string();
                Ok(Some(config.join("contexture/tokens").join(&name[..32])))
            }
        }
    }

    /// Returns the file that says which server serves the store: in the folder of the owner's token.
    #[cfg(feature = "server")]
    pub(crate) fn server_file(&self) -> Option<PathBuf> {
        Some(self.token_path().ok()??.with_extension(SERVER))
    }

    /// Returns what identifies the store, however its URL is written; none where that cannot be
    /// known. A copy is another store, and so is one that was made again in the same place.
    #[cfg(feature = "server")]
    pub(crate) fn identity(&self) -> Option<String> {
        match self {
            StoreUrl::Memory => None,
            StoreUrl::Sqlite { path, durability } => {
                Some(format!("{} {durability:?}", place(path)?))
            }
            StoreUrl::Files { folder, durability } => {
                Some(format!("{} {durability:?}", place(folder)?))
            }
            StoreUrl::Postgres { url } => Some(ContentHash::of(url.as_bytes()).to_string()),
            StoreUrl::S3 { .. } => {
                let S3Options { endpoint, region, .. } = S3Options::from_env();
                let named = format!("{self} {endpoint:?} {region:?}");
                Some(ContentHash::of(named.as_bytes()).to_string())
            }
        }
    }

    /// Adds the store's own files, which no tool may reach.
    pub(crate) fn protected(&self, protected: Protected) -> Protected {
        let protected = match self.search_folder() {
            Some(folder) => protected.store(&folder),
            None => protected,
        };
        #[cfg(feature = "server")]
        let protected = match self.token_file() {
            Ok(Some(file)) => {
                let protected = protected.database(&file);
                protected.database(file.with_extension(SERVER))
            }
            Ok(None) | Err(_) => protected,
        };
        match self {
            StoreUrl::Sqlite { path, .. } => protected.database(path),
            StoreUrl::Files { folder, .. } => protected.store(folder),
            StoreUrl::Memory | StoreUrl::Postgres { .. } | StoreUrl::S3 { .. } => protected,
        }
    }

    /// Returns whether two URLs name the same store, however they are written, as far as can be known.
    pub(crate) fn is_same(&self, other: &StoreUrl) -> bool {
        match (self, other) {
            (StoreUrl::Sqlite { path, .. }, StoreUrl::Sqlite { path: other, .. })
            | (StoreUrl::Files { folder: path, .. }, StoreUrl::Files { folder: other, .. }) => {
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

    fn missing(&self, what: &str) -> Stop {
        let init = if self.to_string() == DEFAULT {
            "contexture init".to_owned()
        } else {
            format!("contexture --store {self} init")
        };
        Stop::failed(
            ErrorKind::NotFound,
            format!("there is no store at {what}"),
            format!(
                "run `{init}` to create one, or choose another with --store or CONTEXTURE_STORE"
            ),
        )
    }
}

/// Creates a folder that only its owner can read, if it does not exist.
#[cfg(feature = "server")]
fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Names a file by its place on the disk, which stays its own while somebody has it open.
#[cfg(feature = "server")]
fn place(path: &Path) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let file = path.metadata().ok()?;
        Some(format!("{} {}", file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    {
        Some(path.canonicalize().ok()?.display().to_string())
    }
}

/// Returns whether the file is missing or empty; if that cannot be known, opening it reports why.
fn is_missing(path: &Path) -> bool {
    match path.metadata() {
        Ok(file) => file.is_file() && file.len() == 0,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Returns whether two paths name the same file, as hard links do.
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
