//! What goes wrong on the way to the server, told so that it helps.

use contexture_core::storage::{StorageError, StorageResult};
use object_store::Error;

/// What can go wrong inside.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// An object that a root names is not there: the root may be an old one.
    Gone(String),
    /// Anything else.
    Storage(StorageError),
}

/// What most of it returns.
pub(crate) type FaultResult<T> = Result<T, Fault>;

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Fault::Storage(error)
    }
}

impl Fault {
    pub(crate) fn corrupt(what: impl Into<String>, reason: impl Into<String>) -> Self {
        StorageError::Corrupt { what: what.into(), reason: reason.into() }.into()
    }

    /// Returns what callers are told when looking at a fresh root did not help.
    pub(crate) fn into_storage_error(self) -> StorageError {
        match self {
            Fault::Gone(what) => {
                StorageError::Corrupt { what, reason: "the object is missing".to_owned() }
            }
            Fault::Storage(error) => error,
        }
    }
}

/// What a request was to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Reading,
    Writing,
}

/// Returns what a request's failure means. `what` names the storage or the object.
pub(crate) fn refused(what: &str, doing: Doing, error: &Error) -> StorageError {
    let what = what.to_owned();
    let text = short(&error.to_string());
    match error {
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            let reason = format!("the server refuses these credentials: {text}");
            match doing {
                Doing::Reading => StorageError::Unavailable { what, reason },
                Doing::Writing => StorageError::ReadOnly { what, reason },
            }
        }
        error if is_about_bucket(error) => {
            StorageError::Unavailable { what, reason: "the bucket does not exist".to_owned() }
        }
        _ => StorageError::Unavailable { what, reason: text },
    }
}

/// Tells whether what is missing is the bucket itself.
pub(crate) fn is_about_bucket(error: &Error) -> bool {
    matches!(error, Error::NotFound { .. } | Error::Generic { .. } | Error::Precondition { .. })
        && error.to_string().contains("NoSuchBucket")
}

/// Shortens what a server or a library said: it may be a page of markup.
fn short(text: &str) -> String {
    const MOST: usize = 300;
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = line.char_indices().nth(MOST) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Makes a result of a public method.
pub(crate) fn storage_result<T>(outcome: FaultResult<T>) -> StorageResult<T> {
    outcome.map_err(Fault::into_storage_error)
}
