//! Lists: some items and a cursor, as one object or one item per line.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use contexture_agents::wire::ListObject;
use serde::Serialize;

use crate::{Result, ServerError};

/// The media type of one JSON value per line.
const LINES: &str = "application/x-ndjson";

/// Where a list in lines says how it continues.
const NEXT: HeaderName = HeaderName::from_static("contexture-next");

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// As one object.
    Object,
    /// One item per line; the cursor is in the header `Contexture-Next`.
    Lines,
}

/// A list to be answered with.
#[derive(Debug)]
pub(crate) struct Listed<T> {
    shape: Shape,
    list: ListObject<T>,
}

impl<S: Sync> FromRequestParts<S> for Shape {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let accepted = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let lines = accepted.is_some_and(|accepted| {
            accepted.split(',').any(|kind| kind.trim().split(';').next() == Some(LINES))
        });
        Ok(if lines { Shape::Lines } else { Shape::Object })
    }
}

impl<T> Listed<T> {
    pub(crate) fn new(shape: Shape, list: ListObject<T>) -> Self {
        Self { shape, list }
    }
}

impl<T: Serialize> IntoResponse for Listed<T> {
    fn into_response(self) -> Response {
        if self.shape == Shape::Object {
            return Json(self.list).into_response();
        }
        let mut text = String::new();
        for item in &self.list.items {
            match serde_json::to_string(item) {
                Ok(line) => text.push_str(&line),
                Err(error) => return unwritten(&error).into_response(),
            }
            text.push('\n');
        }
        let mut response = ([(header::CONTENT_TYPE, LINES)], text).into_response();
        if let Some(next) = self.list.next.and_then(|next| HeaderValue::from_str(&next).ok()) {
            response.headers_mut().insert(NEXT, next);
        }
        response
    }
}

fn unwritten(error: &serde_json::Error) -> ServerError {
    let message = format!("an item of the list cannot be written: {error}");
    let hint = "this is a bug: please report it";
    ServerError::of_kind(contexture_core::ErrorKind::Corrupt, message, hint)
}

/// Returns how many items a list may have.
pub(crate) fn limit(asked: Option<u16>) -> Result<usize> {
    match asked.unwrap_or(100) {
        limit @ 1..=1_000 => Ok(limit.into()),
        _ => Err(ServerError::invalid(
            "invalid limit: it is not between 1 and 1,000",
            "ask for the rest with the `next` of the list",
        )),
    }
}
