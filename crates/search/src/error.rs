//! What can go wrong with a search.

use std::io;

use contexture_core::{ErrorKind, storage::StorageError};

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
    Index(#[source] tantivy::TantivyError),
    /// The folder of the index could not be read or written.
    #[error("the folder of the search index cannot be used")]
    Folder(#[from] io::Error),
    /// The index is damaged. It is made again when it is next opened.
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

impl From<tantivy::TantivyError> for SearchError {
    fn from(error: tantivy::TantivyError) -> Self {
        SearchError::Index(error)
    }
}

impl SearchError {
    /// Returns what the caller can do about it.
    pub fn kind(&self) -> Option<ErrorKind> {
        match self {
            SearchError::Core(error) => Some(error.kind()),
            _ => None,
        }
    }
}
