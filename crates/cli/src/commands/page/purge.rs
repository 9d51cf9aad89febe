//! `contexture page purge`

use contexture_agents::{
    Team,
    team::{InterruptedRuns, StoredRun},
    wire::PurgedObject,
};
use contexture_core::{Edit, Principal};

use crate::{
    commands::{Status, store::traces},
    context,
    error::Result,
    lines,
    printer::Printer,
    process,
    settings::Settings,
};

/// Destroy a page and everything below it for good; `remove` only archives
///
/// The text is deleted from the page, the archive, the history and the ledgers, and no undo brings it back.
/// A page whose creation was undone can be named by its number, and is purged along with the page it was
/// under. Agents may never purge.
///
/// A purge is refused while a run has not ended: the run's record may quote the text, and resuming the run
/// would bring it back.
///
/// The exit code is 3 if somebody who reads the store's own files may still find the text. The output says
/// where and until when, and `store scrub` finishes the job (with --quarantine if repairs set something
/// aside, which may hold the text too). Backups, git's history, the log and replicas of a database server
/// and old versions in a bucket are out of its reach.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Secret && contexture page purge usr-1")]
pub(crate) struct Args {
    /// The page, such as usr-3: in the tree, in the archive, or one whose creation was undone
    #[arg(value_name = "INDEX")]
    pub(super) index: String,
    /// Also end interrupted runs, so that nobody can resume them
    #[arg(long)]
    give_up_runs: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let (system, session) = context::open_host(settings).await?;
    let page = session.index(&args.index)?;
    let (outcome, given_up) = match session.principal() {
        by @ (Principal::System | Principal::User(_)) => {
            let interrupted = match args.give_up_runs {
                true => InterruptedRuns::GiveUp,
                false => InterruptedRuns::Keep,
            };
            let now = session.now();
            let is_alive = |stored: &StoredRun| process::is_alive(stored, now);
            let purged = Team::new(system.clone()).purge(by, page, interrupted, is_alive).await?;
            (purged.outcome, purged.given_up)
        }
        Principal::Agent(_) => (session.apply(Edit::PurgePage(page)).await?, Vec::new()),
    };
    let indexed = crate::commands::find::forget(settings, Some(&session)).await?;
    let traces = [system.storage().traces().await?, indexed].concat();
    if printer.is_json() {
        printer.json(&PurgedObject {
            purged: outcome.pages,
            runs_given_up: given_up.iter().map(|run| run.record.key.to_string()).collect(),
            traces: traces.clone(),
        })?;
        return Ok(traces::status(&traces));
    }
    let pages = lines::indices(printer.paint(), &outcome.pages);
    let how = if traces.is_empty() { "purged for good" } else { "purged" };
    printer.line(format_args!("{how}: {pages}"))?;
    for stored in &given_up {
        let (number, agent) = (stored.run.number, &stored.run.agent);
        printer.line(format_args!("run {number} of agent '{agent}' was given up"))?;
    }
    traces::report(&traces, printer)
}
