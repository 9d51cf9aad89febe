//! Tokens for users and agents of a session: made, listed and revoked by the owner.

use std::sync::Arc;

use axum::{Json, http::StatusCode};
use contexture_agents::wire::ListObject;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    held::OwnedSession,
    list::{Listed, Shape},
    path::Path,
    schema,
};
use crate::{Host, Lifetime, NewToken, Result, ServerError, TokenObject};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke))
}

/// List the tokens of the session, oldest first
#[utoipa::path(get, path = "/v1/sessions/{session}/tokens", tag = "tokens",
    responses((status = 200, description = "All of them", body = schema::List<schema::Token>)))]
async fn list(owned: OwnedSession, shape: Shape) -> Result<Listed<TokenObject>> {
    let items = owned.host.tokens(&owned.caller, &owned.id).await?.list().await?;
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TokenWanted {
    /// Who it is for: an agent's name, or user:NAME
    holder: String,
    /// What you call it
    #[serde(default)]
    label: String,
    /// For how many seconds it is valid; by default until it is revoked
    seconds: Option<u64>,
}

/// Make a token: the only answer that holds it
#[utoipa::path(post, path = "/v1/sessions/{session}/tokens", tag = "tokens",
    request_body = TokenWanted,
    responses((status = 201, description = "The token", body = schema::Token)))]
async fn create(
    owned: OwnedSession,
    Body(wanted): Body<TokenWanted>,
) -> Result<(StatusCode, Json<TokenObject>)> {
    let lifetime = wanted.seconds.map_or(Lifetime::UntilRevoked, Lifetime::Seconds);
    let (holder, label) = (wanted.holder.parse()?, wanted.label);
    let tokens = owned.host.tokens(&owned.caller, &owned.id).await?;
    owned.host.note_file(&owned.id, &holder).await?;
    let made = tokens.create(NewToken { holder, label, lifetime }).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Revoke a token: every server refuses it from its next request on
#[utoipa::path(delete, path = "/v1/sessions/{session}/tokens/{token}", tag = "tokens",
    responses((status = 200, description = "What it was", body = schema::Token)))]
async fn revoke(
    owned: OwnedSession,
    Path((_, token)): Path<(String, String)>,
) -> Result<Json<TokenObject>> {
    let token = token.parse().map_err(|reason: &str| {
        ServerError::invalid(format!("invalid id of a token: {reason}"), "GET /tokens lists them")
    })?;
    Ok(Json(owned.host.tokens(&owned.caller, &owned.id).await?.revoke(&token).await?))
}
