//! Who shares what: a drawing of histories and the agents that read and write them (M-40).
//!
//! A history is a box; under it hang the agents that read and write it, and those that only record
//! what they answered there.

use contexture_agents::{
    AgentDefinition, ContextMode, Team,
    definition::{ContextFilter, PublishResult},
    team::Link,
};
use contexture_core::SegmentId;
use serde::Serialize;

use super::{list, show, warn_of_files};
use crate::{commands::Status, crew::Crew, error::Result, harmless, lines, printer::Printer};

#[derive(Debug, Serialize)]
struct Graph {
    histories: Vec<History>,
}

/// A segment and those who have to do with it.
#[derive(Debug, Serialize)]
struct History {
    kind: Kind,
    label: String,
    segment: SegmentId,
    /// Pages right under its root; none when the segment is not there yet.
    pages: Option<u64>,
    agents: Vec<Member>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Main,
    Group,
    Own,
}

#[derive(Debug, Serialize)]
struct Member {
    name: String,
    mode: ContextMode,
    relation: Relation,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<ContextFilter>,
}

/// What an agent does with a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Relation {
    /// It reads it, and its turns are written there.
    Shares,
    /// Only its requests and answers are recorded there.
    Publishes,
}

pub(super) async fn run(
    crew: &Crew,
    team: Option<&Team>,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut histories = vec![history(Kind::Main, "usr".parse()?, "Main Session".to_owned())];
    for agent in crew.catalog.agents() {
        let Some(standing) = list::standing(crew, team, agent, printer).await? else { continue };
        let mode = standing.mode();
        let (kind, label) = match &standing.link {
            Link::Main(_) => (Kind::Main, String::new()),
            Link::Group(_) => {
                (Kind::Group, format!("Group {}", agent.context_group.as_deref().unwrap_or("")))
            }
            Link::Own(_) => (Kind::Own, format!("{} alone", agent.name)),
        };
        let segment = standing.link.segment().clone();
        let at = match histories.iter().position(|there| there.segment == segment) {
            Some(at) => at,
            None => {
                histories.push(history(kind, segment, label));
                histories.len() - 1
            }
        };
        histories[at].agents.push(member(agent, mode, Relation::Shares));
        if mode == ContextMode::Isolated && agent.publish_result == PublishResult::Exchange {
            histories[0].agents.push(member(agent, mode, Relation::Publishes));
        }
    }
    histories.sort_by(|one, other| (one.kind, &one.segment).cmp(&(other.kind, &other.segment)));
    if let Some(team) = team {
        let session = team.system().as_system();
        let reader = session.reader();
        for history in &mut histories {
            if reader.segment(&history.segment).is_ok() {
                history.pages = Some(reader.child_count(&history.segment.root()).await?);
            }
        }
    }
    if printer.is_json() {
        printer.json(&Graph { histories })?;
    } else {
        for history in &histories {
            draw(history, printer)?;
        }
    }
    warn_of_files(crew, printer)?;
    Ok(Status::Done)
}

fn history(kind: Kind, segment: SegmentId, label: String) -> History {
    History { kind, label, segment, pages: None, agents: Vec::new() }
}

fn member(agent: &AgentDefinition, mode: ContextMode, relation: Relation) -> Member {
    let filtered = mode == ContextMode::Shared && agent.context_filter != ContextFilter::default();
    let filter = filtered.then(|| agent.context_filter.clone());
    Member { name: agent.name.to_string(), mode, relation, filter }
}

fn draw(history: &History, printer: &mut Printer<'_>) -> Result<()> {
    let pages = match history.pages {
        Some(pages) => lines::count(pages, "page"),
        None => "not begun".to_owned(),
    };
    let label = harmless::line(&history.label);
    let below = format!("{} · {pages}", history.segment);
    let width = label.chars().count().max(below.chars().count());
    let paint = printer.paint();
    let rule = "─".repeat(width + 2);
    let pad = |text: &str| " ".repeat(width - text.chars().count());
    printer.line(format_args!("┌{rule}┐"))?;
    printer.line(format_args!("│ {}{} │", paint.strong(&label), pad(&label)))?;
    printer.line(format_args!("│ {}{} │", paint.dim(&below), pad(&below)))?;
    let Some(last) = history.agents.len().checked_sub(1) else {
        printer.line(format_args!("└{rule}┘"))?;
        return printer.line("");
    };
    printer.line(format_args!("└─┬{}┘", "─".repeat(width)))?;
    let names = history.agents.iter().map(|member| member.name.len()).max().unwrap_or_default();
    for (at, member) in history.agents.iter().enumerate() {
        let (branch, line) = match (at == last, member.relation) {
            (false, Relation::Shares) => ("├─", "reads and writes"),
            (true, Relation::Shares) => ("└─", "reads and writes"),
            (false, Relation::Publishes) => ("├╌", "only its answers are recorded here"),
            (true, Relation::Publishes) => ("└╌", "only its answers are recorded here"),
        };
        let filter = member.filter.as_ref().map(show::filter).unwrap_or_default();
        let line = lines::join([
            paint.id(format!("{:names$}", member.name)),
            format!("{:8}", member.mode.as_str()),
            line.to_owned(),
            paint.dim(filter),
        ]);
        printer.line(format_args!("  {branch} {line}"))?;
    }
    printer.line("")
}
