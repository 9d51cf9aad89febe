//! Durable storages for Contexture, and the system's clock.
//!
//! [`contexture_core`] decides and never waits on anything but a
//! [`PageStorage`](contexture_core::PageStorage); here are the ones that keep what they are given.
//!
//! ```
//! use contexture_core::{
//!     Clock, PageStorage,
//!     storage::{Commit, NewSession},
//! };
//! use contexture_storage::{SqliteOptions, SqliteStorage, SystemClock};
//! # futures::executor::block_on(async {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("contexture.db");
//! let storage = SqliteStorage::open(&path, SqliteOptions::default())?;
//! let new = NewSession { app: "demo-app".to_owned(), at: SystemClock.now(), mark: None };
//! storage.commit(&"demo".parse()?, Commit { create: Some(new), change: None }).await?;
//! drop(storage);
//!
//! let storage = SqliteStorage::open(&path, SqliteOptions::default())?;
//! assert_eq!(storage.sessions(None, 10).await?[0].id.as_str(), "demo");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```

mod clock;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod columns;
mod options;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "s3"))]
mod packing;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "s3"))]
mod random;
#[cfg(any(feature = "postgres", feature = "s3"))]
mod runtime;
mod session_file;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "s3"))]
mod watch;

#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "s3")]
pub mod s3;
#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use clock::SystemClock;
#[cfg(feature = "files")]
pub use files::{FilesOptions, FilesStorage};
pub use options::{CreateMode, Durability, Unwritable};
#[cfg(feature = "postgres")]
pub use postgres::{Following, PostgresOptions, PostgresStorage};
#[cfg(feature = "s3")]
pub use s3::{S3Options, S3Storage, S3Tuning};
pub use session_file::SessionFile;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteOptions, SqliteStorage};
