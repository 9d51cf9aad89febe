//! What the outcome of a command depends on besides its arguments.

use std::{fs, path::PathBuf, time::UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{project::folder, store::StoreUrl};

/// What the outcome of a command depends on besides its arguments and the store's contents. Two processes with
/// an equal basis print the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Basis {
    /// The version of the program.
    pub(crate) version: String,
    /// The very file of the program: builds of one version may differ.
    build: String,
    /// The store, however its URL is written.
    store: String,
    /// The folder of the project, which has agents and settings.
    project: PathBuf,
    /// The user's home, which has agents and settings, too.
    home: Option<PathBuf>,
    /// The folder of the user's configuration.
    config: Option<PathBuf>,
}

impl Basis {
    /// Returns the basis of this process on a store; none where it cannot be known.
    pub(crate) fn of(store: &StoreUrl) -> Option<Self> {
        Some(Self {
            version: version(),
            build: build()?,
            store: store.identity()?,
            project: project()?,
            home: folder::home(),
            config: folder::config(),
        })
    }

    /// Returns the basis as it is now: a project may have come up around a process that runs for long.
    pub(crate) fn now(&self) -> Option<Self> {
        Some(Self { project: project()?, ..self.clone() })
    }
}

/// Returns the version of the program, which both sides of a request must have.
pub(crate) fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

fn build() -> Option<String> {
    let file = fs::metadata(std::env::current_exe().ok()?).ok()?;
    let changed = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", file.len(), changed.as_nanos()))
}

fn project() -> Option<PathBuf> {
    folder::find().ok()?.canonicalize().ok()
}
