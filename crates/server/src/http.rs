//! The routes, each a thin handler, and the document that describes them.

mod agents;
mod body;
mod conversation;
mod custom;
mod documents;
mod events;
mod gate;
mod health;
mod held;
mod history;
mod list;
mod pages;
mod path;
mod query;
mod runs;
mod schema;
mod search;
mod segments;
mod sessions;
mod tokens;
mod tools;
mod turns;
mod window;

use std::sync::Arc;

use axum::{Router, http::StatusCode};
use utoipa_axum::router::OpenApiRouter;

pub(crate) use body::{MOST as BODY, MOST_OF_A_DOCUMENT, read as read_body};
pub(crate) use held::bearer;
pub(crate) use query::pairs;

use crate::{Host, ServeSettings, ServerError, command, mcp};

/// Returns all routes, guarded as the settings say.
pub fn router(host: Arc<Host>, settings: &ServeSettings) -> Router {
    let (routes, _) = routes().split_for_parts();
    let routes = routes.merge(mcp::route(&host)).merge(command::route());
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
        .merge(custom::routes())
        .merge(documents::routes())
        .merge(tokens::routes())
        .merge(segments::routes())
        .merge(pages::routes())
        .merge(turns::routes())
        .merge(conversation::routes())
        .merge(window::routes())
        .merge(search::routes())
        .merge(tools::routes())
        .merge(history::routes())
        .merge(events::routes())
        .merge(agents::routes())
        .merge(runs::routes())
}

pub(crate) async fn unknown_route() -> ServerError {
    ServerError::not_found("there is no such route", "GET /openapi.json describes all routes")
}

async fn method_not_allowed() -> ServerError {
    ServerError::invalid("this route has no such method", "GET /openapi.json describes all routes")
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}
