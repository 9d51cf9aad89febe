//! `contexture agents list`

use contexture_agents::{
    AgentDefinition, Team,
    definition::Scope,
    effective_mode::EffectiveMode,
    wire::{AgentObject, ListObject},
};

use super::{effective_mode, team_if_any, warn_of_files};
use crate::{
    commands::Status, error::Result, lines, printer::Printer, project::Project, sanitize,
    settings::Settings,
};

/// List the agents of this project and your own
///
/// A broken file hides only its own agent; `agents validate` reports everything that is wrong with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture agents list")]
pub(crate) struct Args {}

pub(crate) async fn run(
    _: Args,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let team = team_if_any(settings).await?;
    let (mut objects, mut rows) = (Vec::new(), Vec::new());
    for agent in project.catalog.agents() {
        let effective = effective_mode(project, team.as_ref(), agent, printer).await?;
        rows.push(row(project, agent, effective.as_ref()));
        objects.push(AgentObject::of(
            agent,
            effective.as_ref(),
            &project.settings,
            &project.folder,
        ));
    }
    if printer.is_json() {
        printer.json(&ListObject { items: objects, next: None })?;
    } else {
        print(&rows, printer)?;
    }
    warn_of_files(project, printer)?;
    if rows.is_empty() {
        printer.tip("no agents yet: `contexture agents create NAME` creates one")?;
    }
    Ok(Status::Done)
}

/// Returns an agent's mode; none, with a warning, if the settings refuse the mode it asks for.
pub(super) async fn effective_mode(
    project: &Project,
    team: Option<&Team>,
    agent: &AgentDefinition,
    printer: &mut Printer<'_>,
) -> Result<Option<EffectiveMode>> {
    match EffectiveMode::of(agent, &project.settings, team).await {
        Ok(effective) => Ok(Some(effective)),
        Err(error) => {
            printer.warn(&error.to_string())?;
            Ok(None)
        }
    }
}

fn row(
    project: &Project,
    agent: &AgentDefinition,
    effective: Option<&EffectiveMode>,
) -> [String; 6] {
    let scope = match agent.scope {
        Scope::Global => "global",
        Scope::Project => "project",
    };
    [
        agent.name.to_string(),
        sanitize::line(&agent.title),
        effective.map_or_else(|| "refused".to_owned(), effective_mode::short),
        sanitize::line(&project.model_of(agent, None).0),
        agent.dialect.title().to_owned(),
        scope.to_owned(),
    ]
}

fn print(rows: &[[String; 6]], printer: &mut Printer<'_>) -> Result<()> {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let paint = printer.paint();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let cell = format!("{cell:width$}");
            match column {
                0 => paint.id(cell),
                4 | 5 => paint.dim(cell),
                _ => cell,
            }
        });
        printer.line(lines::join(cells).trim_end())?;
    }
    Ok(())
}
