//! What PostgreSQL says, in the words of [`StorageError`].

use std::{error::Error as _, fmt::Display};

use contexture_core::storage::StorageError;
use deadpool_postgres::PoolError;
use tokio_postgres::{Error, error::SqlState};

pub(crate) use crate::columns::{integer, limit};

/// What goes wrong below the trait, before it is known in which database.
#[derive(Debug)]
pub(crate) enum Fault {
    Storage(StorageError),
    Postgres(Error),
    /// No answer, or no connection, within the time allowed.
    Late(&'static str),
}

pub(crate) type FaultResult<T> = Result<T, Fault>;

impl Fault {
    /// Names the database it happened in.
    pub(crate) fn at(self, what: &str) -> StorageError {
        match self {
            Fault::Storage(error) => error,
            Fault::Postgres(error) => named(what, &error),
            Fault::Late(reason) => unavailable(what, reason),
        }
    }

    /// Says that what was read is not what was written.
    pub(crate) fn corrupt(what: impl Display, reason: impl Display) -> Self {
        Fault::Storage(StorageError::Corrupt { what: what.to_string(), reason: reason.to_string() })
    }

    /// Tells whether the same again, on what stands by then, may well succeed: the database took
    /// the transaction back because of another one.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self.code(),
            Some(
                &SqlState::T_R_SERIALIZATION_FAILURE
                    | &SqlState::T_R_DEADLOCK_DETECTED
                    // Two made the same session; the second then finds that of the first.
                    | &SqlState::UNIQUE_VIOLATION
            )
        )
    }

    /// Tells whether the connection cannot be used any more.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Fault::Storage(_) => false,
            Fault::Late(_) => true,
            Fault::Postgres(error) => match error.code() {
                // Shutdowns, and connections that the server or one between ends.
                Some(code) => code.code().starts_with("57P") || code.code().starts_with("08"),
                None => {
                    error.is_closed()
                        || error.source().is_some_and(|cause| cause.is::<std::io::Error>())
                }
            },
        }
    }

    /// Returns what the server calls it.
    pub(crate) fn code(&self) -> Option<&SqlState> {
        match self {
            Fault::Postgres(error) => error.code(),
            Fault::Storage(_) | Fault::Late(_) => None,
        }
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Fault::Storage(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Postgres(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Fault::Postgres(error),
            PoolError::Timeout(_) => Fault::Late("no connection became free in time"),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                Fault::Late("its connections are closed")
            }
        }
    }
}

/// Says that the database is out of reach.
pub(crate) fn unavailable(what: &str, reason: impl Display) -> StorageError {
    StorageError::Unavailable { what: what.to_owned(), reason: reason.to_string() }
}

fn named(what: &str, error: &Error) -> StorageError {
    let what = what.to_owned();
    let Some(said) = error.as_db_error() else {
        let reason = with_causes(error);
        // A column of another type than was written, or one that must hold something and does not.
        let decoding = error.to_string().starts_with("error deserializing");
        return if decoding {
            StorageError::Corrupt { what, reason }
        } else {
            StorageError::Unavailable { what, reason }
        };
    };
    let (code, reason) = (said.code(), said.message().to_owned());
    match *code {
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => {
            StorageError::ReadOnly { what, reason }
        }
        SqlState::DATA_CORRUPTED
        | SqlState::INDEX_CORRUPTED
        // A row that, going by all others, cannot be there.
        | SqlState::UNIQUE_VIOLATION
        // The SQL is ours and fixed, so this is a table or column that is not there.
        | SqlState::UNDEFINED_TABLE
        | SqlState::UNDEFINED_COLUMN
        | SqlState::DATATYPE_MISMATCH => StorageError::Corrupt { what, reason },
        _ => StorageError::Unavailable { what, reason },
    }
}

/// Returns an error with its causes, as one line. A password is in none of them.
fn with_causes(error: &Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !line.contains(&inner_text) {
            line = format!("{line}: {inner_text}");
        }
        cause = inner.source();
    }
    line
}

/// Converts a number back.
pub(crate) fn natural(integer: i64, what: impl Display) -> FaultResult<u64> {
    u64::try_from(integer).map_err(|_| Fault::corrupt(what, format!("{integer} is negative")))
}
