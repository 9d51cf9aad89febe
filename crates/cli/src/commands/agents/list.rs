//! `contexture agents list`

use contexture_agents::{
    AgentDefinition, ContextMode, Team,
    definition::{Dialect, Scope},
};
use serde::Serialize;

use super::{shown, standing::Standing, team_if_any, warn_of_files};
use crate::{
    commands::Status,
    crew::Crew,
    error::{Result, Stop},
    harmless,
    json::ListObject,
    lines,
    printer::Printer,
    settings::Settings,
};

/// List the agents of this project and of yours
///
/// A file that is broken hides nothing but itself; `agents validate` tells all that is wrong with it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture agents list")]
pub(crate) struct Args {}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct AgentObject {
    name: String,
    title: String,
    description: String,
    /// None where the settings refuse what the session asks for.
    mode: Option<ContextMode>,
    mode_decided_by: Option<String>,
    model: String,
    model_decided_by: String,
    dialect: Dialect,
    scope: Scope,
    file: String,
}

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
        objects.push(object(crew, agent, standing.as_ref()));
    }
    if printer.is_json() {
        printer.json(&ListObject { items: objects, next: None })?;
    } else {
        print(&rows, printer)?;
    }
    warn_of_files(crew, printer)?;
    if rows.is_empty() {
        printer.tip("no agents yet: `contexture agents create NAME` makes one")?;
    }
    Ok(Status::Done)
}

/// Returns how an agent stands; none, with a warning, where the settings refuse what is asked for.
pub(super) async fn standing(
    crew: &Crew,
    team: Option<&Team>,
    agent: &AgentDefinition,
    printer: &mut Printer<'_>,
) -> Result<Option<Standing>> {
    match Standing::of(crew, team, agent).await {
        Ok(standing) => Ok(Some(standing)),
        Err(Stop::Failed { message, .. }) => {
            printer.warn(&message)?;
            Ok(None)
        }
        Err(stop) => Err(stop),
    }
}

fn object(crew: &Crew, agent: &AgentDefinition, standing: Option<&Standing>) -> AgentObject {
    let (model, source) = crew.model_of(agent, None);
    AgentObject {
        name: agent.name.to_string(),
        title: agent.title.clone(),
        description: agent.description.clone(),
        mode: standing.map(Standing::mode),
        mode_decided_by: standing.map(|standing| crew.said_by(&standing.resolution.source)),
        model,
        model_decided_by: crew.said_by(&source),
        dialect: agent.dialect,
        scope: agent.scope,
        file: shown(crew, &agent.file).display().to_string(),
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
        standing.map_or_else(|| "refused".to_owned(), Standing::short),
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
