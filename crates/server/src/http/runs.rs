//! Agents' runs: started, watched as events, resumed, stopped.
//!
//! A run is not the request's: it goes on when the client has gone, and its record is in the session.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json,
    extract::FromRequestParts,
    http::{header, request::Parts},
    response::{
        IntoResponse, Response, Sse,
        sse::{Event, KeepAlive},
    },
};
use contexture_agents::{runner::Watcher, wire::ResponseObject};
use contexture_core::window::FoldReport;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    agents::{mode, system},
    body::Body,
    held::Held,
    path::Path,
    schema,
};
use crate::{Host, Result, RunDone, RunWanted, ServerError};

/// How many events wait for a client; what comes beyond them is left out, and the answer has it all.
const WAITING: usize = 1_024;

/// How often a stream in which nothing happens says that it lives.
const ALIVE: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new().routes(routes!(start)).routes(routes!(resume)).routes(routes!(stop))
}

/// Whether the client watches a run, or waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Answer,
    Events,
}

impl<S: Sync> FromRequestParts<S> for Wish {
    type Rejection = ServerError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        let accepted = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let events = accepted.is_some_and(|kinds| kinds.contains("text/event-stream"));
        Ok(if events { Wish::Events } else { Wish::Answer })
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunAsked {
    /// What the agent is asked
    prompt: String,
    /// How to run it
    #[serde(default)]
    options: RunOptions,
}

/// How to run an agent.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct RunOptions {
    /// Whose history it sees, for this run: isolated, shared or fork
    context: Option<String>,
    /// The agent whose view a fork begins as
    parent: Option<String>,
    /// The model to use
    model: Option<String>,
    /// The token budget of a window
    budget: Option<u64>,
    /// The most requests to send to the model
    max_turns: Option<u32>,
    /// Stop when the run's requests and answers have used this many tokens
    token_limit: Option<u64>,
    /// The most tokens an answer may have
    max_tokens: Option<u64>,
    /// Whether calls that change something wait until somebody approves them
    ask: bool,
}

impl RunOptions {
    fn wanted(self, agent: String, prompt: Option<String>) -> Result<RunWanted> {
        let Self { context, parent, model, budget, max_turns, token_limit, max_tokens, ask } = self;
        let context = context.as_deref().map(mode).transpose()?;
        let parent = parent.as_deref().map(str::parse).transpose()?;
        Ok(RunWanted {
            agent,
            prompt,
            context,
            parent,
            model,
            budget,
            max_turns,
            token_limit,
            max_tokens,
            ask,
        })
    }
}

/// Run an agent on a request
///
/// The answer comes when the run has ended; with `Accept: text/event-stream`, events tell what happens, and the
/// last one, `done` or `error`, has the answer. The run goes on when the client goes.
#[utoipa::path(post, path = "/v1/sessions/{session}/agents/{agent}/runs", tag = "agents",
    request_body = RunAsked,
    responses((status = 200, description = "The answer, and what it took",
        content((schema::AnyObject = "application/json"), (String = "text/event-stream")))))]
async fn start(
    held: Held,
    Path((_, agent)): Path<(String, String)>,
    wish: Wish,
    Body(asked): Body<RunAsked>,
) -> Result<Response> {
    let wanted = asked.options.wanted(agent, Some(asked.prompt))?;
    drive(held, wanted, wish).await
}

/// Resume an agent's interrupted run, or one that waited for approvals
#[utoipa::path(post, path = "/v1/sessions/{session}/agents/{agent}/resume", tag = "agents",
    request_body = RunOptions,
    responses((status = 200, description = "The answer, and what it took",
        content((schema::AnyObject = "application/json"), (String = "text/event-stream")))))]
async fn resume(
    held: Held,
    Path((_, agent)): Path<(String, String)>,
    wish: Wish,
    Body(options): Body<RunOptions>,
) -> Result<Response> {
    let wanted = options.wanted(agent, None)?;
    drive(held, wanted, wish).await
}

/// Stop the agent's run, if this process drives it: what there is is kept
#[utoipa::path(post, path = "/v1/sessions/{session}/agents/{agent}/stop", tag = "agents",
    responses((status = 200, description = "It stops", body = schema::Stopped)))]
async fn stop(held: Held, Path((_, agent)): Path<(String, String)>) -> Result<Json<Value>> {
    system(&held).await?;
    match held.host.driven().stop(held.session.id(), &agent) {
        true => Ok(Json(json!({ "stopping": agent }))),
        false => Err(ServerError::not_found(
            "this process drives no run of that agent in this session",
            "GET /agents/AGENT/context shows its runs; another process may drive one",
        )),
    }
}

/// Drives a run on a thread of its own, and answers with what it comes to.
async fn drive(held: Held, wanted: RunWanted, wish: Wish) -> Result<Response> {
    let system = system(&held).await?;
    // A name that does not exist is reported before anything begins.
    held.host.project().await?.catalog.find(&wanted.agent)?;
    let (driving, signal) = held.host.driven().begin(held.session.id(), &wanted.agent)?;
    let (events, watched) = mpsc::channel(WAITING);
    let (ended, end) = oneshot::channel();
    let host = held.host.clone();
    tokio::task::spawn_blocking(move || {
        let mut watcher = Telling { events };
        let done = host.runs().run(system, wanted, &mut watcher, signal);
        drop(driving);
        if let Err(error) = &done {
            tracing::info!(%error, "a run of an agent failed");
        }
        // The client may have gone.
        let _ = ended.send(done);
    });
    match wish {
        Wish::Events => Ok(told(watched, end).into_response()),
        Wish::Answer => {
            drop(watched);
            let done = end.await.unwrap_or_else(|_| Err(lost()))?;
            Ok(Json(object(&done)).into_response())
        }
    }
}

fn object(done: &RunDone) -> Value {
    let RunDone { response, warnings } = done;
    let object = ResponseObject { response, warnings: warnings.clone() };
    serde_json::to_value(object).unwrap_or_default()
}

fn lost() -> ServerError {
    ServerError::unavailable(
        "the run ended unexpectedly",
        "resume it with POST /agents/AGENT/resume",
    )
}

type Told = (mpsc::Receiver<(&'static str, Value)>, Option<oneshot::Receiver<Result<RunDone>>>);

/// Writes what happens in a run as events, the answer last.
fn told(
    watched: mpsc::Receiver<(&'static str, Value)>,
    end: oneshot::Receiver<Result<RunDone>>,
) -> Sse<impl futures::Stream<Item = Result<Event, Infallible>>> {
    let state: Told = (watched, Some(end));
    let stream = futures::stream::unfold(state, |(mut watched, mut end)| async move {
        let (kind, data) = match watched.recv().await {
            Some(told) => told,
            None => match end.take()?.await.unwrap_or_else(|_| Err(lost())) {
                Ok(done) => ("done", object(&done)),
                Err(error) => ("error", serde_json::to_value(error.object()).unwrap_or_default()),
            },
        };
        Some((Ok(Event::default().event(kind).data(data.to_string())), (watched, end)))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE))
}

/// Tells a client what happens in a run.
struct Telling {
    events: mpsc::Sender<(&'static str, Value)>,
}

impl Telling {
    fn tell(&self, kind: &'static str, data: Value) {
        // A run does not wait for a client that does not read.
        let _ = self.events.try_send((kind, data));
    }
}

impl Watcher for Telling {
    fn text(&mut self, piece: &str) {
        self.tell("text", json!({ "text": piece }));
    }

    fn thinking(&mut self, piece: &str) {
        self.tell("thinking", json!({ "text": piece }));
    }

    fn tool_call(&mut self, name: &str, arguments: &str) {
        self.tell("tool-call", json!({ "tool": name, "arguments": arguments }));
    }

    fn tool_result(&mut self, name: &str, result: &str, error: bool) {
        self.tell("tool-result", json!({ "tool": name, "result": result, "error": error }));
    }

    fn retry(&mut self, reason: &str, wait: Duration) {
        self.tell("retry", json!({ "reason": reason, "seconds": wait.as_secs() }));
    }

    fn folded(&mut self, report: &FoldReport) {
        self.tell("folded", serde_json::to_value(report).unwrap_or_default());
    }

    fn asked(&mut self, tokens: u64, budget: u64, cached: u64) {
        self.tell("asked", json!({ "tokens": tokens, "budget": budget, "cached": cached }));
    }

    fn notice(&mut self, text: &str) {
        self.tell("notice", json!({ "text": text }));
    }
}
