//! Reading the body of a request: JSON of bounded size, within a bounded time, every field known.

use std::time::Duration;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use super::query::shorten;
use crate::{Result, ServerError};

/// The largest body of most requests.
pub(crate) const MOST: usize = 32 << 20;

/// The largest document that is loaded or imported.
const MOST_OF_A_DOCUMENT: usize = 256 << 20;

/// How long a body may take to arrive.
const TIME: Duration = Duration::from_secs(60);

/// A body in JSON.
#[derive(Debug)]
pub(crate) struct Body<T>(pub(crate) T);

/// A document or transcript, byte for byte.
#[derive(Debug)]
pub(crate) struct Document(pub(crate) Vec<u8>);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Body<T> {
    type Rejection = ServerError;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        require_json(request.headers())?;
        let bytes = read(request, MOST).await?;
        serde_json::from_slice(&bytes).map(Body).map_err(|error| {
            ServerError::invalid(
                format!("invalid body: {}", shorten(&error.to_string())),
                "GET /openapi.json describes the body that the route takes",
            )
        })
    }
}

impl<S: Sync> FromRequest<S> for Document {
    type Rejection = ServerError;

    async fn from_request(request: Request, _: &S) -> Result<Self> {
        read(request, MOST_OF_A_DOCUMENT).await.map(Document)
    }
}

fn require_json(headers: &HeaderMap) -> Result<()> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim).unwrap_or_default();
    match kind.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(ServerError::invalid(
            "the body is not declared as JSON",
            "send the header 'Content-Type: application/json'",
        )
        .with_status(StatusCode::UNSUPPORTED_MEDIA_TYPE)),
    }
}

/// Reads a body of bounded size within a bounded time.
pub(crate) async fn read(request: Request, most: usize) -> Result<Vec<u8>> {
    let body = Limited::new(request.into_body(), most).collect();
    let read = tokio::time::timeout(TIME, body).await.map_err(|_| {
        let message = format!("the body did not arrive within {} seconds", TIME.as_secs());
        ServerError::unavailable(message, "send it faster, or in smaller parts")
            .with_status(StatusCode::REQUEST_TIMEOUT)
    })?;
    match read {
        Ok(read) => Ok(read.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(ServerError::of_kind(
            contexture_core::ErrorKind::TooLarge,
            format!("the body is larger than {} MiB", most >> 20),
            "send it in smaller parts",
        )),
        Err(_) => Err(ServerError::invalid(
            "the body ended before it was complete",
            "send the request again",
        )),
    }
}
