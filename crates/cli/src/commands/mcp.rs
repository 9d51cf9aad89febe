//! `contexture mcp`

use std::sync::Arc;

use contexture_agents::setup;
use contexture_core::{Actor, Engine, ErrorKind};
use contexture_server::{Access, Host, OwnerToken, serve_mcp};

use super::{Status, serve};
use crate::{
    error::{Result, Stop},
    log,
    printer::Printer,
    settings::Settings,
    store,
};

/// Serve MCP over standard input and output
///
/// For clients such as Claude Code, Codex, Gemini CLI and Cursor, which start this command themselves: their
/// models then find, read and write the pages of a session. Calls name a session, or take the one of --session,
/// which is created if it does not exist. With --as, everything happens as that agent in that session, through
/// its view. `contexture serve` offers the same over HTTP, at /mcp.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture mcp </dev/null
  contexture --as fixer --session work mcp </dev/null")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, settings: &Settings, printer: &mut Printer<'_>) -> Result<Status> {
    log::start_by_default();
    let runtime = serve::threads().worker_threads(2).build();
    let runtime = runtime.map_err(|error| {
        let message = format!("cannot start the threads that answer requests: {error}");
        Stop::failed(ErrorKind::Unavailable, message, "try again when the machine is less busy")
    })?;
    // What stands in the way of the protocol must not come from here.
    printer.flush()?;
    let served = runtime.block_on(serve(settings));
    // A thread may wait for input that never comes.
    runtime.shutdown_background();
    served.map(|()| Status::Done)
}

async fn serve(settings: &Settings) -> Result<()> {
    let storage = settings.store.open(store::Access::Create).await?;
    // Nobody connects with a token here, so none is kept.
    let parts = serve::parts(storage, settings, OwnerToken::random()?, serve::MEMORY);
    let (engine, session) = (parts.engine.clone(), settings.session.clone());
    begin(&engine, settings).await?;
    let host = Arc::new(Host::new(parts));
    // Broken settings are reported now, not by the first call.
    host.project().await?;
    let access = match &settings.caller {
        Actor::System => Access::owner(session),
        actor => Access::confined(session, actor.clone()),
    };
    Ok(serve_mcp(host, access).await?)
}

/// Creates the session if it does not exist, so that a client has one to begin with.
async fn begin(engine: &Engine, settings: &Settings) -> Result<()> {
    match engine.open(&settings.session).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            setup::prepare(engine, &settings.session, settings.system_side(), None).await?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
