//! Reading the names in the path of a request.

use axum::{extract::FromRequestParts, http::request::Parts};
use serde::de::DeserializeOwned;

use crate::{Result, ServerError};

/// The names in the path of a request, in order. What cannot be read is answered as everything else is.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(names)| Self(names)).map_err(|_| {
            ServerError::invalid(
                "the path cannot be read",
                "escape names as UTF-8 with percent signs",
            )
        })
    }
}
