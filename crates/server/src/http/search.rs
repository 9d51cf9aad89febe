//! Search: what was said is found, brought back into the window, and acted on by its anchors.

use std::{collections::BTreeMap, sync::Arc};

use axum::Json;
use contexture_agents::wire::{AnswerObject, FoundObject, ListObject, MovedObject, RecallObject};
use contexture_core::{
    Actor, Format, Role, SegmentId, Session, Timestamp, Tokens,
    context::{Apps, PageAction, Pressed},
};
use contexture_search::{FindQuery, RecallQuery};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    body::Body,
    held::Held,
    list::{Listed, Shape, limit},
    pages::{ChangedObject, changed},
    query::Query,
    schema,
    window::options,
};
use crate::{Host, Result, ServerError};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(find)).routes(routes!(recall)).routes(routes!(press))
}

/// Where to look.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct Place {
    /// Only these segments
    r#in: Vec<String>,
    /// Only what these wrote: an agent's name, `system`, or user:NAME
    author: Vec<String>,
    /// Only messages of these roles: user, assistant, tool or system
    role: Vec<String>,
    /// Only calls of these tools and their results
    tool: Vec<String>,
    /// Only what was said at or after this time: a date, or a time with its zone
    since: Option<String>,
    /// Only what was said before this time
    until: Option<String>,
    /// Only the archive
    archived: bool,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct FindAsked {
    /// What to look for: words, a question, "a phrase", pre*
    q: String,
    /// Only these segments, with commas between them
    #[param(style = Form, explode = false)]
    r#in: Vec<String>,
    /// Only what these wrote: an agent's name, `system`, or user:NAME
    #[param(style = Form, explode = false)]
    author: Vec<String>,
    /// Only messages of these roles: user, assistant, tool or system
    #[param(style = Form, explode = false)]
    role: Vec<String>,
    /// Only calls of these tools and their results
    #[param(style = Form, explode = false)]
    tool: Vec<String>,
    /// Only what was said at or after this time: a date, or a time with its zone
    since: Option<String>,
    /// Only what was said before this time
    until: Option<String>,
    /// Only the archive
    archived: bool,
    /// How many at most, up to 1,000; 10 by default
    limit: Option<u16>,
    /// Whether to say what each score is made of
    explain: bool,
}

/// Find what was said, wherever it is now: in the window, folded, or in the archive
#[utoipa::path(get, path = "/v1/sessions/{session}/find", tag = "search", params(FindAsked),
    responses((status = 200, description = "The best first", body = schema::List<schema::Found>)))]
async fn find(
    held: Held,
    Query(asked): Query<FindAsked>,
    shape: Shape,
) -> Result<Listed<FoundObject>> {
    let FindAsked { q, r#in, author, role, tool, since, until, archived, limit: most, explain } =
        asked;
    let place = Place { r#in, author, role, tool, since, until, archived };
    let query = query(&held.session, q, place, limit(most.or(Some(10)))?)?;
    let items = found(&held, &query, explain).await?;
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

async fn found(held: &Held, query: &FindQuery, explain: bool) -> Result<Vec<FoundObject>> {
    let hits = held.host.index()?.find(&held.session, query).await?;
    let mut found = Vec::with_capacity(hits.len());
    for hit in &hits {
        found.push(FoundObject::of(&held.session, hit, explain).await?);
    }
    Ok(found)
}

/// Reads what to look for and where; a segment out of view does not exist.
fn query(session: &Session, text: String, place: Place, limit: usize) -> Result<FindQuery> {
    let within: Vec<SegmentId> = all(&place.r#in)?;
    for segment in &within {
        session.reader().segment(segment)?;
    }
    let by: Vec<Actor> = all(&place.author)?;
    let roles = place.role.iter().map(|role| self::role(role)).collect::<Result<Vec<Role>>>()?;
    Ok(FindQuery {
        text,
        within,
        by,
        roles,
        tools: place.tool,
        since: place.since.as_deref().map(time).transpose()?,
        until: place.until.as_deref().map(time).transpose()?,
        archived: place.archived.then_some(true),
        limit,
    })
}

fn all<T: std::str::FromStr<Err = contexture_core::Error>>(texts: &[String]) -> Result<Vec<T>> {
    let read = texts.iter().map(|text| text.parse());
    Ok(read.collect::<Result<_, contexture_core::Error>>()?)
}

fn role(text: &str) -> Result<Role> {
    Ok(match text {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        "system" => Role::System,
        _ => {
            return Err(ServerError::invalid(
                "invalid role",
                "use user, assistant, tool or system",
            ));
        }
    })
}

fn time(text: &str) -> Result<Timestamp> {
    // A day begins at midnight UTC.
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| {
        let hint = "use a date such as 2026-05-01, or a time with its zone";
        ServerError::invalid("invalid time", hint)
    })
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RecallWanted {
    /// What to look for
    query: String,
    /// Where to look
    #[serde(default)]
    place: Place,
    /// The most tokens that the pages may take together; 4,000 by default
    budget: Option<u64>,
    /// The most pages to bring back, up to 1,000; 10 by default
    limit: Option<u16>,
    /// The directory that pages from the archive go to, instead of their old places
    into: Option<String>,
    /// Whether to say what would be brought back, and change nothing
    #[serde(default)]
    preview: bool,
}

/// Bring what was said about something back into the caller's window, as one edit
#[utoipa::path(post, path = "/v1/sessions/{session}/recall", tag = "search",
    request_body = RecallWanted,
    responses((status = 200, description = "The pages, best first", body = schema::Recall)))]
async fn recall(held: Held, Body(wanted): Body<RecallWanted>) -> Result<Json<RecallObject>> {
    let session = &held.session;
    let budget = wanted.budget.unwrap_or(4_000);
    if budget == 0 {
        return Err(ServerError::invalid("the budget is 0", "give at least one token"));
    }
    let into = wanted.into.as_deref().map(|into| session.index(into)).transpose()?;
    let most = limit(wanted.limit.or(Some(10)))?;
    let find = query(session, wanted.query, wanted.place, most)?;
    let query = RecallQuery { find, budget: Tokens(budget), into };
    let options = options(&held, Format::Markdown, None, None).await?;
    let plan = held.host.index()?.recall(session, &query, &options).await?;
    let revision = match plan.edit().filter(|_| !wanted.preview) {
        Some(edit) => Some(session.apply(edit).await?.revision),
        None => None,
    };
    Ok(Json(RecallObject::of(session, &plan, revision).await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Press {
    /// The anchor, such as expand-usr-3
    key: String,
    /// The values that a form asks for
    #[serde(default)]
    params: BTreeMap<String, String>,
}

/// What came of an anchor.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum PressedObject {
    Changed(ChangedObject),
    Moved(MovedObject),
    Found(ListObject<FoundObject>),
    Answered(AnswerObject),
}

/// Perform the action of an anchor that the window shows
#[utoipa::path(post, path = "/v1/sessions/{session}/press", tag = "window",
    request_body = Press,
    responses((status = 200, description = "What came of it", body = schema::Pressed)))]
async fn press(held: Held, Body(press): Body<Press>) -> Result<Json<PressedObject>> {
    let session = &held.session;
    let pressed = session.press(&press.key, &press.params, &Apps::default()).await?;
    Ok(Json(match pressed {
        Pressed::Edited(outcome) => match PageAction::parse_key(&press.key) {
            Some((PageAction::Move, moved)) => {
                PressedObject::Moved(MovedObject::new(&moved, outcome))
            }
            _ => PressedObject::Changed(changed(session, &outcome).await?),
        },
        // The same search as `find`: it looks at what pages say, too.
        Pressed::Found(_) => {
            let text = press.params.get("query").cloned().unwrap_or_default();
            let items = found(&held, &FindQuery::new(text), false).await?;
            PressedObject::Found(ListObject { items, next: None })
        }
        Pressed::Answered(answer) => PressedObject::Answered(AnswerObject { answer }),
    }))
}
