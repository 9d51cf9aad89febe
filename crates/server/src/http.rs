//! The routes, each a thin handler, and the document that describes them.

mod body;
mod conversation;
mod gate;
mod health;
mod held;
mod list;
mod pages;
mod query;
mod schema;
mod sessions;
mod window;

use std::sync::Arc;

use axum::{Router, http::StatusCode};
use utoipa_axum::router::OpenApiRouter;

use crate::{Host, ServeSettings, ServerError};

/// Returns all routes, guarded as the settings say.
pub fn router(host: Arc<Host>, settings: &ServeSettings) -> Router {
    let (routes, _) = routes().split_for_parts();
    let routes = routes.method_not_allowed_fallback(method_not_allowed).fallback(unknown_route);
    gate::guard(routes, &host, settings).with_state(host)
}

/// Returns the document that describes all routes, as JSON in OpenAPI 3.1.
pub fn openapi() -> String {
    let document = schema::complete(routes().into_openapi());
    let mut text = document.to_pretty_json().expect("the document has only string keys");
    text.push('\n');
    text
}

fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::with_openapi(schema::document())
        .merge(health::routes())
        .merge(sessions::routes())
        .merge(pages::routes())
        .merge(conversation::routes())
        .merge(window::routes())
}

async fn unknown_route() -> ServerError {
    ServerError::not_found("there is no such route", "GET /openapi.json describes all routes")
}

async fn method_not_allowed() -> ServerError {
    ServerError::invalid("this route has no such method", "GET /openapi.json describes all routes")
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}
