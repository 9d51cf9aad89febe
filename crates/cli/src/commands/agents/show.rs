//! `contexture agents show`

use contexture_agents::{
    AgentDefinition,
    definition::{ContextFilter, McpConfig, McpServer, PublishResult, Scope},
    effective_mode::EffectiveMode,
    tools::{ALWAYS, mcp::without_secrets},
    wire::AgentFileObject,
};
use contexture_core::Timestamp;

use super::{effective_mode, list, shown, team_if_any};
use crate::{
    commands::Status, error::Result, lines, printer::Printer, project::Project, sanitize,
    settings::Settings,
};

/// Show everything an agent's file says, and its effect
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture agents create tester --tool read_file && contexture agents show tester")]
pub(crate) struct Args {
    /// The agent's name
    name: String,
}

pub(crate) async fn run(
    args: Args,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let agent = project.agent(&args.name)?;
    let team = team_if_any(settings).await?;
    let effective = list::effective_mode(project, team.as_ref(), agent, printer).await?;
    if printer.is_json() {
        printer.json(&AgentFileObject::of(agent, effective.as_ref(), &project.settings))?;
        return Ok(Status::Done);
    }
    let paint = printer.paint();
    for (field, value) in fields(project, agent, effective.as_ref()) {
        if !value.is_empty() {
            printer.line(format_args!("{} {}", paint.dim(format!("{field:12}")), value))?;
        }
    }
    let prompt = agent.system_prompt.trim();
    if !prompt.is_empty() {
        printer.line("")?;
        printer.line(sanitize::text(prompt))?;
    }
    Ok(Status::Done)
}

fn fields(
    project: &Project,
    agent: &AgentDefinition,
    effective: Option<&EffectiveMode>,
) -> Vec<(String, String)> {
    let optional = |text: &Option<String>| text.as_deref().map(sanitize::line).unwrap_or_default();
    let time = |at: Option<Timestamp>| at.map(lines::time).unwrap_or_default();
    let (model, source) = project.model_of(agent, None);
    let model = match agent.model {
        Some(_) => model,
        None => format!("{model} ({})", project.said_by(&source)),
    };
    let publishes = match agent.publish_result {
        PublishResult::Exchange => "request and answer",
        PublishResult::None => "nothing",
    };
    let scope = match agent.scope {
        Scope::Global => "global",
        Scope::Project => "project",
    };
    let allowed = match &agent.tools.allow {
        Some(allow) => format!("{}, and always {}", allow.join(", "), ALWAYS.join(", ")),
        None => format!("all tools on files and of MCP servers, and always {}", ALWAYS.join(", ")),
    };
    let mut fields = vec![
        ("name", agent.name.to_string()),
        ("title", sanitize::line(&agent.title)),
        ("description", sanitize::line(&agent.description)),
        ("file", sanitize::line(&shown(project, &agent.file).display().to_string())),
        ("dialect", agent.dialect.title().to_owned()),
        ("scope", scope.to_owned()),
        ("version", optional(&agent.version)),
        ("color", optional(&agent.color)),
        ("mode", effective.map_or_else(|| "refused".to_owned(), effective_mode::short)),
        ("group", optional(&agent.context_group)),
        ("parent", agent.context_parent.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("filter", filter(&agent.context_filter)),
        ("publishes", publishes.to_owned()),
        ("model", sanitize::line(&model)),
        ("temperature", agent.temperature.map(|it| it.to_string()).unwrap_or_default()),
        ("effort", optional(&agent.effort)),
        ("shares", agent.shares.to_string()),
        ("max turns", agent.max_turns.map(|it| it.to_string()).unwrap_or_default()),
        ("tools", sanitize::line(&allowed)),
        ("denied", sanitize::line(&agent.tools.deny.join(", "))),
        ("MCP servers", agent.mcp.iter().map(server).collect::<Vec<_>>().join(", ")),
        ("created", time(agent.created_at)),
        ("changed", time(agent.updated_at)),
    ]
    .into_iter()
    .map(|(field, value)| (field.to_owned(), value))
    .collect::<Vec<_>>();
    let kept = agent.extra.iter().map(|(key, value)| {
        (sanitize::line(key), format!("{} (unknown field, kept)", sanitize::line(value)))
    });
    fields.extend(kept);
    fields
}

fn server(server: &McpServer) -> String {
    let how = match &server.config {
        Some(McpConfig::Stdio { command, .. }) => format!(" ({command})"),
        Some(McpConfig::Http { url, .. }) => format!(" ({})", without_secrets(url)),
        None => String::new(),
    };
    sanitize::line(&format!("{}{how}", server.name))
}

/// Returns in words what a filter lets through; empty if it lets everything through.
pub(super) fn filter(filter: &ContextFilter) -> String {
    let mut parts = Vec::new();
    if let Some(agents) = &filter.agents {
        parts.push(format!("turns of {}", agents.join(", ")));
    }
    if let Some(roles) = &filter.roles {
        parts.push(format!("messages of {}", roles.join(", ")));
    }
    if let Some(since) = filter.since {
        parts.push(format!("since {}", lines::time(since)));
    }
    if let Some(age) = filter.max_age_seconds {
        parts.push(format!("at most {} old", duration(age)));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("only {}", sanitize::line(&parts.join("; "))),
    }
}

/// Returns a time span in the largest unit that divides it, as agent files spell it.
fn duration(seconds: u64) -> String {
    let units = [(7 * 86_400, 'w'), (86_400, 'd'), (3_600, 'h'), (60, 'm')];
    let unit = units.into_iter().find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit));
    let (unit, name) = unit.unwrap_or((1, 's'));
    format!("{}{name}", seconds / unit)
}
