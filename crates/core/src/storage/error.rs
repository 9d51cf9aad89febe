//! What can go wrong in a storage, and what to do about it.

use crate::{Advice, ErrorKind, SessionId, storage::RunKey};

/// What can go wrong in a storage. Nothing has changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// Something the change was based on has moved.
    #[error("{subject} has changed since it was read")]
    Conflict {
        /// What moved.
        subject: String,
    },
    /// A run record is not at the version expected: somebody else took the run's step.
    #[error("run '{key}' was moved on by another process")]
    RunMoved {
        /// Which.
        key: RunKey,
    },
    /// The session exists already.
    #[error("session '{session}' already exists")]
    SessionExists {
        /// Which.
        session: SessionId,
    },
    /// The session does not exist.
    #[error("session '{session}' not found")]
    SessionMissing {
        /// Which.
        session: SessionId,
    },
    /// What lies there is not ours.
    #[error("{what} is not a Contexture storage: {reason}")]
    Foreign {
        /// Which file or address.
        what: String,
        /// What was found.
        reason: String,
    },
    /// Nothing lies there, and nothing was to be made.
    #[error("there is no store at {what}")]
    Missing {
        /// Which file or address.
        what: String,
    },
    /// What lies there was written by a later program.
    #[error("{what} has schema version {found}, this program knows up to {known}")]
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
    /// Out of reach, busy or full.
    #[error("{what} is unavailable: {reason}")]
    Unavailable {
        /// Which file or address.
        what: String,
        /// What the system said.
        reason: String,
    },
    /// What was read is not what was written.
    #[error("{what} is corrupt: {reason}")]
    Corrupt {
        /// Which row, file or address.
        what: String,
        /// How that was noticed.
        reason: String,
    },
}

impl StorageError {
    /// Returns the refusal of a snapshot that is asked to change.
    pub fn snapshot(name: &str) -> Self {
        let reason = "a snapshot is only for reading".to_owned();
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
            StorageError::Conflict { .. } => "read again, then decide again".into(),
            StorageError::RunMoved { .. } => {
                "read the run's record again and go on from there".into()
            }
            StorageError::SessionExists { .. } => {
                "choose another name, or use the one that exists".into()
            }
            StorageError::SessionMissing { session } => {
                Advice::MakeSession { session: session.clone() }
            }
            StorageError::Foreign { .. } => Advice::OtherStore,
            StorageError::Missing { .. } => Advice::MakeStore,
            StorageError::Newer { .. } => {
                "use a newer contexture; this one changes nothing in it".into()
            }
            StorageError::ReadOnly { .. } => Advice::WritableStore,
            StorageError::Unavailable { .. } => {
                "try again; if it stays so, look at the disk and its folder, or at the server and the way to it".into()
            }
            StorageError::Corrupt { .. } => Advice::CheckStore,
        }
    }
}
