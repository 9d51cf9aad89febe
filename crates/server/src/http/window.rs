//! Windows: what the model sees of the caller's view. Reading one writes nothing.

use std::sync::Arc;

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contexture_agents::wire::{
    AccountObject, AccountedObject, FoldObject, LedgerObject, LevelObject,
};
use contexture_core::{Format, Level, Revision, Session, WindowOptions, window::FoldReport};
use contexture_tokens::counter_for;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{body::Body, held::Held, path::Path, query::Query, schema};
pub(super) use crate::options::TOKENIZER;
use crate::{Host, Result, ServerError, options::window_options};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(window))
        .routes(routes!(sent))
        .routes(routes!(fold))
        .routes(routes!(level, switch_level))
}

/// Returns the options of a window, with the shares that the project sets for the caller.
pub(super) async fn options(
    held: &Held,
    format: Format,
    budget: Option<u64>,
    model: Option<&str>,
) -> Result<WindowOptions> {
    let options = window_options(&held.host, &held.session, format, model).await?;
    Ok(match budget {
        Some(budget) => options.budget(budget),
        None => options,
    })
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct WindowQuery {
    /// markdown, context, openai, responses, anthropic or gemini; markdown by default
    format: Option<String>,
    /// The token budget; by default the session's, otherwise capacities alone
    budget: Option<u64>,
    /// The model it is for, whose tokenizer counts if it is public
    model: Option<String>,
    /// Show nothing in more detail than full, summary or gist
    level: Option<String>,
    /// Whether to answer with where the tokens go as well
    account: bool,
}

/// The window: what the model sees of the caller's pages, within a budget
///
/// Nothing is written. A window over its budget is shown as the fold that is due would leave it. Markdown is
/// `{"content":…}`; the other formats are what each provider takes. With `If-None-Match`, a window that has not
/// changed is answered with 304 and not rendered.
#[utoipa::path(get, path = "/v1/sessions/{session}/window", tag = "window",
    params(WindowQuery,
        ("If-None-Match" = Option<String>, Header, description = "The ETag of the window that you have")),
    responses(
        (status = 200, description = "The window", body = schema::AnyWindow),
        (status = 304, description = "It has not changed")))]
async fn window(
    held: Held,
    Query(query): Query<WindowQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let format: Format = query.format.as_deref().unwrap_or("markdown").parse()?;
    let level: Option<Level> = query.level.as_deref().map(str::parse).transpose()?;
    let mut options = options(&held, format, query.budget, query.model.as_deref()).await?;
    options.level = level;
    let session = &held.session;
    let shown = |revision| tag(session, &options, query.account, revision);
    let known = headers.get(header::IF_NONE_MATCH).map(HeaderValue::as_bytes);
    let current = shown(session.revision());
    // The account also says what was sent and reported, which is no change of the state.
    if !query.account && known.is_some_and(|known| known == current.as_bytes()) {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, current)]).into_response());
    }
    let window = session.window(&options).await?;
    let tag = [(header::ETAG, shown(window.revision))];
    let object = AccountedObject::window(&window)?;
    let body = match query.account {
        false => object.get().to_owned(),
        true => {
            let ledger = session.ledger(format, 1).await?.pop();
            let account = AccountObject::of(session, &window, query.model.as_deref()).await?;
            let accounted = AccountedObject {
                window: object,
                account: Some(account),
                ledger: ledger.as_ref().map(LedgerObject::from),
            };
            return Ok((tag, Json(accounted)).into_response());
        }
    };
    Ok((tag, [(header::CONTENT_TYPE, "application/json")], body).into_response())
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct SentQuery {
    /// The format it was sent in; markdown by default
    format: Option<String>,
}

/// A window that was sent before, by its number or as `last`, with its record
///
/// A line replaces each page that is no longer in the view.
#[utoipa::path(get, path = "/v1/sessions/{session}/windows/{number}", tag = "window",
    params(SentQuery),
    responses((status = 200, description = "The window and its record", body = schema::SentWindow)))]
async fn sent(
    held: Held,
    Path((_, number)): Path<(String, String)>,
    Query(query): Query<SentQuery>,
) -> Result<Json<AccountedObject>> {
    let format: Format = query.format.as_deref().unwrap_or("markdown").parse()?;
    let session = &held.session;
    let number = match number.as_str() {
        // If none was sent, the error for window 1 says so.
        "last" => session.ledger(format, 1).await?.pop().map_or(1, |sent| sent.number),
        number => number.parse().map_err(|_| {
            ServerError::invalid("invalid number of a window", "name a number from 1, or 'last'")
        })?,
    };
    let options = options(&held, format, None, None).await?;
    let sent = session.sent_with_any(&options, number, [counter_for("cl100k_base")]).await?;
    let window = AccountedObject::window(&sent.window)?;
    let ledger = Some(LedgerObject::from(&sent.record));
    Ok(Json(AccountedObject { window, account: None, ledger }))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct FoldWanted {
    /// The token budget; by default the session's, otherwise capacities alone
    budget: Option<u64>,
    /// Whether to say what the fold would save and cost, and commit nothing
    preview: bool,
}

/// Fold the caller's window so that it fits its budget
///
/// Nothing is lost: expanding brings a page back, and undo brings all of them back.
#[utoipa::path(post, path = "/v1/sessions/{session}/fold", tag = "window",
    request_body = FoldWanted,
    responses((status = 200, description = "What it saved and cost", body = schema::Fold)))]
async fn fold(held: Held, Body(wanted): Body<FoldWanted>) -> Result<Json<FoldObject>> {
    let options = options(&held, Format::Markdown, wanted.budget, None).await?;
    let session = &held.session;
    let fold = match wanted.preview {
        true => {
            let report = session.fold_preview(&options).await?;
            report.map(|report| FoldObject { revision: None, report })
        }
        false => {
            let fold = session.fold(&options).await?;
            fold.map(|fold| FoldObject { revision: fold.revision, report: fold.report })
        }
    };
    if let Some(fold) = fold {
        return Ok(Json(fold));
    }
    let tokens = session.window(&options).await?.account.tokens;
    let report =
        FoldReport { tokens_before: tokens, tokens_after: tokens, ..FoldReport::default() };
    Ok(Json(FoldObject { revision: None, report }))
}

/// The level that the caller's view is switched to
#[utoipa::path(get, path = "/v1/sessions/{session}/level", tag = "window",
    responses((status = 200, description = "The level", body = schema::SwitchedLevel)))]
async fn level(held: Held) -> Result<Json<LevelObject>> {
    let level = held.session.reader().level_switched().await?;
    Ok(Json(LevelObject { level, revision: None }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LevelWanted {
    /// full, summary or gist
    level: String,
}

/// Switch the caller's view to a level: nothing stands in more detail until the next switch
#[utoipa::path(put, path = "/v1/sessions/{session}/level", tag = "window",
    request_body = LevelWanted,
    responses((status = 200, description = "The level", body = schema::SwitchedLevel)))]
async fn switch_level(held: Held, Body(wanted): Body<LevelWanted>) -> Result<Json<LevelObject>> {
    let (session, level): (_, Level) = (&held.session, wanted.level.parse()?);
    let revision = match session.reader().level_switched().await? == level {
        true => None,
        false => Some(session.switch_level(level).await?.revision),
    };
    Ok(Json(LevelObject { level, revision }))
}

/// Returns a name for a window that is another whenever its bytes may be: it depends on the state, on the view
/// with its filter, and on all that was asked for.
fn tag(session: &Session, options: &WindowOptions, account: bool, revision: Revision) -> String {
    let mut hasher = blake3::Hasher::new();
    let WindowOptions { shares, .. } = options;
    let asked = format!("{:?}\n{options:?}\n{shares:?}\n{account}\n", session.principal());
    hasher.update(asked.as_bytes());
    hasher.update(session.id().as_str().as_bytes());
    hasher.update(&revision.0.to_le_bytes());
    format!("\"{}\"", &hasher.finalize().to_hex()[..32])
}
