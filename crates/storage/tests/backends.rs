//! The storages the generic suites run on. A new one is added to [`all`] and to [`open`].

#![allow(dead_code, reason = "each test binary and the benches use some of it")]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use contexture_core::{PageStorage, storage::StorageResult};
use contexture_storage::{
    Durability, FilesOptions, FilesStorage, PostgresOptions, PostgresStorage, S3Options, S3Storage,
    SqliteOptions, SqliteStorage,
};
use contexture_testkit::{
    backend::{Backend, Home, MemoryBackend},
    server::{PostgresServer, S3Server},
};
use futures::executor::block_on;
use object_store::memory::InMemory;
use tempfile::TempDir;

/// Every storage, the model first.
pub(crate) fn all() -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(MemoryBackend),
        Box::new(SqliteBackend),
        Box::new(FilesBackend),
        Box::new(PostgresBackend),
        Box::new(S3Backend),
    ]
}

/// The storages for long sweeps: S3 on an object store in memory, where a request takes microseconds.
/// The conformance suite runs on the real server.
pub(crate) fn in_sweeps() -> Vec<Box<dyn Backend>> {
    let mut backends = all();
    backends.retain(|backend| backend.name() != "s3");
    backends.push(Box::new(S3InMemoryBackend));
    backends
}

/// The storages that outlive the process.
pub(crate) fn durable() -> Vec<Box<dyn Backend>> {
    all().into_iter().filter(|backend| backend.home().locator().is_some()).collect()
}

/// The storages that keep files of their own.
pub(crate) fn in_folders() -> Vec<Box<dyn Backend>> {
    all().into_iter().filter(|backend| backend.home().folder().is_some()).collect()
}

/// Does something with each storage, side by side: they wait for disks and servers more than they work.
/// What came of it stands in the order of the storages.
pub(crate) fn side_by_side<T: Send>(
    backends: &[Box<dyn Backend>],
    work: impl Fn(&dyn Backend) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let all = backends.iter().map(|backend| scope.spawn(move || work(&**backend)));
        let all: Vec<_> = all.collect();
        let done = |it: std::thread::ScopedJoinHandle<'_, T>| {
            it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        all.into_iter().map(done).collect()
    })
}

/// Opens what a [`Home`] of another process told as its locator.
pub(crate) fn open(locator: &str) -> StorageResult<Arc<dyn PageStorage>> {
    match locator.split_once(':') {
        Some(("sqlite", path)) => open_sqlite(Path::new(path)),
        Some(("files", path)) => open_files(Path::new(path)),
        Some(("postgres", _)) => open_postgres(locator),
        Some(("s3", rest)) => open_s3(rest),
        _ => panic!("'{locator}' names no storage"),
    }
}

/// Waits on a thread of its own: whoever opens a home may be within an executor already.
fn wait<T: Send>(future: impl Future<Output = T> + Send) -> T {
    let waited = std::thread::scope(|scope| scope.spawn(|| block_on(future)).join());
    waited.expect("opening does not panic")
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

/// A folder of JSON files; commits do not wait for the disk, as with SQLite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FilesBackend;

struct FilesHome(TempDir);

fn open_files(path: &Path) -> StorageResult<Arc<dyn PageStorage>> {
    let options = FilesOptions { durability: Durability::Process, ..FilesOptions::default() };
    Ok(Arc::new(FilesStorage::open(path, options)?))
}

impl FilesHome {
    fn path(&self) -> PathBuf {
        self.0.path().join("store")
    }
}

impl Backend for FilesBackend {
    fn name(&self) -> &'static str {
        "files"
    }

    fn home(&self) -> Box<dyn Home> {
        Box::new(FilesHome(tempfile::tempdir().expect("a folder can be made")))
    }
}

impl Home for FilesHome {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        open_files(&self.path())
    }

    fn locator(&self) -> Option<String> {
        Some(format!("files:{}", self.path().display()))
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.0.path().to_owned())
    }
}

/// A database of its own on the server that this process shares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PostgresBackend;

struct PostgresHome(String);

fn open_postgres(url: &str) -> StorageResult<Arc<dyn PageStorage>> {
    // Few connections: many storages are open at once.
    let options = PostgresOptions { max_connections: 4, ..PostgresOptions::default() };
    Ok(Arc::new(wait(PostgresStorage::open(url, options))?))
}

impl Backend for PostgresBackend {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn home(&self) -> Box<dyn Home> {
        Box::new(PostgresHome(PostgresServer::shared().fresh_database()))
    }
}

impl Home for PostgresHome {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        open_postgres(&self.0)
    }

    fn locator(&self) -> Option<String> {
        Some(self.0.clone())
    }
}

/// A prefix of its own on the server that this process shares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct S3Backend;

/// What opens it: `//bucket/prefix endpoint access-key secret-key region`.
struct S3Home(String);

fn open_s3(locator: &str) -> StorageResult<Arc<dyn PageStorage>> {
    let mut words = locator.split(' ').map(str::to_owned);
    let url = format!("s3:{}", words.next().unwrap_or_default());
    let options = S3Options {
        endpoint: words.next(),
        access_key: words.next(),
        secret_key: words.next(),
        region: words.next(),
        allow_http: true,
        ..S3Options::default()
    };
    Ok(Arc::new(wait(S3Storage::open(&url, options))?))
}

/// S3's layout on an object store in memory, which honours conditional writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct S3InMemoryBackend;

struct S3InMemoryHome(Arc<InMemory>);

impl Backend for S3InMemoryBackend {
    fn name(&self) -> &'static str {
        "s3"
    }

    fn home(&self) -> Box<dyn Home> {
        Box::new(S3InMemoryHome(Arc::new(InMemory::new())))
    }
}

impl Home for S3InMemoryHome {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let opened = S3Storage::on(self.0.clone(), "sweep", S3Options::default());
        Ok(Arc::new(wait(opened)?))
    }

    fn locator(&self) -> Option<String> {
        None
    }
}

impl Backend for S3Backend {
    fn name(&self) -> &'static str {
        "s3"
    }

    fn home(&self) -> Box<dyn Home> {
        let server = S3Server::shared();
        let words = [
            format!("//{}/{}", server.bucket(), server.fresh_prefix()),
            server.endpoint().to_owned(),
            server.access_key().to_owned(),
            server.secret_key().to_owned(),
            server.region().to_owned(),
        ];
        Box::new(S3Home(words.join(" ")))
    }
}

impl Home for S3Home {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        open_s3(&self.0)
    }

    fn locator(&self) -> Option<String> {
        Some(format!("s3:{}", self.0))
    }
}
