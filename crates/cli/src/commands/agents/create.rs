//! `contexture agents create`

use contexture_agents::{
    catalog::Catalog,
    definition::{NewAgent, Scope, ToolRules, create},
    wire::CreatedAgentObject,
};

use super::shown;
use contexture_core::AgentName;

use crate::{
    args::Suggested,
    commands::Status,
    error::{Result, Stop},
    printer::Printer,
    project::Project,
    sanitize,
};

/// The values that `--context` suggests.
pub(super) const MODES: &[&str] = &["isolated", "shared", "fork"];

/// Create an agent: a file with its name, its tools and a prompt to start from
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture agents create code-reviewer --tool read_file --tool grep
  contexture agents create bug-fixer --context shared --tool read_file --tool edit_file")]
pub(crate) struct Args {
    /// Its name: lowercase letters, digits, - and _
    name: String,
    /// Its display name; by default derived from the name
    #[arg(long)]
    title: Option<String>,
    /// What it is for
    #[arg(long)]
    description: Option<String>,
    /// The model it runs on, such as openai/gpt-4o
    #[arg(long)]
    model: Option<String>,
    /// Whose history it sees: its own, the main session's, or a fork of another view
    #[arg(long, value_name = "MODE", value_parser = Suggested(MODES))]
    context: Option<String>,
    /// The group whose history it shares instead of the main session's
    #[arg(long)]
    group: Option<String>,
    /// The agent whose view it forks instead of the main view
    #[arg(long, value_name = "NAME")]
    parent: Option<AgentName>,
    /// A tool it may use, by default all; repeatable
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// A tool it may never use; repeatable
    #[arg(long = "deny", value_name = "TOOL")]
    denied: Vec<String>,
    /// Create it for all your projects, in your configuration folder
    #[arg(long)]
    user: bool,
}

pub(crate) fn run(args: Args, project: &Project, printer: &mut Printer<'_>) -> Result<Status> {
    let folder = match (args.user, &project.config) {
        (false, _) => project.folder.join(".contexture/agents"),
        (true, Some(config)) => config.join("agents"),
        (true, None) => {
            let hint = "set HOME or XDG_CONFIG_HOME";
            return Err(Stop::invalid("cannot find your configuration folder", hint));
        }
    };
    let context_mode = args.context.as_deref().map(super::context::mode).transpose()?;
    let agent = NewAgent {
        name: args.name,
        title: args.title.unwrap_or_default(),
        description: args.description.unwrap_or_default(),
        model: args.model,
        context_mode,
        group: args.group,
        parent: args.parent,
        tools: ToolRules {
            allow: (!args.tools.is_empty()).then_some(args.tools),
            deny: args.denied,
        },
        system_prompt: String::new(),
    };
    let file = create(&agent, &folder)?;
    let name = &agent.name;
    let path = shown(project, &file).display().to_string();
    if printer.is_json() {
        let scope = if args.user { Scope::Global } else { Scope::Project };
        printer.json(&CreatedAgentObject { name: name.clone(), file: path, scope })?;
    } else {
        let path = sanitize::line(&path);
        printer.line(format_args!("created agent {} in {path}", printer.paint().id(name)))?;
        printer.line("write its prompt below the second ---, then run it:")?;
        printer.line(format_args!("  contexture agents run {name} 'what to do'"))?;
    }
    // Another file for that name may take precedence.
    let catalog = Catalog::load(&project.places());
    if let Some(used) = catalog.get(name).filter(|used| used.file != file) {
        let used = shown(project, &used.file).display().to_string();
        printer.warn(&format!("another file for agent '{name}' is used instead: {used}"))?;
    }
    Ok(Status::Done)
}
