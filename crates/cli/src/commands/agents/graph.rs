//! Draws who shares what: histories and the agents that read and write them (M-40).
//!
//! A history is a box. Under it hang the agents that read and write it, and those that only record their
//! answers there.

use contexture_agents::{
    Team,
    wire::{GraphObject, HistoryRelation, SharedHistoryObject},
};

use super::{list, show, warn_of_files};
use crate::{commands::Status, error::Result, lines, printer::Printer, project::Project, sanitize};

pub(super) async fn run(
    project: &Project,
    team: Option<&Team>,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut agents = Vec::new();
    for agent in project.catalog.agents() {
        let effective = list::effective_mode(project, team, agent, printer).await?;
        agents.extend(effective.map(|effective| (agent, effective)));
    }
    let graph = GraphObject::of(&agents, team).await?;
    if printer.is_json() {
        printer.json(&graph)?;
    } else {
        for history in &graph.histories {
            draw(history, printer)?;
        }
    }
    warn_of_files(project, printer)?;
    Ok(Status::Done)
}

fn draw(history: &SharedHistoryObject, printer: &mut Printer<'_>) -> Result<()> {
    let pages = match history.pages {
        Some(pages) => lines::count(pages, "page"),
        None => "no pages yet".to_owned(),
    };
    let label = sanitize::line(&history.label);
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
            (false, HistoryRelation::Shares) => ("├─", "reads and writes"),
            (true, HistoryRelation::Shares) => ("└─", "reads and writes"),
            (false, HistoryRelation::Publishes) => ("├╌", "only records its answers here"),
            (true, HistoryRelation::Publishes) => ("└╌", "only records its answers here"),
            (false, HistoryRelation::Forks) => ("├╌", "begins as what is seen here"),
            (true, HistoryRelation::Forks) => ("└╌", "begins as what is seen here"),
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
