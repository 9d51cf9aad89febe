//! `contexture session remove`

use contexture_agents::wire::RemovedObject;
use contexture_core::{Error, SessionId, storage::SessionInfo};

use crate::{
    commands::{Status, store::traces},
    error::{Result, Stop},
    lines,
    printer::Printer,
    settings::Settings,
    store::Access,
};

/// Destroy a session with all it holds, for good
///
/// There is no undo for this one: export it first if in doubt. In a terminal it asks first; a script says
/// --yes. The exit code is 3 when bytes of it may
/// still be found in the store's own files: `store scrub` finishes it (with --quarantine where repairs set
/// something aside, which may hold them too).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture session create scratch && contexture session remove scratch --yes")]
pub(crate) struct Args {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session: SessionId = args.name.parse()?;
    let storage = settings.store.open(Access::Existing).await?;
    let Some(info) = storage.session(&session).await? else {
        return Err(Error::SessionNotFound { session }.into());
    };
    if !args.yes && !confirmed(&info, printer)? {
        printer.note("nothing was removed")?;
        return Ok(Status::NotOk);
    }
    printer.progress("removing the session");
    if !storage.remove_session(&session).await? {
        return Err(Error::SessionNotFound { session }.into());
    }
    let traces = storage.traces().await?;
    if printer.is_json() {
        printer.json(&RemovedObject { removed: session.to_string(), traces: traces.clone() })?;
        return Ok(traces::status(&traces));
    }
    let how = if traces.is_empty() { "removed for good" } else { "removed" };
    printer.line(format_args!("session {session} {how}"))?;
    traces::report(&traces, printer)
}

/// Asks whether the session is to be destroyed; where nobody can be asked it is not.
fn confirmed(info: &SessionInfo, printer: &mut Printer<'_>) -> Result<bool> {
    let (session, revision) = (&info.id, info.revision);
    if !printer.can_ask() {
        return Err(Stop::invalid(
            format!("session '{session}' was not removed: there is nobody here to ask"),
            format!("`contexture session remove {session} --yes` destroys it for good"),
        ));
    }
    let changed = lines::time(info.updated_at);
    printer.asks(&format!(
        "Destroy session '{session}' for good, at revision {revision}, last changed {changed}?"
    ))
}
