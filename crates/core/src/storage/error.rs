//! Errors of storages, and what to do about them.

use crate::{Advice, ErrorKind, SessionId, storage::RunKey};

/// An error of a storage. Nothing was changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Something the change was based on has changed since.
    #[error("{subject} has changed since it was read")]
    Conflict {
        /// What has changed.
        subject: String,
    },
    /// A run record is not at the expected version: another process took the run's step.
    #[error("run '{key}' was advanced by another process")]
    RunMoved {
        /// The run.
        key: RunKey,
    },
    /// The session exists already.
    #[error("session '{session}' already exists")]
    SessionExists {
        /// The session.
        session: SessionId,
    },
    /// The session does not exist.
    #[error("session '{session}' not found")]
    SessionMissing {
        /// The session.
        session: SessionId,
    },
    /// The address holds something that is not a Contexture store.
    #[error("{what} is not a Contexture store: {reason}")]
    Foreign {
        /// Which file or address.
        what: String,
        /// What was found.
        reason: String,
    },
    /// The address holds nothing, and no store was to be created.
    #[error("there is no store at {what}")]
    Missing {
        /// Which file or address.
        what: String,
    },
    /// The store was written by a newer version of the program.
    #[error(
        "{what} has schema version {found}, but this program supports only versions up to {known}"
    )]
    Newer {
        /// Which file or address.
        what: String,
        /// The version found.
        found: i64,
        /// The version known.
        known: i64,
    },
    /// Writing is not allowed there.
    #[error("{what} cannot be written: {reason}")]
    ReadOnly {
        /// Which file or address.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// The store cannot be reached, is busy or is full.
    #[error("{what} is unavailable: {reason}")]
    Unavailable {
        /// Which file or address.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// Stored data is damaged.
    #[error("{what} is corrupt: {reason}")]
    Corrupt {
        /// Which row, file or address.
        what: String,
        /// How that was noticed.
        reason: String,
    },
}

impl StorageError {
    /// Returns the error for a write to a snapshot.
    pub fn snapshot(name: &str) -> Self {
        let reason = "snapshots are read-only".to_owned();
        StorageError::ReadOnly { what: format!("a snapshot of {name}"), reason }
    }

    /// Returns what the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            StorageError::Conflict { .. }
            | StorageError::RunMoved { .. }
            | StorageError::SessionExists { .. } => ErrorKind::Conflict,
            StorageError::SessionMissing { .. } => ErrorKind::NotFound,
            StorageError::Missing { .. } => ErrorKind::NotFound,
            StorageError::Foreign { .. } | StorageError::Newer { .. } => ErrorKind::Invalid,
            StorageError::ReadOnly { .. } | StorageError::Unavailable { .. } => {
                ErrorKind::Unavailable
            }
            StorageError::Corrupt { .. } => ErrorKind::Corrupt,
        }
    }

    /// Returns what to do next.
    pub fn advice(&self) -> Advice {
        match self {
            StorageError::Conflict { .. } => "read the current state, then retry".into(),
            StorageError::RunMoved { .. } => {
                "read the run's record again and continue from there".into()
            }
            StorageError::SessionExists { .. } => {
                "choose another name, or use the existing session".into()
            }
            StorageError::SessionMissing { session } => {
                Advice::MakeSession { session: session.clone() }
            }
            StorageError::Foreign { .. } => Advice::OtherStore,
            StorageError::Missing { .. } => Advice::MakeStore,
            StorageError::Newer { .. } => {
                "upgrade contexture to use this store; nothing in it was changed".into()
            }
            StorageError::ReadOnly { .. } => Advice::WritableStore,
            StorageError::Unavailable { .. } => {
                "try again; if it keeps failing, check the disk and the folder, or the server and the connection to it".into()
            }
            StorageError::Corrupt { .. } => Advice::CheckStore,
        }
    }
}
