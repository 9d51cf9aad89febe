//! Whether the server works, what it counts, and what it understands.

use std::sync::{Arc, LazyLock};

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::held::Owned;
use crate::{Host, Result, ServerError};

/// The document, which is made once.
static DOCUMENT: LazyLock<String> = LazyLock::new(super::openapi);

/// That the server works.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
struct HealthObject {
    /// Always `ok`: anything else is an error.
    status: &'static str,
}

const OK: HealthObject = HealthObject { status: "ok" };

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(healthz))
        .routes(routes!(readyz))
        .routes(routes!(metrics))
        .routes(routes!(document))
}

/// Whether the process is alive
#[utoipa::path(get, path = "/healthz", tag = "server", security(()),
    responses((status = 200, description = "It is", body = HealthObject)))]
async fn healthz() -> Json<HealthObject> {
    Json(OK)
}

/// Whether the process can answer requests: the store is in reach, and it is not about to end
#[utoipa::path(get, path = "/readyz", tag = "server", security(()),
    responses((status = 200, description = "It can", body = HealthObject)))]
async fn readyz(State(host): State<Arc<Host>>) -> Result<Json<HealthObject>> {
    if *host.stopping().borrow() {
        return Err(ServerError::unavailable("the server is about to end", "use another one"));
    }
    host.engine().storage().sessions(None, 1).await?;
    Ok(Json(OK))
}

/// What the server counts of itself, for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "server",
    responses((status = 200, description = "The figures", body = String, content_type = "text/plain")))]
async fn metrics(owned: Owned) -> Response {
    let text = owned.host.counters().text(owned.host.engine().usage());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "server", security(()),
    responses((status = 200, description = "The document", body = serde_json::Value)))]
async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str()).into_response()
}
