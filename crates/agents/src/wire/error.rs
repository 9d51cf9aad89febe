//! Errors.

use serde::Serialize;

/// Something that went wrong.
#[derive(Debug, Serialize)]
pub struct FailureObject<'a> {
    /// The error.
    pub error: ErrorObject<'a>,
}

/// An error: what the caller can do about it, what happened, and what to do next.
#[derive(Debug, Serialize)]
pub struct ErrorObject<'a> {
    /// The name of its [`ErrorKind`](contexture_core::ErrorKind).
    pub kind: &'static str,
    /// What happened, to which thing, and why.
    pub message: &'a str,
    /// What to do next, in the words of the surface.
    pub hint: &'a str,
}
