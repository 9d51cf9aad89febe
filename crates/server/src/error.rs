//! Why a request was refused or failed, as HTTP says it.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contexture_agents::{
    AgentsError,
    wire::{ErrorObject, FailureObject},
};
use contexture_core::{Error, ErrorKind, storage::StorageError};
use contexture_search::SearchError;

use crate::advice;

/// What most functions here return.
pub type Result<T, E = ServerError> = std::result::Result<T, E>;

/// A request that was refused or failed. Nothing is half done.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ServerError {
    status: StatusCode,
    kind: &'static str,
    message: String,
    hint: String,
    /// After how many seconds the request may succeed.
    retry_after: Option<u64>,
}

impl ServerError {
    /// Reports that the request itself is wrong.
    pub fn invalid(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::of_kind(ErrorKind::Invalid, message, hint)
    }

    /// Reports that something does not exist, or not for this caller.
    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::of_kind(ErrorKind::NotFound, message, hint)
    }

    /// Reports that the caller may not do this.
    pub fn denied(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::of_kind(ErrorKind::PermissionDenied, message, hint)
    }

    /// Reports that something is out of reach for now.
    pub fn unavailable(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::of_kind(ErrorKind::Unavailable, message, hint)
    }

    /// Reports any kind of error, with the status that belongs to it.
    pub fn of_kind(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let status = match kind {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Corrupt => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let (message, hint) = (message.into(), hint.into());
        Self { status, kind: kind.as_str(), message, hint, retry_after: None }
    }

    /// Reports that the request carries no token.
    pub(crate) fn no_token() -> Self {
        Self::unauthenticated("the request carries no token")
    }

    /// Reports that a token is not valid here: it is unknown, revoked or expired. Which of these it is, and
    /// whether the session exists, is not said.
    pub(crate) fn wrong_token() -> Self {
        Self::unauthenticated("the token is not valid here")
    }

    fn unauthenticated(message: &str) -> Self {
        Self {
            status: StatusCode::UNAUTHORIZED,
            kind: "unauthenticated",
            message: message.to_owned(),
            hint:
                "send the header 'Authorization: Bearer TOKEN'; `contexture token create` makes a \
                   token for one session"
                    .to_owned(),
            retry_after: None,
        }
    }

    /// Reports that a token was used too often.
    pub(crate) fn too_many() -> Self {
        Self::unavailable("too many requests with this token", "wait a moment and send it again")
            .with_status(StatusCode::TOO_MANY_REQUESTS)
            .retry_after(1)
    }

    /// Gives it another status than the one that belongs to its kind.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Says after how many seconds the request may succeed.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// Returns the status that it is answered with.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the kind of error that it is for callers which speak no HTTP.
    pub fn class(&self) -> ErrorKind {
        match self.status.as_u16() {
            401 | 403 => ErrorKind::PermissionDenied,
            404 => ErrorKind::NotFound,
            409 | 412 => ErrorKind::Conflict,
            413 => ErrorKind::TooLarge,
            408 | 429 | 503 => ErrorKind::Unavailable,
            500 => ErrorKind::Corrupt,
            _ => ErrorKind::Invalid,
        }
    }

    /// Returns the name of its kind, as the answer spells it.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns what to do next.
    pub fn hint(&self) -> &str {
        &self.hint
    }

    /// Returns the object that it is answered with.
    pub fn object(&self) -> FailureObject<'_> {
        let Self { kind, message, hint, .. } = self;
        FailureObject { error: ErrorObject { kind, message, hint } }
    }
}

impl From<Error> for ServerError {
    fn from(error: Error) -> Self {
        Self::of_kind(error.kind(), error.to_string(), advice::words(&error.advice()))
    }
}

impl From<StorageError> for ServerError {
    fn from(error: StorageError) -> Self {
        Error::from(error).into()
    }
}

impl From<AgentsError> for ServerError {
    fn from(error: AgentsError) -> Self {
        match error {
            AgentsError::Core(error) => error.into(),
            error => Self::of_kind(error.kind(), error.to_string(), error.hint()),
        }
    }
}

impl From<SearchError> for ServerError {
    fn from(error: SearchError) -> Self {
        match error {
            SearchError::Core(error) => error.into(),
            SearchError::Storage(error) => error.into(),
            error => Self::unavailable(error.to_string(), "try again"),
        }
    }
}

impl IntoResponse for ServerError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(self.object())).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
