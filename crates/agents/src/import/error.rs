//! Why a transcript was not imported.

use contexture_core::{Error, ErrorKind};

/// An import that did not happen, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// An exchange is larger than a page may be.
    #[error("the exchange of line {line} cannot be imported: {error}")]
    TooLarge {
        /// The line it begins on.
        line: u64,
        /// Why the page is refused.
        error: Error,
    },
    /// Another import of the same transcript came first.
    #[error("another import of this transcript is under way")]
    Overtaken,
    /// A segment that every session should have is missing.
    #[error("{error}")]
    SegmentMissing {
        /// The error that names the segment.
        error: Error,
    },
    /// What was noted about an earlier import is no record.
    #[error("the record of an earlier import cannot be read: {error}")]
    RecordUnreadable {
        /// Why the record cannot be read.
        error: serde_json::Error,
    },
    /// What was taken cannot be noted.
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
