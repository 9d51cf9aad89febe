//! Why a command ended early: kind, message and hint, whoever said so.

use std::io;

use contexture_agents::AgentsError;
use contexture_core::{Error, ErrorKind, storage::StorageError};

use crate::advice;

/// What a command returns.
pub(crate) type Result<T, E = Stop> = std::result::Result<T, E>;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It was refused, or went wrong.
    Failed {
        /// What the caller can do about it.
        kind: ErrorKind,
        /// What, which and why.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// Nobody reads the output any more.
    Closed,
}

impl Stop {
    /// Says that the request itself is wrong.
    pub(crate) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::failed(ErrorKind::Invalid, message, hint)
    }

    /// Says what went wrong.
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

impl From<StorageError> for Stop {
    fn from(error: StorageError) -> Self {
        Self::from(Error::from(error))
    }
}

/// For what is written to standard output; reading files says more (see [`crate::input`]).
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        let message = format!("the output cannot be written: {error}");
        Self::failed(
            ErrorKind::Unavailable,
            message,
            "what was asked for is done; look at where the output goes before repeating it",
        )
    }
}
