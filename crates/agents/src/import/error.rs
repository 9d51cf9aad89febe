//! Why a transcript was not imported.

use contexture_core::{Error, ErrorKind};

/// An import that failed, or that stopped part of the way.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An exchange is larger than a page may be.
    #[error("the exchange on line {line} cannot be imported: {error}")]
    TooLarge {
        /// The line it begins on.
        line: u64,
        /// Why the page is refused.
        error: Error,
    },
    /// Another import of the same transcript came first.
    #[error("another import of this transcript is running")]
    Overtaken,
    /// A segment that every session should have is missing.
    #[error("{error}")]
    SegmentMissing {
        /// The error that names the segment.
        error: Error,
    },
    /// The record of an earlier import is broken.
    #[error("the record of an earlier import cannot be read: {error}")]
    RecordUnreadable {
        /// Why the record cannot be read.
        error: serde_json::Error,
    },
    /// The record of the import cannot be written.
    #[error("the import cannot be recorded: {error}")]
    NotRecorded {
        /// Why the record cannot be written.
        error: serde_json::Error,
    },
    /// The context system refused or failed.
    #[error(transparent)]
    Core(#[from] Error),
}

impl ImportError {
    /// Returns what the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            ImportError::TooLarge { .. } => ErrorKind::TooLarge,
            ImportError::Overtaken => ErrorKind::Conflict,
            ImportError::RecordUnreadable { .. } => ErrorKind::Corrupt,
            ImportError::NotRecorded { .. } => ErrorKind::Invalid,
            ImportError::SegmentMissing { error } | ImportError::Core(error) => error.kind(),
        }
    }
}
