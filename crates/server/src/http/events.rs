//! Events: the change feed of a session as its caller sees it, as server-sent events.
//!
//! ```text
//!  storage ──► what was missed ─┐
//!  this process ──► what comes ─┴─► what the caller may know ──► a bounded queue ──► the connection
//! ```
//!
//! An event's id is its revision, so a stream goes on at any process from its last id. Whose token it is, and
//! what its holder sees, is asked again for every event: a stream does not outlive its token.

mod feed;

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    http::HeaderMap,
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use contexture_agents::wire::ChangeObject;
use contexture_core::Revision;
use futures::Stream;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{held::Held, query::Query, schema};
use crate::{Host, Result, ServerError};

/// How many events wait for a connection. Behind them the feed waits, whose own queue is bounded, too.
const WAITING: usize = 64;

/// How often a stream in which nothing happens says that it lives.
const ALIVE: Duration = Duration::from_secs(15);

/// What a stream sends.
#[derive(Debug)]
pub(super) enum Sent {
    /// An edit.
    Change(ChangeObject),
    /// Events before this revision are not in the stream: read again what you keep.
    Reset(Revision),
    /// The stream ends, and why.
    End(&'static str),
}

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(events))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct EventsQuery {
    /// The revision behind which to begin; by default the present one. Last-Event-ID says the same
    after: Option<u64>,
}

/// Follow the session: an event for every edit that the caller may know of
///
/// Events are `change` with an object as data, `reset` where events are missing and what was kept must be read
/// again, and `end` before the server closes the stream. The id of an event is its revision: a stream that
/// begins with `Last-Event-ID` goes on behind it, at any process that serves the store.
#[utoipa::path(get, path = "/v1/sessions/{session}/events", tag = "history",
    params(EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that you have")),
    responses((status = 200, description = "The events", body = schema::Change, content_type = "text/event-stream")))]
async fn events(
    held: Held,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let after = match headers.get("last-event-id") {
        None => query.after,
        Some(id) => Some(id.to_str().ok().and_then(|id| id.parse().ok()).ok_or_else(|| {
            ServerError::invalid("Last-Event-ID is not a revision", "send the id of an event")
        })?),
    };
    // What is committed from here on is in the stream, also before it is fed.
    let after = after.map_or_else(|| held.session.revision(), Revision);
    let (queue, sent) = mpsc::channel(WAITING);
    tokio::spawn(feed::feed(held, after, queue));
    let stream = Sse::new(written(sent)).keep_alive(KeepAlive::new().interval(ALIVE));
    Ok(stream.into_response())
}

/// Writes what is sent as events.
fn written(sent: mpsc::Receiver<Sent>) -> impl Stream<Item = Result<Event, Infallible>> {
    futures::stream::unfold(sent, |mut sent| async move {
        let event = match sent.recv().await? {
            Sent::Change(change) => {
                let id = change.revision.to_string();
                Event::default().event("change").id(id).data(text(&change))
            }
            Sent::Reset(upto) => {
                let data = json!({ "revision": upto }).to_string();
                Event::default().event("reset").id(upto.to_string()).data(data)
            }
            Sent::End(why) => {
                let data = json!({ "why": why }).to_string();
                Event::default().event("end").data(data)
            }
        };
        Some((Ok(event), sent))
    })
}

fn text(change: &ChangeObject) -> String {
    serde_json::to_string(change).unwrap_or_else(|_| "{}".to_owned())
}
