//! `contexture agents context`

use contexture_agents::{
    AgentDefinition, ContextMode, Team,
    mode::{Asked, resolve},
    run::Ending,
    runner::link_name,
    settings::Source,
    standing::Standing,
    team::{LastRun, Link, StoredRun},
    wire::{AgentContextObject, ListObject, RunObject},
};

use super::{graph, list, standing, team, team_if_any, warn_of_files};
use crate::{
    args::Suggested,
    commands::Status,
    crew::Crew,
    error::{Result, Stop},
    harmless, lines,
    printer::Printer,
    process, running,
    settings::Settings,
};

/// The values that `--mode` suggests.
const MODES: &[&str] = &["isolated", "shared", "default"];

/// Show whose history an agent sees and why, or change it for this session
///
/// The first of these that names a mode decides: the call, the session, the agent's file, the project's
/// settings, your own settings; otherwise the agent is isolated. --mode changes the session's choice
/// and touches no file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture agents create bug-fixer --context shared
  contexture agents context bug-fixer
  contexture agents context bug-fixer --mode isolated
  contexture agents context --all
  contexture agents context --graph")]
pub(crate) struct Args {
    /// The agent's name
    #[arg(required_unless_present_any = ["all", "graph"], conflicts_with_all = ["all", "graph"])]
    name: Option<String>,
    /// Set its mode for this session; `default` follows the files again
    #[arg(long, value_name = "MODE", value_parser = Suggested(MODES), requires = "name")]
    mode: Option<String>,
    /// List the modes of all agents
    #[arg(long)]
    all: bool,
    /// Draw which agents share which history; always shows all agents
    #[arg(long)]
    graph: bool,
}

pub(crate) async fn run(
    args: Args,
    crew: &Crew,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let Some(name) = &args.name else {
        let team = team_if_any(settings).await?;
        return match args.graph {
            true => graph::run(crew, team.as_ref(), printer).await,
            false => all(crew, team.as_ref(), printer).await,
        };
    };
    let agent = crew.agent(name)?;
    if let Some(wanted) = &args.mode {
        return set(wanted, agent, crew, settings, printer).await;
    }
    let team = team_if_any(settings).await?;
    let standing = Standing::of(agent, &crew.settings, team.as_ref()).await?;
    let (last, runs) = match &team {
        Some(team) => (team.state(&agent.name).await?.0.last, unfinished(team, agent).await?),
        None => (None, Vec::new()),
    };
    if printer.is_json() {
        let standing = standing.object(agent, &crew.project);
        printer.json(&AgentContextObject { standing, last_run: last, runs })?;
        return Ok(Status::Done);
    }
    print(&standing, agent, printer)?;
    explain(crew, &standing, printer)?;
    if let Some(last) = &last {
        printer.line(last_line(last))?;
    }
    for run in &runs {
        printer.line(run_line(agent, run))?;
    }
    for warning in &standing.resolution.warnings {
        printer.warn(warning)?;
    }
    Ok(Status::Done)
}

/// Parses a mode.
pub(super) fn mode(text: &str) -> Result<ContextMode> {
    text.parse().map_err(|reason: String| Stop::invalid(reason, "use isolated or shared"))
}

/// Prints an agent's mode in the words of the seed (M-31, M-32).
fn print(standing: &Standing, agent: &AgentDefinition, printer: &mut Printer<'_>) -> Result<()> {
    printer.line(format_args!("Agent: {}", agent.name))?;
    let mode = standing.mode();
    let note = match standing.session() {
        Some(_) => " (session override)",
        None if standing.is_gated() => " (shared contexts are forbidden here)",
        None => "",
    };
    printer.line(format_args!("Context Mode: {mode}{note}"))?;
    if !note.is_empty() {
        printer.line(format_args!("Original Mode: {}", standing.resolution.original().1))?;
    }
    if !matches!(standing.link, Link::Own(_)) {
        printer.line(format_args!("Linked to: {}", link_name(&standing.link)))?;
    }
    Ok(())
}

/// Prints every source of the mode, in order of precedence.
fn explain(crew: &Crew, standing: &Standing, printer: &mut Printer<'_>) -> Result<()> {
    printer.line("")?;
    printer.line("Decided by the first of:")?;
    for (source, mode) in &standing.resolution.said {
        let by = harmless::line(&crew.said_by(source));
        printer.line(format_args!("  {:8}  {by}", mode.as_str()))?;
    }
    if let Some(gate) = &crew.settings.shared_forbidden {
        let gate = harmless::line(&crew.said_by(gate));
        printer.line(format_args!("  shared contexts are forbidden by {gate}"))?;
    }
    Ok(())
}

fn last_line(last: &LastRun) -> String {
    let ending = match &last.ending {
        Ending::Answered => "answered".to_owned(),
        other => running::ended(other).unwrap_or_default(),
    };
    let (number, mode, at) = (last.number, last.mode, lines::time(last.ended_at));
    let (model, ending) = (harmless::line(&last.model), harmless::line(&ending));
    format!("Last run: {mode} on {model}, {at} (run {number}: {ending})")
}

fn run_line(agent: &AgentDefinition, run: &RunObject) -> String {
    let RunObject { number, mode, state, .. } = run;
    let since = lines::time(run.began_at);
    match *state {
        "running" => format!("Running: run {number}, {mode}, since {since}"),
        _ => format!(
            "Interrupted: run {number}, {mode}, since {since}; resume it with `contexture agents run \
             {} --resume`",
            agent.name
        ),
    }
}

/// Returns the agent's runs that have not ended, and whether each is still driven by a process.
async fn unfinished(team: &Team, agent: &AgentDefinition) -> Result<Vec<RunObject>> {
    let now = team.system().now();
    let object = |stored: &StoredRun| RunObject::of(stored, process::is_alive(stored, now));
    Ok(team.runs(Some(&agent.name)).await?.iter().map(object).collect())
}

/// Sets or clears the session's mode; a mode that the settings forbid is refused (C28, M-27).
async fn set(
    wanted: &str,
    agent: &AgentDefinition,
    crew: &Crew,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = match wanted {
        "default" => None,
        wanted => Some(wanted.parse::<ContextMode>().map_err(|_| {
            let message = format!("unknown context mode '{wanted}'");
            Stop::invalid(message, "use isolated, shared, or default to follow the files again")
        })?),
    };
    let team = team(settings).await?;
    resolve(agent, &crew.settings, Asked { flag: None, session })?;
    team.set_session_mode(&agent.name, session).await?;
    let standing = Standing::of(agent, &crew.settings, Some(&team)).await?;
    if printer.is_json() {
        printer.json(&standing.object(agent, &crew.project))?;
        return Ok(Status::Done);
    }
    match session {
        Some(mode) => {
            printer.line(format_args!("✓ Context mode changed to {mode} for this session"))?;
        }
        None => {
            let by = match &standing.resolution.source {
                Source::Default => "by default".to_owned(),
                source => format!("by {}", harmless::line(&crew.said_by(source))),
            };
            printer.line(format_args!("✓ Context mode is {} again, {by}", standing.mode()))?;
        }
    }
    for warning in &standing.resolution.warnings {
        printer.warn(warning)?;
    }
    Ok(Status::Done)
}

/// Lists the modes of all agents (M-28).
async fn all(crew: &Crew, team: Option<&Team>, printer: &mut Printer<'_>) -> Result<Status> {
    let mut found = Vec::new();
    for agent in crew.catalog.agents() {
        if let Some(standing) = list::standing(crew, team, agent, printer).await? {
            found.push((agent, standing));
        }
    }
    if printer.is_json() {
        let items =
            found.iter().map(|(agent, standing)| standing.object(agent, &crew.project)).collect();
        printer.json(&ListObject { items, next: None })?;
    } else {
        let width = |text: fn(&(&AgentDefinition, Standing)) -> String| {
            found.iter().map(|row| text(row).len()).max().unwrap_or_default()
        };
        let name = width(|(agent, _)| agent.name.to_string());
        let mode = width(|(_, standing)| standing::short(standing));
        let paint = printer.paint();
        for (agent, standing) in &found {
            printer.line(lines::join([
                paint.id(format!("{:name$}", agent.name.to_string())),
                format!("{:mode$}", standing::short(standing)),
                link_name(&standing.link),
            ]))?;
        }
    }
    warn_of_files(crew, printer)?;
    Ok(Status::Done)
}
