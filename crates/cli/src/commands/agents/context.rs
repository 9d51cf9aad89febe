//! `contexture agents context`

use contexture_agents::{
    AgentDefinition, ContextMode, Team,
    effective_mode::EffectiveMode,
    mode::{Asked, resolve},
    run::Ending,
    runner::link_name,
    settings::Source,
    team::{LastRun, Link, StoredRun},
    wire::{AgentContextObject, ListObject, RunObject},
};

use super::{effective_mode, graph, list, team, team_if_any, warn_of_files};
use crate::{
    agent_run,
    args::Suggested,
    commands::Status,
    error::{Result, Stop},
    lines,
    printer::Printer,
    process,
    project::Project,
    sanitize,
    settings::Settings,
};

/// The values that `--mode` suggests.
const MODES: &[&str] = &["isolated", "shared", "fork", "default"];

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
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let Some(name) = &args.name else {
        let team = team_if_any(settings).await?;
        return match args.graph {
            true => graph::run(project, team.as_ref(), printer).await,
            false => all(project, team.as_ref(), printer).await,
        };
    };
    let agent = project.agent(name)?;
    if let Some(wanted) = &args.mode {
        return set(wanted, agent, project, settings, printer).await;
    }
    let team = team_if_any(settings).await?;
    let effective = EffectiveMode::of(agent, &project.settings, team.as_ref()).await?;
    let (last, runs) = match &team {
        Some(team) => (team.state(&agent.name).await?.0.last, unfinished(team, agent).await?),
        None => (None, Vec::new()),
    };
    if printer.is_json() {
        let effective = effective.object(agent, &project.folder);
        printer.json(&AgentContextObject { effective, last_run: last, runs })?;
        return Ok(Status::Done);
    }
    print(&effective, agent, printer)?;
    explain(project, &effective, printer)?;
    if let Some(last) = &last {
        printer.line(last_line(last))?;
    }
    for run in &runs {
        printer.line(run_line(agent, run))?;
    }
    for warning in &effective.resolution.warnings {
        printer.warn(warning)?;
    }
    Ok(Status::Done)
}

/// Parses a mode.
pub(super) fn mode(text: &str) -> Result<ContextMode> {
    text.parse().map_err(|reason: String| Stop::invalid(reason, "use isolated, shared or fork"))
}

/// Prints an agent's mode in the words of the seed (M-31, M-32).
fn print(
    effective: &EffectiveMode,
    agent: &AgentDefinition,
    printer: &mut Printer<'_>,
) -> Result<()> {
    printer.line(format_args!("Agent: {}", agent.name))?;
    let mode = effective.mode();
    let note = match effective.session() {
        Some(_) => " (session override)",
        None if effective.is_shared_forbidden() => " (shared contexts are forbidden here)",
        None => "",
    };
    printer.line(format_args!("Context Mode: {mode}{note}"))?;
    if !note.is_empty() {
        printer.line(format_args!("Original Mode: {}", effective.resolution.original().1))?;
    }
    if !matches!(effective.link, Link::Own(_)) {
        printer.line(format_args!("Linked to: {}", link_name(&effective.link)))?;
    }
    Ok(())
}

/// Prints every source of the mode, in order of precedence.
fn explain(project: &Project, effective: &EffectiveMode, printer: &mut Printer<'_>) -> Result<()> {
    printer.line("")?;
    printer.line("Decided by the first of:")?;
    for (source, mode) in &effective.resolution.said {
        let by = sanitize::line(&project.said_by(source));
        printer.line(format_args!("  {:8}  {by}", mode.as_str()))?;
    }
    if let Some(gate) = &project.settings.shared_forbidden {
        let gate = sanitize::line(&project.said_by(gate));
        printer.line(format_args!("  shared contexts are forbidden by {gate}"))?;
    }
    Ok(())
}

fn last_line(last: &LastRun) -> String {
    let ending = match &last.ending {
        Ending::Answered => "answered".to_owned(),
        other => agent_run::ended(other).unwrap_or_default(),
    };
    let (number, mode, at) = (last.number, last.mode, lines::time(last.ended_at));
    let (model, ending) = (sanitize::line(&last.model), sanitize::line(&ending));
    format!("Last run: {mode} on {model}, {at} (run {number}: {ending})")
}

fn run_line(agent: &AgentDefinition, run: &RunObject) -> String {
    let RunObject { number, mode, state, .. } = run;
    let since = lines::time(run.began_at);
    match *state {
        "running" => format!("Running: run {number}, {mode}, since {since}"),
        "waiting" => format!(
            "Waiting for approval: run {number}, {mode}, since {since}; `contexture agents approvals {}` \
             shows its calls",
            agent.name
        ),
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

/// Sets or clears the session's mode; a mode that the settings forbid is refused (M-27).
async fn set(
    wanted: &str,
    agent: &AgentDefinition,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = match wanted {
        "default" => None,
        wanted => Some(wanted.parse::<ContextMode>().map_err(|_| {
            let message = format!("unknown context mode '{wanted}'");
            Stop::invalid(
                message,
                "use isolated, shared, fork, or default to follow the files again",
            )
        })?),
    };
    let team = team(settings).await?;
    resolve(agent, &project.settings, Asked { flag: None, session })?;
    team.set_session_mode(&agent.name, session).await?;
    let effective = EffectiveMode::of(agent, &project.settings, Some(&team)).await?;
    if printer.is_json() {
        printer.json(&effective.object(agent, &project.folder))?;
        return Ok(Status::Done);
    }
    match session {
        Some(mode) => {
            printer.line(format_args!("✓ Context mode changed to {mode} for this session"))?;
        }
        None => {
            let by = match &effective.resolution.source {
                Source::Default => "by default".to_owned(),
                source => format!("by {}", sanitize::line(&project.said_by(source))),
            };
            printer.line(format_args!("✓ Context mode is {} again, {by}", effective.mode()))?;
        }
    }
    for warning in &effective.resolution.warnings {
        printer.warn(warning)?;
    }
    Ok(Status::Done)
}

/// Lists the modes of all agents (M-28).
async fn all(project: &Project, team: Option<&Team>, printer: &mut Printer<'_>) -> Result<Status> {
    let mut found = Vec::new();
    for agent in project.catalog.agents() {
        if let Some(effective) = list::effective_mode(project, team, agent, printer).await? {
            found.push((agent, effective));
        }
    }
    if printer.is_json() {
        let items = found
            .iter()
            .map(|(agent, effective)| effective.object(agent, &project.folder))
            .collect();
        printer.json(&ListObject { items, next: None })?;
    } else {
        let width = |text: fn(&(&AgentDefinition, EffectiveMode)) -> String| {
            found.iter().map(|row| text(row).len()).max().unwrap_or_default()
        };
        let name = width(|(agent, _)| agent.name.to_string());
        let mode = width(|(_, effective)| effective_mode::short(effective));
        let paint = printer.paint();
        for (agent, effective) in &found {
            printer.line(lines::join([
                paint.id(format!("{:name$}", agent.name.to_string())),
                format!("{:mode$}", effective_mode::short(effective)),
                link_name(&effective.link),
            ]))?;
        }
    }
    warn_of_files(project, printer)?;
    Ok(Status::Done)
}
