//! Whole sessions: exported, loaded, and transcripts of other tools imported.

use std::sync::Arc;

use axum::{
    Json,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use contexture_agents::{
    import::{ImportError, ImportOptions, Source, import},
    setup,
    wire::{ImportObject, LoadedObject},
};
use contexture_core::{Edit, ErrorKind, SegmentId, document};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Document,
    held::{Held, OwnedSession, SystemSide},
    query::Query,
    schema,
};
use crate::{Host, Result, ServerError};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(export))
        .routes(routes!(load))
        .routes(routes!(import_transcript))
}

/// The whole session as one document
#[utoipa::path(get, path = "/v1/sessions/{session}/export", tag = "sessions",
    responses((status = 200, description = "The document", body = schema::AnyObject)))]
async fn export(held: Held) -> Result<Response> {
    let system = held.host.system(&held.session, "export").await?;
    let document = document::export(&system).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document).into_response())
}

/// Fill the session from a document: one that is empty, or one that is made for it
#[utoipa::path(post, path = "/v1/sessions/{session}/load", tag = "sessions",
    request_body(content = schema::AnyObject),
    responses((status = 201, description = "What was loaded", body = schema::Loaded)))]
async fn load(
    owned: OwnedSession,
    Document(bytes): Document,
) -> Result<(StatusCode, Json<LoadedObject>)> {
    let by = owned.principal()?;
    let engine = owned.host.engine();
    let document::Parsed { plan, warnings } = document::parse(&bytes, engine.clock().now())?;
    let loaded = LoadedObject {
        session: owned.id.to_string(),
        segments: plan.segments.len(),
        pages: plan.pages.len(),
        warnings,
    };
    setup::load(engine, &owned.id, by, Edit::Load(Box::new(plan))).await?;
    Ok((StatusCode::CREATED, Json(loaded)))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct ImportQuery {
    /// How the transcript is written; by default that is recognised
    format: Option<String>,
    /// The segment its turns go to; `usr` by default
    segment: Option<String>,
    /// Whether its system prompt becomes a page of `sys`, where it binds every agent
    take_prompt: bool,
    /// Whether the last messages are taken even if they wait for results
    finish: bool,
}

/// Import a transcript of another tool; one that has grown adds only what is new
#[utoipa::path(post, path = "/v1/sessions/{session}/import", tag = "sessions", params(ImportQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, description = "What was imported", body = schema::AnyObject)))]
async fn import_transcript(
    SystemSide(held): SystemSide,
    Query(query): Query<ImportQuery>,
    Document(bytes): Document,
) -> Result<Json<ImportObject>> {
    let format = query.format.as_deref().map(str::parse).transpose()?;
    let segment: SegmentId = query.segment.as_deref().unwrap_or("usr").parse()?;
    let source = Source::read(&bytes, Vec::new(), format).map_err(refused)?;
    drop(bytes);
    let ImportQuery { take_prompt, finish, .. } = query;
    let options = ImportOptions { segment, take_prompt, finish };
    let imported = import(&held.session, source, &options, &mut |_| ()).await.map_err(refused)?;
    match imported.too_large.first() {
        None => Ok(Json(imported.object)),
        Some(first) => Err(ServerError::of_kind(
            ErrorKind::TooLarge,
            format!(
                "not everything was imported: {} {}: {}",
                imported.unit.as_str(),
                first.line,
                first.what
            ),
            "everything else was imported; shorten it in the transcript and import that again",
        )),
    }
}

fn refused(error: ImportError) -> ServerError {
    match error {
        ImportError::Core(error) => error.into(),
        error => ServerError::of_kind(
            error.kind(),
            error.to_string(),
            "change the transcript, or the session that it goes to, and import it again",
        ),
    }
}
