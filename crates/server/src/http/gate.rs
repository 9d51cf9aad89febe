//! What every request passes before it reaches a handler, and every answer on its way out.
//!
//! A request gets an id, which its answer and its line in the log carry. It is refused if it names a host
//! that is not this server's, comes from a page of another site, or finds the server busy. A panic in a
//! handler becomes an answer.

use std::{
    panic::AssertUnwindSafe,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    Router,
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
};
use contexture_core::ErrorKind;
use futures::FutureExt as _;
use tokio::sync::Semaphore;

use crate::{Host, HostNames, Result, ServeSettings, ServerError};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What every request passes.
struct Gate {
    host: Arc<Host>,
    names: HostNames,
    requests: Semaphore,
    /// What tells the ids of this process from those of others.
    process: u32,
    numbers: AtomicU64,
}

/// Puts the gate before all routes.
pub(super) fn guard(
    routes: Router<Arc<Host>>,
    host: &Arc<Host>,
    settings: &ServeSettings,
) -> Router<Arc<Host>> {
    let gate = Arc::new(Gate {
        host: host.clone(),
        names: settings.names.clone(),
        requests: Semaphore::new(settings.limits.requests),
        process: getrandom::u32().unwrap_or_default(),
        numbers: AtomicU64::new(1),
    });
    routes.layer(middleware::from_fn_with_state(gate, pass))
}

async fn pass(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (begun, _counted) = (Instant::now(), gate.host.counters().request());
    let number = gate.numbers.fetch_add(1, Ordering::Relaxed);
    let id = format!("{:08x}-{number}", gate.process);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "unknown".to_owned());
    let mut response = match gate.admit(request.headers()) {
        Err(refused) => refused.into_response(),
        Ok(()) => gate.answer(request, next, &id).await,
    };
    let (status, took) = (response.status().as_u16(), begun.elapsed());
    let known = if is_usual(method.as_str()) { method.as_str() } else { "other" };
    gate.host.counters().answered(known, &route, status, took);
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    tracing::info!(request = %id, method = known, route, status, micros, "answered");
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    // Answers are about private texts, and depend on the token.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("private, no-cache"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl Gate {
    /// Refuses requests that were meant for another host, or made by a page of another site.
    fn admit(&self, headers: &HeaderMap) -> Result<()> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(header::HOST).unwrap_or_default();
        if !self.names.admit(host) {
            return Err(ServerError::denied(
                "permission denied: the request names another host than this server",
                "use the address that `contexture serve` prints, or admit the name with --host-name",
            ));
        }
        let Some(origin) = text(header::ORIGIN) else { return Ok(()) };
        let from = origin.split_once("://").map_or(origin, |(_, authority)| authority);
        match from.eq_ignore_ascii_case(host) {
            true => Ok(()),
            false => Err(ServerError::denied(
                "permission denied: the request comes from a page of another site",
                "send it from a program, or from a page of this server",
            )),
        }
    }

    async fn answer(&self, request: Request, next: Next, id: &str) -> Response {
        let Ok(_turn) = self.requests.try_acquire() else {
            let hint = "wait a moment and send it again";
            return ServerError::unavailable("the server is busy", hint)
                .retry_after(1)
                .into_response();
        };
        match AssertUnwindSafe(next.run(request)).catch_unwind().await {
            Ok(response) => response,
            Err(_) => {
                tracing::error!(request = %id, "a handler panicked");
                let message =
                    format!("request {id} failed for a reason that the server did not expect");
                let hint = "this is a bug: please report it with the server's log";
                ServerError::of_kind(ErrorKind::Corrupt, message, hint)
                    .with_status(StatusCode::INTERNAL_SERVER_ERROR)
                    .into_response()
            }
        }
    }
}

/// Returns whether a method is one that figures are kept of: a client may send any word.
fn is_usual(method: &str) -> bool {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].contains(&method)
}
