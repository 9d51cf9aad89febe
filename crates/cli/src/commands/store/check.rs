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
    harmless,
    printer::Printer,
    settings::Settings,
    store::Access,
};

/// Check the whole store: its file, its checksums and the tree of every session
///
/// Nothing is changed without --repair or --accept-losses. The exit code is 1 when something is wrong.
///
/// --repair derives anew what is derived, takes what cannot be read into a quarantine inside the store, and
/// mends what that leaves behind as edits that `history` shows: segments and pages that are lost are made
/// again, orphans go to their segment's root, and pages whose text is lost say so. A page whose file was
/// edited by hand keeps the words it has now, and the repair names it; a system prompt does not. A segment
/// that is made again is read-only for agents, but for their own (`agent-…`, `group-…`). It deletes
/// nothing. Then it checks again. Make a copy of the store first.
///
/// What may have been a system prompt stays a problem, and agents refuse to run, until it is written again or
/// --accept-losses accepts that they run without it: a prompt whose text is lost, a segment of which nobody
/// knows what kind it was, edits that are lost with all they made.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture store check")]
pub(crate) struct Args {
    /// Mend what can be mended
    #[arg(long)]
    repair: bool,
    /// Accept that system prompts are lost, or may be: agents run without them
    #[arg(long)]
    accept_losses: bool,
}

impl Args {
    /// Says what is being done, for a person who waits.
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
            // Opening it says what is wrong.
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            Err(error) => return Err(error.into()),
        }
    }
    match settings.store.open(Access::Existing).await {
        Ok(storage) => look(&args, &*storage, &mut repaired).await?,
        // Damage is what is looked for here, so it is an answer and no failure.
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
        printer.line(format_args!("{label} {}", harmless::line(done)))?;
    }
    if checked.ok {
        printer
            .line(format_args!("{} is in order", harmless::line(&settings.store.to_string())))?;
    } else {
        for problem in &checked.problems {
            let label = printer.paint().failure("problem:");
            printer.line(format_args!("{label} {}", harmless::line(problem)))?;
        }
        if !args.repair {
            printer.tip("`store check --repair` mends what can be mended; copy the store first")?;
        }
    }
    Ok(if checked.ok { Status::Done } else { Status::NotOk })
}

/// Repairs what is asked for, and finds what is wrong then.
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
