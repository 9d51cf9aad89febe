//! `contexture turn …`

mod add;
mod close;
mod extend;
mod open;
mod result;

use clap::Subcommand;
use contexture_agents::wire::TurnObject;
use contexture_core::{Edit, EditOutcome, SegmentId, Session};

use super::Status;
use crate::{error::Result, lines, printer::Printer, sanitize, settings::Settings};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Add(add::Args),
    Extend(extend::Args),
    Open(open::Args),
    Result(result::Args),
    Close(close::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Add(args) => add::run(args, settings, printer).await,
        Command::Extend(args) => extend::run(args, settings, printer).await,
        Command::Open(args) => open::run(args, settings, printer).await,
        Command::Result(args) => result::run(args, settings, printer).await,
        Command::Close(args) => close::run(args, settings, printer).await,
    }
}

/// Prints the pages that were created or extended.
async fn print(
    session: &Session,
    outcome: &EditOutcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        printer.json(&TurnObject { pages: outcome.pages.clone() })?;
        return Ok(Status::Done);
    }
    let mut pages = Vec::with_capacity(outcome.pages.len());
    for index in &outcome.pages {
        // The turn is written, even if others have removed it since.
        pages.extend(session.reader().page_or_archived(index).await.ok());
    }
    for line in lines::pages(printer.paint(), &pages) {
        printer.line(line)?;
    }
    for detail in pages.iter().filter_map(|seen| seen.page.detail()) {
        if !detail.open.is_empty() {
            printer.line(format_args!("waits for the results of: {}", open_calls(&detail.open)))?;
        }
    }
    Ok(Status::Done)
}

/// Names calls that wait for their results.
pub(crate) fn open_calls(ids: &[String]) -> String {
    ids.iter().map(|id| sanitize::line(id)).collect::<Vec<_>>().join(", ")
}

/// Makes an edit, under a key where one is given.
async fn apply(session: &Session, edit: Edit, key: Option<&str>) -> Result<EditOutcome> {
    Ok(match key {
        Some(key) => session.keyed(key.parse()?).apply(edit).await?,
        None => session.apply(edit).await?,
    })
}

/// Returns the segment for turns: the one named, or the one the caller writes to.
fn segment(session: &Session, named: Option<&str>) -> Result<SegmentId> {
    Ok(named.map_or_else(|| Ok(session.writes_to()), str::parse)?)
}
