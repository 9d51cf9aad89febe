//! The loop of a host that calls the model itself: append what was said, ask for the next request, report
//! what it took.

use std::sync::Arc;

use axum::{Json, http::HeaderMap};
use contexture_agents::{
    tools::context::CallForm,
    wire::{RequestObject, TurnObject},
};
use contexture_core::{
    AppendKey, Conversation, Format, Level, Message, Usage, WindowOptions, message::parse_messages,
};
use contexture_tokens::counter_for;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{body::Body, held::Held, schema, window::options};
use crate::{Host, Result, ServerError};

/// The header that makes an append safe to be sent again.
const KEY: &str = "idempotency-key";

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(append)).routes(routes!(request)).routes(routes!(report))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Append {
    /// OpenAI- or Anthropic-style messages
    #[schema(value_type = Vec<serde_json::Value>)]
    messages: Box<RawValue>,
}

/// Write what was said
///
/// User messages begin turns, what follows continues them. The last assistant message may have calls without
/// results; tool messages that come first answer the calls that are open. So a host can send everything as it
/// gets it. With an `Idempotency-Key`, what is sent again is there once.
#[utoipa::path(post, path = "/v1/sessions/{session}/append", tag = "conversation",
    request_body = Append,
    params(("Idempotency-Key" = Option<String>, Header, description = "A key of your choice, 1 to 200 characters")),
    responses((status = 200, description = "The pages made or extended", body = schema::Turn)))]
async fn append(
    held: Held,
    headers: HeaderMap,
    Body(body): Body<Append>,
) -> Result<Json<TurnObject>> {
    let messages = messages(&body.messages)?;
    let options = WindowOptions::new(Format::Markdown, counter_for(super::window::TOKENIZER));
    let conversation = Conversation::new(held.session, options);
    let pages = match key(&headers)? {
        Some(key) => conversation.append_keyed(messages, key).await?,
        None => conversation.append(messages).await?,
    };
    Ok(Json(TurnObject { pages }))
}

/// Reads messages; none is not enough.
pub(super) fn messages(raw: &RawValue) -> Result<Vec<Message>> {
    let messages = parse_messages(raw.get().as_bytes())?;
    match messages.is_empty() {
        true => Err(ServerError::invalid("there are no messages", "send at least one")),
        false => Ok(messages),
    }
}

/// Returns the key under which a request appends.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<AppendKey>> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    let text = key.to_str().map_err(|_| {
        ServerError::invalid("the Idempotency-Key is not plain text", "use letters and digits")
    })?;
    Ok(Some(text.parse()?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RequestWanted {
    /// markdown, context, openai, responses, anthropic or gemini
    format: String,
    /// The token budget, as the model counts; by default the session's
    budget: Option<u64>,
    /// The model it is for: its tokenizer counts if it is public, and its reports correct the counting
    model: Option<String>,
    /// Show nothing in more detail than full, summary or gist
    level: Option<String>,
    /// The tools that the model is offered, as they are sent: they are counted as block 0
    #[schema(value_type = Option<serde_json::Value>)]
    tools: Option<Box<RawValue>>,
}

/// The next request to the model
///
/// The fold that is due is made, and the window is recorded as sent: report its usage under its number.
#[utoipa::path(post, path = "/v1/sessions/{session}/window", tag = "conversation",
    request_body = RequestWanted,
    responses((status = 200, description = "The window, its number and what it takes", body = schema::ModelRequest)))]
async fn request(held: Held, Body(wanted): Body<RequestWanted>) -> Result<Json<RequestObject>> {
    let format: Format = wanted.format.parse()?;
    let level: Option<Level> = wanted.level.as_deref().map(str::parse).transpose()?;
    let mut options = options(&held, format, wanted.budget, wanted.model.as_deref()).await?;
    options.level = level;
    if let Some(tools) = &wanted.tools {
        let head = tools.get();
        let tokens = options.counter.count(head).0;
        options = options.head(head.as_bytes(), tokens);
        // A model that can open pages is told how; any other is told to ask.
        options.explain = CallForm::explained(head).or(options.explain);
    }
    let request = Conversation::new(held.session, options).request().await?;
    Ok(Json(RequestObject::new(format, request)?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Report {
    /// The format of the window
    format: String,
    /// Its number
    number: u64,
    /// What the provider charged
    usage: UsageReported,
}

/// What a provider charged for a request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct UsageReported {
    /// All tokens of the request, those read from the cache included
    input: u64,
    /// Those read from the cache
    #[serde(default)]
    cached: u64,
    /// Those written to the cache
    #[serde(default)]
    written: u64,
    /// Those of the answer
    #[serde(default)]
    output: u64,
    /// The model that answered
    model: Option<String>,
}

/// That a report was taken.
#[derive(Debug, Serialize, ToSchema)]
struct ReportedObject {
    /// The number of the window.
    reported: u64,
}

/// Report what the provider charged for a window that was sent
#[utoipa::path(post, path = "/v1/sessions/{session}/report", tag = "conversation",
    request_body = Report,
    responses((status = 200, description = "It was noted", body = ReportedObject)))]
async fn report(held: Held, Body(report): Body<Report>) -> Result<Json<ReportedObject>> {
    let format: Format = report.format.parse()?;
    let UsageReported { input, cached, written, output, model } = report.usage;
    let usage = Usage { input, cached, written, output, model };
    held.session.report_usage(format, report.number, &usage).await?;
    Ok(Json(ReportedObject { reported: report.number }))
}
