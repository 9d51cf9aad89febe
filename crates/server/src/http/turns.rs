//! Turns: added, continued, opened with calls that have no result yet, answered, closed.

use std::sync::Arc;

use axum::{Json, http::HeaderMap};
use contexture_agents::wire::TurnObject;
use contexture_core::{Edit, Message, SegmentId};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    conversation::{key, messages},
    held::Held,
    schema,
};
use crate::{Host, Result};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(add))
        .routes(routes!(extend))
        .routes(routes!(open))
        .routes(routes!(results))
        .routes(routes!(close))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Said {
    /// OpenAI- or Anthropic-style messages
    #[schema(value_type = Vec<serde_json::Value>)]
    messages: Box<RawValue>,
    /// The segment to write to; by default the one that the caller writes to
    segment: Option<String>,
}

/// Makes an edit of messages, under the key of the request if there is one.
async fn write(
    held: Held,
    headers: &HeaderMap,
    said: Said,
    edit: fn(SegmentId, Vec<Message>) -> Edit,
) -> Result<Json<TurnObject>> {
    let messages = messages(&said.messages)?;
    let session = &held.session;
    let edit = edit(segment(&held, said.segment.as_deref())?, messages);
    let outcome = match key(headers)? {
        Some(key) => session.keyed(key).apply(edit).await?,
        None => session.apply(edit).await?,
    };
    Ok(Json(TurnObject { pages: outcome.pages }))
}

fn segment(held: &Held, named: Option<&str>) -> Result<SegmentId> {
    Ok(named.map_or_else(|| Ok(held.session.writes_to()), str::parse)?)
}

macro_rules! writes {
    ($($(#[doc = $doc:literal])+ $name:ident $path:literal $edit:ident;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "conversation", request_body = Said,
            params(("Idempotency-Key" = Option<String>, Header, description = "A key of your choice, 1 to 200 characters")),
            responses((status = 200, description = "The pages made or extended", body = schema::Turn)))]
        async fn $name(held: Held, headers: HeaderMap, Body(said): Body<Said>) -> Result<Json<TurnObject>> {
            write(held, &headers, said, |segment, messages| Edit::$edit { segment, messages }).await
        }
    )+};
}

writes! {
    /// Write turns: a user message and everything after it, up to the next one
    add "/v1/sessions/{session}/turns" AddTurn;
    /// Continue the caller's own latest turn with whole exchanges
    extend "/v1/sessions/{session}/turns/extend" ExtendTurn;
    /// Write messages whose last tool calls have no result yet
    open "/v1/sessions/{session}/turns/open" OpenExchange;
    /// Answer calls of the caller's own open exchange with tool messages
    results "/v1/sessions/{session}/turns/results" AddResults;
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct Closing {
    /// The segment of the calls; by default the one that the caller writes to
    segment: Option<String>,
}

/// Answer what is left of the caller's own open exchange as interrupted
#[utoipa::path(post, path = "/v1/sessions/{session}/turns/close", tag = "conversation",
    request_body = Closing,
    responses((status = 200, description = "Its page", body = schema::Turn)))]
async fn close(held: Held, Body(closing): Body<Closing>) -> Result<Json<TurnObject>> {
    let segment = segment(&held, closing.segment.as_deref())?;
    let outcome = held.session.apply(Edit::CloseExchange { segment }).await?;
    Ok(Json(TurnObject { pages: outcome.pages }))
}
