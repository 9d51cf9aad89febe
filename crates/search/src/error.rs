//! What can go wrong with a search.

use std::io;

use contexture_core::{Error, ErrorKind, storage::StorageError};
use tantivy::{TantivyError, directory::error::OpenReadError};

/// What can go wrong with a search.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The session could not be read.
    #[error(transparent)]
    Core(#[from] contexture_core::Error),
    /// The store could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The index could not be read or written.
    #[error("the search index cannot be used")]
    Index(#[source] TantivyError),
    /// The folder of the index could not be read or written.
    #[error("the folder of the search index cannot be used")]
    Folder(#[from] io::Error),
    /// The index is damaged, and was again after it was made again from the store.
    #[error("the search index is damaged: {what}")]
    Damaged {
        /// What cannot be read.
        what: String,
    },
    /// Another process writes to the index all the time.
    #[error("another process is writing to the search index")]
    Busy,
    /// The index holds as many segments as it can. Making it again drops those that are gone.
    #[error("the search index is full")]
    Full,
}

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> Self {
        SearchError::Index(error)
    }
}

impl From<SearchError> for Error {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Core(error) => error,
            SearchError::Storage(error) => error.into(),
            error => {
                let cause = std::error::Error::source(&error);
                let reason = cause.map_or_else(|| error.to_string(), ToString::to_string);
                StorageError::Unavailable { what: "the search index".to_owned(), reason }.into()
            }
        }
    }
}

impl SearchError {
    /// Returns the error for reading that ended with a panic.
    pub(crate) fn unreadable() -> Self {
        SearchError::Damaged { what: "reading it failed".to_owned() }
    }

    /// Returns whether the index is damaged, and must be made again.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            SearchError::Damaged { .. } => true,
            // That a file cannot be opened at all is no damage of what it holds.
            SearchError::Index(TantivyError::OpenReadError(OpenReadError::IoError {
                io_error,
                ..
            })) => {
                let kinds = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
                kinds.contains(&io_error.kind())
            }
            SearchError::Index(error) => !matches!(
                error,
                TantivyError::IoError(_)
                    | TantivyError::LockFailure(..)
                    | TantivyError::OpenDirectoryError(_)
            ),
            _ => false,
        }
    }

    /// Returns what the caller can do about it.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            SearchError::Core(error) => Some(error.kind()),
            _ => None,
        }
    }
}
