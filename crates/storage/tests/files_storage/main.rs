//! The files storage: what every storage must do, and what only files can suffer.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod suite;

use std::{path::Path, sync::Arc};

use contexture_storage::{Durability, FilesOptions, FilesStorage};

/// Opens a folder as it is for real, but for the wait for the disk: thousands of commits follow.
fn open(path: &Path) -> Arc<FilesStorage> {
    let options = FilesOptions { durability: Durability::Process, ..FilesOptions::default() };
    Arc::new(FilesStorage::open(path, options).unwrap())
}
