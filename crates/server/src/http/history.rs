//! History: who did what, and taking it back.

use std::sync::Arc;

use axum::Json;
use contexture_agents::wire::{HistoryObject, ListObject, UndoObject};
use contexture_core::{Edit, Revision};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    held::Held,
    list::{Listed, Shape, limit},
    query::Query,
    schema,
};
use crate::{Host, Result};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(history)).routes(routes!(undo))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct HistoryQuery {
    /// How many at most, up to 1,000; 50 by default
    limit: Option<u16>,
    /// Where an earlier list ended: its `next`, a revision
    cursor: Option<u64>,
}

/// List who changed what and when, newest first
///
/// An agent sees its own edits and those of the system side, on pages in its view.
#[utoipa::path(get, path = "/v1/sessions/{session}/history", tag = "history", params(HistoryQuery),
    responses((status = 200, description = "Some of them", body = schema::List<schema::HistoryEntry>)))]
async fn history(
    held: Held,
    Query(query): Query<HistoryQuery>,
    shape: Shape,
) -> Result<Listed<HistoryObject>> {
    let limit = limit(query.limit.or(Some(50)))?;
    let listing = held.session.history(query.cursor.map(Revision), limit).await?;
    let last = listing.items.last().filter(|_| listing.more);
    let next = last.map(|entry| entry.revision.to_string());
    let items = listing.items.iter().map(HistoryObject::from).collect();
    Ok(Listed::new(shape, ListObject { items, next }))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct UndoWanted {
    /// The edit to undo; by default the caller's own newest
    revision: Option<u64>,
}

/// Undo the caller's own newest edit, or the one named
#[utoipa::path(post, path = "/v1/sessions/{session}/undo", tag = "history",
    request_body = UndoWanted,
    responses((status = 200, description = "What was undone", body = schema::Undone)))]
async fn undo(held: Held, Body(wanted): Body<UndoWanted>) -> Result<Json<UndoObject>> {
    let revision = wanted.revision.map(Revision);
    let outcome = held.session.apply(Edit::Undo { revision }).await?;
    Ok(Json(UndoObject::from(&outcome)))
}
