//! Why a command ended early: kind, message and hint, from any layer.

use std::io;

use contexture_agents::AgentsError;
use contexture_core::{Error, ErrorKind, storage::StorageError};
use contexture_search::SearchError;

use crate::advice;

/// What a command returns.
pub(crate) type Result<T, E = Stop> = std::result::Result<T, E>;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It was refused or failed.
    Failed {
        /// What the caller can do about it.
        kind: ErrorKind,
        /// What happened, to which thing, and why.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// The output was closed by its reader.
    Closed,
}

impl Stop {
    /// Reports that the request itself is wrong.
    pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::failed(ErrorKind::Invalid, message, hint)
    }

    /// Reports a failure of any kind.
    pub(crate) fn failed(
        kind: ErrorKind,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Failed { kind, message: message.into(), hint: hint.into() }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::failed(error.kind(), error.to_string(), advice::words(&error.advice()))
    }
}

impl From<AgentsError> for Stop {
    fn from(error: AgentsError) -> Self {
        Self::failed(error.kind(), error.to_string(), advice::with_agents(&error))
    }
}

impl From<SearchError> for Stop {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Core(error) => error.into(),
            SearchError::Storage(error) => error.into(),
            error => {
                let hint =
                    "try again; the index is made again from the store if its folder is removed";
                Self::failed(ErrorKind::Unavailable, error.to_string(), hint)
            }
        }
    }
}

#[cfg(feature = "server")]
impl From<contexture_server::ServerError> for Stop {
    fn from(error: contexture_server::ServerError) -> Self {
        Self::failed(error.class(), error.to_string(), error.hint())
    }
}

impl From<StorageError> for Stop {
    fn from(error: StorageError) -> Self {
        Self::from(Error::from(error))
    }
}

/// For writes to standard output; errors of reading files say more (see [`crate::input`]).
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        let message = format!("cannot write the output: {error}");
        Self::failed(
            ErrorKind::Unavailable,
            message,
            "the command has done its work; check where its output goes before you run it again",
        )
    }
}
