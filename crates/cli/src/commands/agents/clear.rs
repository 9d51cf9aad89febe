//! `contexture agents clear`

use contexture_agents::{
    ContextMode, Team,
    team::{ClearScope, Cleared},
    wire::ClearedObject,
};
use contexture_core::{AgentName, PageIndex};

use super::team;
use crate::{
    args::Suggested,
    commands::Status,
    error::{Result, Stop},
    lines,
    printer::Printer,
    process,
    project::Project,
    settings::Settings,
};

/// The values that `--scope` suggests.
const SCOPES: &[&str] = &["isolated", "published", "all"];

/// Clear an agent's history: its pages move to the archive, and undo brings them back
///
/// Turns that the agent took in the main session itself stay, and so does the session's override of its
/// mode. Refused while the agent is running.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture agents create tester && contexture agents clear tester
  contexture agents clear tester --scope all")]
pub(crate) struct Args {
    /// The agent's name
    name: String,
    /// What to clear: its own history, what it published in the main session, or both
    #[arg(long, value_name = "SCOPE", value_parser = Suggested(SCOPES))]
    #[arg(default_value = "isolated")]
    scope: String,
}

pub(crate) async fn run(
    args: Args,
    project: &Project,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let scope: ClearScope = args
        .scope
        .parse()
        .map_err(|reason: String| Stop::invalid(reason, "use isolated, published or all"))?;
    let team = team(settings).await?;
    let name = known(&args.name, project, &team)?;
    let now = team.system().now();
    let cleared = team.clear(&name, scope, |stored| process::is_alive(stored, now)).await?;
    let session = team.session_mode(&name).await.ok().flatten();
    if printer.is_json() {
        printer.json(&ClearedObject::of(&name, scope, &cleared, session))?;
        return Ok(Status::Done);
    }
    for line in report(&name, scope, &cleared, session) {
        printer.line(line)?;
    }
    Ok(Status::Done)
}

/// Finds an agent by name: one with a file, or one that the session remembers.
pub(super) fn known(name: &str, project: &Project, team: &Team) -> Result<AgentName> {
    match project.agent(name) {
        Ok(agent) => Ok(agent.name.clone()),
        Err(stop) => {
            let members = team.members();
            members.into_iter().find(|member| member.as_str() == name).ok_or(stop)
        }
    }
}

/// Returns what was and what was not cleared, as lines.
fn report(
    agent: &AgentName,
    scope: ClearScope,
    cleared: &Cleared,
    session: Option<ContextMode>,
) -> Vec<String> {
    let pages = |pages: &[PageIndex]| lines::count(pages.len() as u64, "page");
    let mut lines = Vec::new();
    if scope != ClearScope::Published {
        let is_forked = |page: &&PageIndex| page.segment().as_str().starts_with("fork-");
        let forked = cleared.isolated.iter().filter(is_forked).count() as u64;
        let own = lines::count(cleared.isolated.len() as u64 - forked, "page");
        lines.push(format!("{own} of agent-{agent} moved to the archive"));
        if forked > 0 {
            let forked = lines::count(forked, "page");
            lines.push(format!("{forked} of fork-{agent} moved to the archive"));
        }
    }
    if scope != ClearScope::Isolated {
        let published = pages(&cleared.published);
        lines.push(format!("{published} published in the main session moved to the archive"));
    }
    if cleared.published_kept > 0 {
        let kept = lines::count(cleared.published_kept, "published page");
        lines.push(format!("kept {kept} in the main session"));
    }
    if cleared.kept > 0 {
        let kept = lines::count(cleared.kept, "page");
        lines.push(format!("kept {kept} that it wrote in the main session itself"));
    }
    if cleared.group_kept > 0 {
        let kept = lines::count(cleared.group_kept, "page");
        lines.push(format!("kept {kept} that it wrote in groups"));
    }
    if cleared.published.is_empty() {
        lines.push("the main session is unchanged".to_owned());
    }
    if cleared.runs > 0 {
        lines.push(format!("gave up {}", lines::count(cleared.runs, "interrupted run")));
    }
    if let Some(mode) = session {
        lines.push(format!("kept the session's override ({mode})"));
    }
    if !cleared.isolated.is_empty() || !cleared.published.is_empty() {
        lines.push("`contexture undo` brings them back".to_owned());
    }
    lines
}
