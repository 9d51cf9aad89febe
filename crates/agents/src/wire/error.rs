//! Errors.

use serde::Serialize;

/// Something that went wrong.
#[derive(Debug, Serialize)]
pub struct FailureObject<'a> {
    /// What.
    pub error: FaultObject<'a>,
}

/// An error: what the caller can do about it, what happened, and what to do next.
#[derive(Debug, Serialize)]
pub struct FaultObject<'a> {
    /// The name of its [`ErrorKind`](contexture_core::ErrorKind).
    pub kind: &'static str,
    /// What happened, to which thing, and why.
    pub message: &'a str,
    /// What to do next, in the words of the surface.
    pub hint: &'a str,
}
