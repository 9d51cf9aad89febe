//! The tools with which a model that somebody else runs opens its window, as its provider takes them.

use std::sync::Arc;

use axum::Json;
use contexture_agents::tools::context::{CallForm, Calls, HostTools};
use contexture_core::Format;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{body::Body, held::Held, query::Query, window::options};
use crate::{Host, Result, ServerError};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(tools)).routes(routes!(call))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct ToolsQuery {
    /// openai, responses, anthropic or gemini; openai by default
    format: Option<String>,
}

/// Tools for the model of a host.
#[derive(Debug, Serialize, ToSchema)]
struct ToolsObject {
    /// What the request to the model has as its `tools`, or adds to them
    #[schema(value_type = Vec<serde_json::Value>)]
    tools: Box<RawValue>,
}

fn form(text: &str) -> Result<CallForm> {
    text.parse().map_err(|wrong: String| ServerError::invalid(wrong, "name one of them"))
}

/// The tools with which a model opens its own window
///
/// They are expand, find, read, pin and hide. Offer them to the model beside your own, and pass its calls of them to
/// `POST …/tools/call`. The bytes never change while the server runs.
#[utoipa::path(get, path = "/v1/sessions/{session}/tools", tag = "conversation", params(ToolsQuery),
    responses((status = 200, description = "The tools", body = ToolsObject)))]
async fn tools(_: Held, Query(query): Query<ToolsQuery>) -> Result<Json<ToolsObject>> {
    let tools = form(query.format.as_deref().unwrap_or("openai"))?.unfold_tools();
    let tools = RawValue::from_string(tools).map_err(|error| {
        ServerError::unavailable(format!("the tools cannot be written: {error}"), "report this bug")
    })?;
    Ok(Json(ToolsObject { tools }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CallsMade {
    /// openai, responses, anthropic or gemini
    format: String,
    /// The calls as the model made them: entries of `tool_calls`, `function_call` items, `tool_use` blocks or
    /// `functionCall` parts
    calls: Vec<Value>,
    /// The token budget of the windows that the model is sent; answers are measured by it
    budget: Option<u64>,
    /// The model, whose tokenizer counts if it is public
    model: Option<String>,
}

/// What answers calls.
#[derive(Debug, Serialize, ToSchema)]
struct AnsweredObject {
    /// The messages that answer the calls, as the model's provider takes them
    messages: Vec<Value>,
}

/// Make calls of these tools
///
/// The answer is what the next request to the model holds behind its calls. A call that fails is answered as well:
/// the model reads why. Append calls and answers to the session as you do those of your own tools.
#[utoipa::path(post, path = "/v1/sessions/{session}/tools/call", tag = "conversation",
    request_body = CallsMade,
    responses((status = 200, description = "The answers", body = AnsweredObject)))]
async fn call(held: Held, Body(made): Body<CallsMade>) -> Result<Json<AnsweredObject>> {
    let CallsMade { format, calls, budget, model } = made;
    let form = form(&format)?;
    let calls = Calls::read(form, &calls).map_err(|wrong| {
        ServerError::invalid(wrong, "send the calls as the model's provider wrote them")
    })?;
    // The window in which the pages stand is the one of the model's provider.
    let format: Format = form.as_str().parse()?;
    let options = options(&held, format, budget, model.as_deref()).await?;
    let tools = HostTools::unfold(held.session, options, held.host.lazy_index());
    Ok(Json(AnsweredObject { messages: calls.answer(&tools).await }))
}
