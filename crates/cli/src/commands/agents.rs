//! `contexture agents …`

mod clear;
mod context;
mod create;
mod graph;
mod list;
mod run;
mod show;
mod standing;
mod validate;

use std::{ffi::OsString, path::Path};

use clap::Subcommand;
use contexture_agents::{Team, definition::Severity};
use contexture_core::ErrorKind;

use super::Status;
use crate::{
    context::Caller,
    crew::Crew,
    error::{Result, Stop},
    printer::Printer,
    running,
    settings::Settings,
};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    List(list::Args),
    Show(show::Args),
    Validate(validate::Args),
    Create(create::Args),
    Run(run::Args),
    Context(context::Args),
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
    let crew = Crew::load()?;
    running::runtime()?.block_on(async {
        match command {
            Command::List(args) => list::run(args, &crew, settings, printer).await,
            Command::Show(args) => show::run(args, &crew, settings, printer).await,
            Command::Validate(args) => validate::run(&args, &crew, printer),
            Command::Create(args) => create::run(args, &crew, printer),
            Command::Run(args) => run::run(args, &crew, settings, printer).await,
            Command::Context(args) => context::run(args, &crew, settings, printer).await,
            Command::Clear(args) => clear::run(args, &crew, settings, printer).await,
        }
    })
}

/// Opens the session's agents; the session must exist.
async fn team(settings: &Settings) -> Result<Team> {
    let caller = Caller::open(settings).await?;
    Ok(Team::new(caller.system().clone()))
}

/// Opens the session's agents, if the session exists: what the files say needs none.
async fn team_if_any(settings: &Settings) -> Result<Option<Team>> {
    match team(settings).await {
        Ok(team) => Ok(Some(team)),
        Err(Stop::Failed { kind: ErrorKind::NotFound, .. }) => Ok(None),
        Err(stop) => Err(stop),
    }
}

/// Warns of agent files that define no agent, and of those used instead of the user's own (C48).
fn warn_of_files(crew: &Crew, printer: &mut Printer<'_>) -> Result<()> {
    for (file, problem) in crew.catalog.problems() {
        if problem.severity == Severity::Error {
            // One line each: `validate` prints all of it.
            let told = problem.display(shown(crew, file)).to_string();
            printer.warn(told.lines().next().unwrap_or_default())?;
        }
    }
    for agent in crew.catalog.agents() {
        if let Some(warning) = crew.shadows(&agent.name) {
            printer.warn(&warning)?;
        }
    }
    Ok(())
}

/// Returns a path for people: relative to the project if it is inside.
fn shown<'a>(crew: &Crew, path: &'a Path) -> &'a Path {
    path.strip_prefix(&crew.project).unwrap_or(path)
}
