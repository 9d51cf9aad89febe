//! Segments: added, listed, changed, removed.

use std::sync::Arc;

use axum::{Json, http::StatusCode};
use contexture_agents::wire::{ListObject, SegmentObject};
use contexture_core::{Edit, NewSegment, SegmentId, SegmentUpdate, Tokens};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    held::Held,
    list::{Listed, Shape},
    path::Path,
    query::Query,
    schema,
};
use crate::{Host, Result};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(list, add)).routes(routes!(show, update, remove))
}

/// List the segments in view, in display order
#[utoipa::path(get, path = "/v1/sessions/{session}/segments", tag = "segments",
    responses((status = 200, description = "All of them", body = schema::List<schema::Segment>)))]
async fn list(held: Held, shape: Shape) -> Result<Listed<SegmentObject>> {
    let segments = held.session.list_segments()?;
    let items = segments.iter().map(SegmentObject::from).collect();
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SegmentAdded {
    /// Its id: letters, digits and single dashes
    id: String,
    /// system, user, tool or custom
    kind: String,
    /// read-only, read-write or system-managed: what agents may do in it
    permission: String,
    /// How many tokens of a window it may take; 0, the default, for any number
    #[serde(default)]
    capacity: u64,
    /// Its name; by default its id
    name: Option<String>,
    /// Its description
    #[serde(default)]
    description: String,
}

/// Add a segment
#[utoipa::path(post, path = "/v1/sessions/{session}/segments", tag = "segments",
    request_body = SegmentAdded,
    responses((status = 201, description = "The segment", body = schema::Segment)))]
async fn add(
    held: Held,
    Body(added): Body<SegmentAdded>,
) -> Result<(StatusCode, Json<SegmentObject>)> {
    let id: SegmentId = added.id.parse()?;
    let new = NewSegment {
        id: id.clone(),
        name: added.name.as_deref().map(str::parse).transpose()?,
        description: added.description.parse()?,
        kind: added.kind.parse()?,
        permission: added.permission.parse()?,
        capacity: Tokens(added.capacity),
    };
    held.session.apply(Edit::AddSegment(new)).await?;
    let segment = SegmentObject::from(&*held.session.reader().segment(&id)?);
    Ok((StatusCode::CREATED, Json(segment)))
}

/// Read a segment
#[utoipa::path(get, path = "/v1/sessions/{session}/segments/{segment}", tag = "segments",
    responses((status = 200, description = "The segment", body = schema::Segment)))]
async fn show(
    held: Held,
    Path((_, segment)): Path<(String, String)>,
) -> Result<Json<SegmentObject>> {
    Ok(Json(SegmentObject::from(&held.session.get_segment(&segment.parse()?)?)))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct SegmentChange {
    /// The new name; left out or empty, it stays
    name: Option<String>,
    /// The new description; left out or empty, it stays
    description: Option<String>,
    /// What agents may do in it from now on
    permission: Option<String>,
    /// How many tokens of a window it may take from now on
    capacity: Option<u64>,
}

/// Change a segment
#[utoipa::path(patch, path = "/v1/sessions/{session}/segments/{segment}", tag = "segments",
    request_body = SegmentChange,
    responses((status = 200, description = "The segment", body = schema::Segment)))]
async fn update(
    held: Held,
    Path((_, segment)): Path<(String, String)>,
    Body(change): Body<SegmentChange>,
) -> Result<Json<SegmentObject>> {
    let id: SegmentId = segment.parse()?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let update = SegmentUpdate {
        segment: id.clone(),
        name: given(change.name).as_deref().map(str::parse).transpose()?,
        description: given(change.description).as_deref().map(str::parse).transpose()?,
        permission: change.permission.as_deref().map(str::parse).transpose()?,
        capacity: change.capacity.map(Tokens),
    };
    held.session.apply(Edit::UpdateSegment(update)).await?;
    Ok(Json(SegmentObject::from(&*held.session.reader().segment(&id)?)))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct RemoveQuery {
    /// Whether its pages go to the archive
    cascade: bool,
    /// Whether to remove it even if it is of kind system
    force: bool,
}

/// A segment that was removed.
#[derive(Debug, Serialize, ToSchema)]
struct RemovedSegmentObject {
    /// Its id.
    removed: String,
    /// The edit.
    revision: u64,
}

/// Remove a segment
#[utoipa::path(delete, path = "/v1/sessions/{session}/segments/{segment}", tag = "segments",
    params(RemoveQuery),
    responses((status = 200, description = "It was removed", body = RemovedSegmentObject)))]
async fn remove(
    held: Held,
    Path((_, segment)): Path<(String, String)>,
    Query(query): Query<RemoveQuery>,
) -> Result<Json<RemovedSegmentObject>> {
    let segment: SegmentId = segment.parse()?;
    let removed = segment.to_string();
    let RemoveQuery { cascade, force } = query;
    let outcome = held.session.apply(Edit::RemoveSegment { segment, cascade, force }).await?;
    Ok(Json(RemovedSegmentObject { removed, revision: outcome.revision.0 }))
}
