//! Windows: what the model sees of the caller's view. Reading one writes nothing.

use std::sync::Arc;

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contexture_agents::{
    shares::{self, ShareSettings},
    wire::{AccountObject, AccountedObject, LedgerObject},
};
use contexture_core::{Format, Level, Principal, Revision, Session, WindowOptions};
use contexture_tokens::counter_for;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{held::Held, query::Query, schema};
use crate::{Host, Result};

/// The tokenizer when no model is named.
pub(super) const TOKENIZER: &str = "o200k_base";

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(window))
}

/// Returns the options of a window, with the shares that the project sets for the caller.
pub(super) async fn options(
    held: &Held,
    format: Format,
    budget: Option<u64>,
    model: Option<&str>,
) -> Result<WindowOptions> {
    let mut options = WindowOptions::new(format, counter_for(model.unwrap_or(TOKENIZER)));
    options.model = model.map(str::to_owned);
    let project = held.host.project().await?;
    let agent = match held.session.principal() {
        Principal::Agent(view) => project.catalog.definition(&view.agent)?,
        Principal::System | Principal::User(_) => None,
    };
    let resolved = shares::resolve(&ShareSettings::default(), agent, &project.settings)?;
    options.shares = resolved.shares();
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
            return Ok((tag, axum::Json(accounted)).into_response());
        }
    };
    Ok((tag, [(header::CONTENT_TYPE, "application/json")], body).into_response())
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
