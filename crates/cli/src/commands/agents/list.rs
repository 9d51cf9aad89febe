//! `contexture agents list`

use contexture_agents::{
    AgentDefinition, Team,
    definition::Scope,
    standing::Standing,
    wire::{AgentObject, ListObject},
};

use super::{standing, team_if_any, warn_of_files};
use crate::{
    commands::Status, crew::Crew, error::Result, harmless, lines, printer::Printer,
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
    crew: &Crew,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let team = team_if_any(settings).await?;
    let (mut objects, mut rows) = (Vec::new(), Vec::new());
    for agent in crew.catalog.agents() {
        let standing = standing(crew, team.as_ref(), agent, printer).await?;
        rows.push(row(crew, agent, standing.as_ref()));
        objects.push(AgentObject::of(agent, standing.as_ref(), &crew.settings, &crew.project));
    }
    if printer.is_json() {
        printer.json(&ListObject { items: objects, next: None })?;
    } else {
        print(&rows, printer)?;
    }
    warn_of_files(crew, printer)?;
    if rows.is_empty() {
        printer.tip("no agents yet: `contexture agents create NAME` creates one")?;
    }
    Ok(Status::Done)
}

/// Returns an agent's mode; none, with a warning, if the settings refuse the mode it asks for.
pub(super) async fn standing(
    crew: &Crew,
    team: Option<&Team>,
    agent: &AgentDefinition,
    printer: &mut Printer<'_>,
) -> Result<Option<Standing>> {
    match Standing::of(agent, &crew.settings, team).await {
        Ok(standing) => Ok(Some(standing)),
        Err(error) => {
            printer.warn(&error.to_string())?;
            Ok(None)
        }
    }
}

fn row(crew: &Crew, agent: &AgentDefinition, standing: Option<&Standing>) -> [String; 6] {
    let scope = match agent.scope {
        Scope::Global => "global",
        Scope::Project => "project",
    };
    [
        agent.name.to_string(),
        harmless::line(&agent.title),
        standing.map_or_else(|| "refused".to_owned(), standing::short),
        harmless::line(&crew.model_of(agent, None).0),
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
