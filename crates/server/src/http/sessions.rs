//! Sessions: made, listed, removed. For the owner, but for the head of one's own session.

use std::sync::Arc;

use axum::{Json, http::StatusCode};
use contexture_agents::{
    setup,
    wire::{ListObject, RemovedObject, SegmentObject, SessionObject},
};
use contexture_core::{ContextSystem, Error, Principal, SessionId, storage::SessionInfo};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    held::{Held, Owned, OwnedSession},
    list::{Listed, Shape, limit},
    query::Query,
    schema,
};
use crate::{Host, Result, ServerError};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(show, prepare, remove))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct ListQuery {
    /// How many at most, up to 1,000; 100 by default
    limit: Option<u16>,
    /// Where an earlier list ended: its `next`
    cursor: Option<String>,
}

/// List the sessions
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListQuery),
    responses((status = 200, description = "Some of them, by name", body = schema::List<schema::SessionHead>)))]
async fn list(
    owned: Owned,
    Query(query): Query<ListQuery>,
    shape: Shape,
) -> Result<Listed<SessionObject>> {
    let limit = limit(query.limit)?;
    let after: Option<SessionId> = query.cursor.as_deref().map(str::parse).transpose()?;
    let storage = owned.host.engine().storage();
    let mut sessions = storage.sessions(after.as_ref(), limit + 1).await?;
    let more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().filter(|_| more).map(|info: &SessionInfo| info.id.to_string());
    let items = sessions.iter().map(SessionObject::from).collect();
    Ok(Listed::new(shape, ListObject { items, next }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSession {
    /// Its name: letters, digits, '.', '_' and '-'
    id: String,
    /// The application it belongs to
    app: Option<String>,
}

/// Make an empty session: without segments
///
/// `PUT /v1/sessions/{session}` makes one with the segments `sys` and `usr`.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", request_body = NewSession,
    responses((status = 201, description = "The session", body = schema::SessionHead)))]
async fn create(
    owned: Owned,
    Body(new): Body<NewSession>,
) -> Result<(StatusCode, Json<SessionObject>)> {
    let session: SessionId = new.id.parse()?;
    let app = new.app.as_deref().unwrap_or(setup::APP).trim();
    if app.is_empty() || app.chars().count() > 200 || app.chars().any(char::is_control) {
        return Err(ServerError::invalid(
            "invalid application id: it must have 1 to 200 characters and no control characters",
            "choose another id",
        ));
    }
    let engine = owned.host.engine();
    let (storage, clock) = (engine.storage().clone(), engine.clock().clone());
    let system = ContextSystem::create(storage, session, app, clock).await?;
    Ok((StatusCode::CREATED, Json(SessionObject::from(&system.info().await?))))
}

/// The head of the session
#[utoipa::path(get, path = "/v1/sessions/{session}", tag = "sessions",
    responses((status = 200, description = "The head", body = schema::SessionHead)))]
async fn show(held: Held) -> Result<Json<SessionObject>> {
    let system = held.host.system(&held.session, "session").await?;
    Ok(Json(SessionObject::from(&system.info().await?)))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct Preparation {
    /// The system prompt, which becomes the page 'System prompt' of `sys`, or its new text
    system: Option<String>,
}

/// A session that is ready for use.
#[derive(Debug, Serialize)]
struct PreparedObject {
    session: String,
    created: bool,
    segments: Vec<SegmentObject>,
}

/// Make the session with the segments `sys` and `usr`, or add what it lacks
#[utoipa::path(put, path = "/v1/sessions/{session}", tag = "sessions", request_body = Preparation,
    responses(
        (status = 200, description = "It existed", body = schema::Initialised),
        (status = 201, description = "It was made", body = schema::Initialised)))]
async fn prepare(
    owned: OwnedSession,
    Body(wanted): Body<Preparation>,
) -> Result<(StatusCode, Json<PreparedObject>)> {
    let by = owned.principal()?;
    let engine = owned.host.engine();
    let prepared = setup::prepare(engine, &owned.id, by, wanted.system.as_deref()).await?;
    let created = prepared.created;
    let segments = prepared.system.as_system().list_segments()?;
    let segments = segments.iter().map(SegmentObject::from).collect();
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(PreparedObject { session: owned.id.to_string(), created, segments })))
}

/// Destroy the session for good, with its tokens
#[utoipa::path(delete, path = "/v1/sessions/{session}", tag = "sessions",
    responses((status = 200, description = "It was destroyed", body = schema::Removed)))]
async fn remove(owned: OwnedSession) -> Result<Json<RemovedObject>> {
    let host = &owned.host;
    if !host.engine().remove(&owned.id).await? {
        return Err(Error::SessionNotFound { session: owned.id }.into());
    }
    let indexed = host.forget(None).await;
    let traces = [host.engine().storage().traces().await?, indexed].concat();
    Ok(Json(RemovedObject { removed: owned.id.to_string(), traces }))
}

impl OwnedSession {
    /// Returns who the owner acts as: the system side, or a user on it. Agents make no sessions.
    pub(super) fn principal(&self) -> Result<Principal> {
        match &self.asked {
            None | Some(contexture_core::Actor::System) => Ok(Principal::System),
            Some(contexture_core::Actor::User(name)) => Ok(Principal::User(name.clone())),
            Some(contexture_core::Actor::Agent(_)) => {
                Err(Error::SystemSideOnly { what: "'session'".to_owned() }.into())
            }
        }
    }
}
