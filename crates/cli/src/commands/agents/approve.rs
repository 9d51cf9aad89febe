//! `contexture agents approve` and `contexture agents deny`

use contexture_agents::{
    run::Decision,
    team::{PendingApproval, RunName, WhichCalls},
    wire::DecidedObject,
};

use super::{approvals::pending_lines, team};
use crate::{
    commands::Status, error::Result, lines, printer::Printer, process, project::Project, sanitize,
    settings::Settings,
};

/// Approve a call that waits: it is made when its run is resumed
///
/// Prints what the call would change as things stand now. The answer is stored in the run and can be given
/// by any process, at any time before another request to the agent. The call is made with the arguments
/// that are stored, once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture agents create fix-bugs --tool edit_file
  contexture agents run fix-bugs --ask later 'Fix the typos.' || contexture agents approvals
  contexture --by anna agents approve fix-bugs/1 all
  contexture agents run fix-bugs --resume")]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    which: Which,
}

/// Deny a call that waits: it is not made, and the model reads the reason
///
/// The answer is stored in the run and can be given by any process, at any time before another request to
/// the agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture agents create fix-bugs --tool edit_file
  contexture agents run fix-bugs --ask later 'Fix the typos.' || contexture agents approvals
  contexture agents deny fix-bugs/1 all --reason 'Leave the tests alone.'
  contexture agents run fix-bugs --resume")]
pub(crate) struct DenyArgs {
    #[command(flatten)]
    which: Which,
    /// Why, for the model
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Which calls are answered.
#[derive(Debug, clap::Args)]
struct Which {
    /// The run: the agent and the number of its run, such as fix-bugs/3
    run: String,
    /// The call's id, or all for every call of the run that waits
    call: String,
}

pub(crate) async fn approve(
    args: ApproveArgs,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    answer(&args.which, &Decision::Approved, project, settings, printer).await
}

pub(crate) async fn deny(
    args: DenyArgs,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let reason = args.reason.filter(|reason| !reason.trim().is_empty());
    answer(&args.which, &Decision::Denied { reason }, project, settings, printer).await
}

async fn answer(
    which: &Which,
    decision: &Decision,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let run: RunName = which.run.parse()?;
    let team = team(settings).await?;
    let tools = project.workspace_tools(Some(&settings.store))?;
    let pending = team.approvals(Some(&run.agent), &tools).await?;
    let calls = match which.call.as_str() {
        "all" => WhichCalls::All,
        id => WhichCalls::One(id),
    };
    let now = team.system().now();
    let is_alive = |stored: &_| process::is_alive(stored, now);
    let calls = team.answer_approval(&run, calls, decision, &settings.caller, is_alive).await?;
    let (answered, waiting): (Vec<PendingApproval>, Vec<PendingApproval>) = pending
        .into_iter()
        .filter(|pending| pending.run == run)
        .partition(|pending| calls.contains(&pending.call));
    if printer.is_json() {
        let reason = decision.reason();
        let (by, decision) = (settings.caller.to_string(), decision.as_str());
        printer.json(&DecidedObject { run: &run, calls: &calls, decision, reason, by, waiting })?;
        return Ok(Status::Done);
    }
    for line in pending_lines(&answered) {
        printer.line(line)?;
    }
    let named: Vec<String> = calls.iter().map(|call| sanitize::line(call)).collect();
    printer.line(format_args!("{} {} of {run}", decision.as_str(), named.join(", ")))?;
    match waiting.len() as u64 {
        0 => printer.tip(&format!("`contexture agents run {} --resume` goes on", run.agent))?,
        more => {
            let waits = if more == 1 { "waits" } else { "wait" };
            printer.tip(&format!("{} of {run} still {waits}", lines::count(more, "call")))?;
        }
    }
    Ok(Status::Done)
}
