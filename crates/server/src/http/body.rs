//! Reading the body of a request: JSON of bounded size, within a bounded time, every field known.

use std::time::Duration;

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode, header},
};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::query::shorten;
use crate::{Result, ServerError};

/// The largest body of most requests.
pub(crate) const MOST: usize = 32 << 20;

/// The largest document that is loaded or imported.
pub(crate) const MOST_OF_A_DOCUMENT: usize = 256 << 20;

/// How many bytes of all bodies together may be read at a time.
static ROOM: Semaphore = Semaphore::const_new(512 << 20);

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
    let body = request.into_body();
    if body.size_hint().lower() > most as u64 {
        return Err(too_large(most));
    }
    tokio::time::timeout(TIME, collect(body, most)).await.map_err(|_| {
        let message = format!("the body did not arrive within {} seconds", TIME.as_secs());
        ServerError::unavailable(message, "send it faster, or in smaller parts")
            .with_status(StatusCode::REQUEST_TIMEOUT)
    })?
}

/// Collects a body piece by piece. It takes room for what has arrived, not for what is announced, so that a
/// slow sender keeps nobody else out.
async fn collect(mut body: axum::body::Body, most: usize) -> Result<Vec<u8>> {
    let (mut bytes, mut room) = (Vec::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            ServerError::invalid("the body ended before it was complete", "send the request again")
        })?;
        let Ok(piece) = frame.into_data() else { continue };
        if bytes.len() + piece.len() > most {
            return Err(too_large(most));
        }
        let needed = u32::try_from(piece.len()).unwrap_or(u32::MAX);
        room.push(ROOM.try_acquire_many(needed).map_err(|_| {
            ServerError::unavailable(
                "the server has no room for more bodies",
                "send it again later",
            )
            .retry_after(1)
        })?);
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn too_large(most: usize) -> ServerError {
    ServerError::of_kind(
        contexture_core::ErrorKind::TooLarge,
        format!("the body is larger than {} MiB", most >> 20),
        "send it in smaller parts",
    )
}
