//! `contexture store scrub`

use contexture_agents::wire::ScrubbedObject;
use contexture_core::storage::Quarantine;

use super::traces;
use crate::{
    commands::Status, error::Result, printer::Printer, sanitize, settings::Settings, store::Access,
};

/// Wipe the traces that purges and removals left in the store's own files
///
/// A purge does this by itself, unless it would block everybody for long (a file over 256 MiB, the tables
/// of a database server), there is no room for it, or somebody is reading an earlier state. The store is
/// rewritten, which takes as much time and room as copying it.
///
/// Data that repairs set aside because it could not be read may hold a purged text too. It is left alone
/// and reported unless --quarantine is given.
///
/// The exit code is 3 if traces remain; the output says where and until when. Backups, git's history, the
/// log and replicas of a database server and old versions in a bucket are out of its reach.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture store scrub")]
pub(crate) struct Args {
    /// Also destroy, for good, data that repairs set aside because it could not be read
    #[arg(long)]
    quarantine: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let storage = settings.store.open(Access::Existing).await?;
    let quarantine = if args.quarantine { Quarantine::Empty } else { Quarantine::Keep };
    let stored = storage.scrub(quarantine).await?;
    let traces = [stored, crate::commands::find::forget(settings, None).await?].concat();
    if printer.is_json() {
        printer.json(&ScrubbedObject { traces: traces.clone() })?;
        return Ok(traces::status(&traces));
    }
    if traces.is_empty() {
        let store = settings.store.to_string();
        let store = sanitize::line(&store);
        printer.line(format_args!("no traces of purged or removed data remain in {store}"))?;
    }
    for trace in &traces {
        let label = printer.paint().failure("traces remain:");
        printer.line(format_args!("{label} in {}", sanitize::line(&trace.to_string())))?;
    }
    Ok(traces::status(&traces))
}
