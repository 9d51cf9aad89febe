//! `contexture agents approvals`

use contexture_agents::{team::PendingApproval, wire::ListObject};

use super::team;
use crate::{
    commands::Status, error::Result, lines, printer::Printer, project::Project, sanitize,
    settings::Settings,
};

/// List the calls that wait for approval
///
/// Prints each call's run, id and time, then what it would change as things stand now. `agents approve` and
/// `agents deny` answer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture agents approvals
  contexture agents create fix-bugs && contexture agents approvals fix-bugs")]
pub(crate) struct Args {
    /// Only the calls of this agent
    #[arg(value_name = "AGENT")]
    name: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let team = team(settings).await?;
    let name = match &args.name {
        Some(name) => Some(super::clear::known(name, project, &team)?),
        None => None,
    };
    let tools = project.workspace_tools(Some(&settings.store))?;
    let pending = team.approvals(name.as_ref(), &tools).await?;
    if printer.is_json() {
        printer.json(&ListObject { items: pending, next: None })?;
        return Ok(Status::Done);
    }
    for line in pending_lines(&pending) {
        printer.line(line)?;
    }
    if pending.is_empty() {
        printer.tip("no call waits for approval")?;
    }
    Ok(Status::Done)
}

/// Returns calls that wait, each with its question.
pub(in crate::commands) fn pending_lines(pending: &[PendingApproval]) -> Vec<String> {
    let mut shown = Vec::new();
    for PendingApproval { run, call, question, since, .. } in pending {
        let (call, since) = (sanitize::line(call), lines::time(*since));
        shown.push(format!("{run}  {call}  waits since {since}"));
        shown.extend(question.iter().map(|line| format!("  {}", sanitize::line(line))));
    }
    shown
}

/// Returns what a run waits for, and how to answer.
pub(super) fn waiting_lines(pending: &[PendingApproval]) -> Vec<String> {
    let mut shown = pending_lines(pending);
    if let Some(PendingApproval { run, .. }) = pending.first() {
        shown.push(format!(
            "answer with `contexture agents approve {run} all` or `contexture agents deny {run} all`, \
             then `contexture agents run {} --resume`",
            run.agent
        ));
    }
    shown
}
