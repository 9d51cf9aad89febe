//! `contexture session remove`

use contexture_agents::wire::RemovedObject;
use contexture_core::{Error, SessionId};

use crate::{
    commands::{Status, store::traces},
    error::Result,
    printer::Printer,
    settings::Settings,
    store::Access,
};

/// Destroy a session with all it holds, for good
///
/// There is no undo for this one: export it first if in doubt. The exit code is 3 when bytes of it may
/// still be found in the store's own files: `store scrub` finishes it (with --quarantine where repairs set
/// something aside, which may hold them too).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture session create scratch && contexture session remove scratch")]
pub(crate) struct Args {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session: SessionId = args.name.parse()?;
    let storage = settings.store.open(Access::Existing).await?;
    if !storage.remove_session(&session).await? {
        return Err(Error::SessionNotFound { session }.into());
    }
    let left = storage.traces().await?;
    if printer.is_json() {
        printer.json(&RemovedObject { removed: session.to_string(), traces: left.clone() })?;
        return Ok(traces::status(&left));
    }
    let how = if left.is_empty() { "removed for good" } else { "removed" };
    printer.line(format_args!("session {session} {how}"))?;
    traces::tell(&left, printer)
}
