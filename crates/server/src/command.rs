//! `/command`: what the command line of the same build uses to have a command run here.
//!
//! It is no part of the API: what is sent and answered belongs to the command line, which fills the seam
//! [`Commands`]. The route only sees to it that the owner asks, and proves to the owner who answers.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    routing::get,
};

use crate::{
    Host, Result, ServerError,
    http::{MOST_OF_A_DOCUMENT, bearer, pairs, read_body, unknown_route},
};

/// How long a question may be.
const LONGEST: usize = 64;

/// Runs commands for the command line.
pub trait Commands: Send + Sync {
    /// Runs a command and returns what it printed. It is called on a thread that may wait, within a runtime. An
    /// error means that nothing was run.
    fn run(&self, host: &Host, request: &[u8]) -> Result<Vec<u8>>;
}

/// Returns the route.
pub(crate) fn route() -> Router<Arc<Host>> {
    Router::new().route("/command", get(prove).post(run))
}

/// Proves that this server knows the owner's token, so that it can be sent here.
async fn prove(State(host): State<Arc<Host>>, request: Request) -> Result<String> {
    let asked = pairs(request.uri().query().unwrap_or_default())
        .find_map(|(name, value)| (name == "challenge").then_some(value));
    match asked.filter(|asked| !asked.is_empty() && asked.len() <= LONGEST) {
        Some(asked) => Ok(host.prove(&asked)),
        None => Err(ServerError::invalid(
            "there is no challenge of up to 64 characters",
            "this route is for the command line; GET /openapi.json describes the others",
        )),
    }
}

async fn run(State(host): State<Arc<Host>>, request: Request) -> Result<Vec<u8>> {
    let caller = host.authenticate(bearer(request.headers()), None).await?;
    host.admit(&caller)?;
    host.only_owner(&caller, "running commands")?;
    let Some(commands) = host.commands() else { return Err(unknown_route().await) };
    let body = read_body(request, MOST_OF_A_DOCUMENT).await?;
    // A command does its work although the connection may be gone.
    let running = tokio::task::spawn_blocking(move || commands.run(&host, &body));
    running.await.unwrap_or_else(|_| {
        tracing::error!("a command panicked");
        let hint = "this is a bug: please report it with the server's log";
        let message = "the command failed for a reason that the server did not expect";
        Err(ServerError::of_kind(contexture_core::ErrorKind::Corrupt, message, hint))
    })
}
