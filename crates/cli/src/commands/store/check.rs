//! `contexture store check`

use contexture_agents::wire::CheckedObject;
use contexture_core::{
    Clock, ErrorKind, PageStorage,
    storage::check::{Losses, Repaired, accept_all, check_storage, repair_storage},
};
use contexture_storage::SystemClock;

use crate::{
    commands::Status,
    error::{Result, Stop},
    printer::Printer,
    sanitize,
    settings::Settings,
    store::Access,
};

/// Check the whole store: its file, its checksums and the tree of every session
///
/// Nothing is changed without --repair or --accept-losses. The exit code is 1 if something is wrong.
///
/// --repair rebuilds derived data, moves data that cannot be read into a quarantine inside the store, and
/// repairs the tree with edits that `history` shows: lost segments and pages are created again, orphans
/// move to their segment's root, and pages whose text is lost say so. A page whose file was edited by hand
/// keeps its present text, and the repair names it; a system prompt does not. A segment that is created
/// again is read-only for agents, except for their own (`agent-…`, `group-…`). A repair deletes nothing.
/// Afterwards the store is checked again. Make a copy of the store first.
///
/// Anything that may have been a system prompt stays a problem, and agents refuse to run, until it is
/// written again or --accept-losses accepts that they run without it: a prompt whose text is lost, a
/// segment whose kind is unknown, edits that are lost with everything they created.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture store check")]
pub(crate) struct Args {
    /// Repair what can be repaired
    #[arg(long)]
    repair: bool,
    /// Accept that system prompts are or may be lost: agents then run without them
    #[arg(long)]
    accept_losses: bool,
}

impl Args {
    /// Returns what to show while a person waits.
    pub(super) fn doing(&self) -> &'static str {
        if self.repair { "repairing and checking the store" } else { "checking the store" }
    }
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut repaired = Repaired::default();
    if args.repair {
        match settings.store.make_ready() {
            Ok(done) => repaired.done.extend(done),
            // Opening the store reports what is wrong.
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            Err(error) => return Err(error.into()),
        }
    }
    match settings.store.open(Access::Existing).await {
        Ok(storage) => look(&args, &*storage, &mut repaired).await?,
        // Damage is what this command looks for, so it is a result, not a failure.
        Err(Stop::Failed { kind: ErrorKind::Corrupt, message, .. }) => {
            repaired.problems.push(message);
        }
        Err(stop) => return Err(stop),
    }
    let Repaired { done, problems } = repaired;
    let may_change = args.repair || args.accept_losses;
    let checked =
        CheckedObject { ok: problems.is_empty(), repaired: may_change.then_some(done), problems };
    if printer.is_json() {
        printer.json(&checked)?;
        return Ok(if checked.ok { Status::Done } else { Status::NotOk });
    }
    for done in checked.repaired.iter().flatten() {
        let label = printer.paint().strong("repaired:");
        printer.line(format_args!("{label} {}", sanitize::line(done)))?;
    }
    if checked.ok {
        let store = sanitize::line(&settings.store.to_string());
        printer.line(format_args!("{store}: no problems found"))?;
    } else {
        for problem in &checked.problems {
            let label = printer.paint().failure("problem:");
            printer.line(format_args!("{label} {}", sanitize::line(problem)))?;
        }
        match args.repair {
            false => printer.tip(
                "`contexture store check --repair` repairs what it can; copy the store first",
            )?,
            true => printer.note(
                "`contexture page update INDEX --detail TEXT` writes a lost page again, `contexture store \
                 check --accept-losses` accepts the losses",
            )?,
        }
    }
    Ok(if checked.ok { Status::Done } else { Status::NotOk })
}

/// Makes the requested repairs, then finds the remaining problems.
async fn look(args: &Args, storage: &dyn PageStorage, repaired: &mut Repaired) -> Result<()> {
    let now = SystemClock.now();
    if args.repair {
        let losses = if args.accept_losses { Losses::Accept } else { Losses::Report };
        let more = repair_storage(storage, losses, now).await?;
        repaired.done.extend(more.done);
        repaired.problems = more.problems;
        return Ok(());
    }
    if args.accept_losses {
        repaired.done = accept_all(storage, now).await?;
    }
    repaired.problems = check_storage(storage).await?;
    Ok(())
}
