//! The custom state of a session: entries of the host's own. Those of the engine are not among them.

use std::sync::Arc;

use axum::Json;
use contexture_agents::wire::CustomObject;
use contexture_core::{Edit, storage::CustomKey};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{body::Body, held::Held, path::Path, schema};
use crate::{Host, Result, ServerError};

/// The key of the session's token budget.
const BUDGET: &str = "budget";

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(set, clear))
}

/// The custom state of the session
#[utoipa::path(get, path = "/v1/sessions/{session}/custom", tag = "custom",
    responses((status = 200, description = "All entries", body = schema::Custom)))]
async fn list(held: Held) -> Result<Json<CustomObject>> {
    entries(&held).await
}

async fn entries(held: &Held) -> Result<Json<CustomObject>> {
    let mut custom = held.session.custom().await?;
    custom.retain(|(key, _)| !key.is_own());
    Ok(Json(CustomObject::new(custom)))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Its value, any JSON
    #[schema(value_type = serde_json::Value)]
    value: Box<RawValue>,
}

/// Set an entry
///
/// The entry `budget` is the token budget of all windows that name none.
#[utoipa::path(put, path = "/v1/sessions/{session}/custom/{key}", tag = "custom",
    request_body = Entry,
    responses((status = 200, description = "All entries", body = schema::Custom)))]
async fn set(
    held: Held,
    Path((_, key)): Path<(String, String)>,
    Body(entry): Body<Entry>,
) -> Result<Json<CustomObject>> {
    let (key, value) = (checked(&held, &key)?, entry.value.get().trim().to_owned());
    if key.as_str() == BUDGET && value.parse::<u64>().is_err() {
        return Err(ServerError::invalid(
            "invalid budget: it is not a whole number of tokens",
            "give a number of tokens, such as 16000",
        ));
    }
    held.session.apply(Edit::SetCustom { key, value: Some(value) }).await?;
    entries(&held).await
}

/// Clear an entry
#[utoipa::path(delete, path = "/v1/sessions/{session}/custom/{key}", tag = "custom",
    responses((status = 200, description = "All entries that are left", body = schema::Custom)))]
async fn clear(held: Held, Path((_, key)): Path<(String, String)>) -> Result<Json<CustomObject>> {
    let key = checked(&held, &key)?;
    held.session.apply(Edit::SetCustom { key, value: None }).await?;
    entries(&held).await
}

/// Reads a key. Entries are for the system side, and the engine's own are for nobody.
fn checked(held: &Held, key: &str) -> Result<CustomKey> {
    held.only_system_side("session")?;
    let key: CustomKey = key.parse()?;
    match key.is_own() {
        true => {
            let own = CustomKey::OWN_PREFIX;
            let message = format!("invalid key: keys that begin with '{own}' belong to the engine");
            Err(ServerError::invalid(message, "choose another key"))
        }
        false => Ok(key),
    }
}
