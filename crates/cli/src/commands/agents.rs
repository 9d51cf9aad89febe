//! `contexture agents …`

mod approvals;
mod approve;
mod clear;
mod context;
mod create;
mod effective_mode;
mod graph;
mod list;
mod run;
mod show;
mod validate;

use std::{ffi::OsString, path::Path};

use clap::Subcommand;
use contexture_agents::{Team, definition::Severity};
use contexture_core::ErrorKind;

use super::Status;
use crate::{
    agent_run,
    error::{Result, Stop},
    printer::Printer,
    project::Project,
    settings::Settings,
};

pub(super) use self::approvals::pending_lines;

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    Validate(validate::Args),
    Create(create::Args),
    Run(run::Args),
    Context(context::Args),
    Approvals(approvals::Args),
    Approve(approve::ApproveArgs),
    Deny(approve::DenyArgs),
    Clear(clear::Args),
}

impl Command {
    /// Returns the line it was parsed from with its options moved to where they are read.
    pub(crate) fn rearranged(&self, line: &[OsString]) -> Result<Option<Vec<OsString>>> {
        match self {
            Command::Run(args) => args.rearranged(line),
            _ => Ok(None),
        }
    }
}

pub(crate) fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let project = Project::load()?;
    agent_run::runtime()?.block_on(async {
        match command {
            Command::List(args) => list::run(args, &project, settings, printer).await,
            Command::Show(args) => show::run(args, &project, settings, printer).await,
            Command::Validate(args) => validate::run(&args, &project, printer),
            Command::Create(args) => create::run(args, &project, printer),
            Command::Run(args) => run::run(args, &project, settings, printer).await,
            Command::Context(args) => context::run(args, &project, settings, printer).await,
            Command::Approvals(args) => approvals::run(args, &project, settings, printer).await,
            Command::Approve(args) => approve::approve(args, &project, settings, printer).await,
            Command::Deny(args) => approve::deny(args, &project, settings, printer).await,
            Command::Clear(args) => clear::run(args, &project, settings, printer).await,
        }
    })
}

/// Opens the session's agents; the session must exist.
async fn team(settings: &Settings) -> Result<Team> {
    let (system, _) = crate::context::open_host(settings).await?;
    Ok(Team::new(system))
}

/// Opens the session's agents, if the session exists: what the files say needs none.
async fn team_if_any(settings: &Settings) -> Result<Option<Team>> {
    match team(settings).await {
        Ok(team) => Ok(Some(team)),
        Err(Stop::Failed { kind: ErrorKind::NotFound, .. }) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Warns of agent files that define no agent, and of those used instead of the user's own.
fn warn_of_files(project: &Project, printer: &mut Printer<'_>) -> Result<()> {
    for (file, problem) in project.catalog.problems() {
        if problem.severity == Severity::Error {
            // One line each: `validate` prints all of it.
            let message = problem.display(shown(project, file)).to_string();
            printer.warn(message.lines().next().unwrap_or_default())?;
        }
    }
    for agent in project.catalog.agents() {
        if let Some(warning) = project.shadows(&agent.name) {
            printer.warn(&warning)?;
        }
    }
    Ok(())
}

/// Returns a path for people: relative to the project if it is inside.
fn shown<'a>(project: &Project, path: &'a Path) -> &'a Path {
    path.strip_prefix(&project.folder).unwrap_or(path)
}
