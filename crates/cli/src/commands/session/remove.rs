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

/// Destroy a session and everything in it, for good
///
/// This cannot be undone: export the session first if in doubt. In a terminal the command asks first; in
/// a script, add --yes. The exit code is 3 if bytes of the session may still be found in the store's own
/// files: `store scrub` then finishes the job (with --quarantine if repairs set something aside, which
/// may hold them too).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture session create scratch && contexture session remove scratch --yes")]
pub(crate) struct Args {
    /// Its name
    #[arg(value_name = "NAME")]
    name: String,
    /// Do not ask for confirmation
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
    let indexed = crate::commands::find::forget(settings, None).await?;
    let traces = [storage.traces().await?, indexed].concat();
    if printer.is_json() {
        printer.json(&RemovedObject { removed: session.to_string(), traces: traces.clone() })?;
        return Ok(traces::status(&traces));
    }
    let how = if traces.is_empty() { "removed for good" } else { "removed" };
    printer.line(format_args!("session {session} {how}"))?;
    traces::report(&traces, printer)
}

/// Asks whether to destroy the session; if nobody can be asked, it is an error.
fn confirmed(info: &SessionInfo, printer: &mut Printer<'_>) -> Result<bool> {
    let (session, revision) = (&info.id, info.revision);
    if !printer.can_ask() {
        return Err(Stop::invalid(
            format!("session '{session}' was not removed: cannot ask for confirmation here"),
            format!("run `contexture session remove {session} --yes` to destroy it for good"),
        ));
    }
    let changed = lines::time(info.updated_at);
    printer.asks(&format!(
        "Destroy session '{session}' (revision {revision}, last changed {changed}) for good?"
    ))
}
