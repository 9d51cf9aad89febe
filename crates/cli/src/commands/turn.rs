//! `contexture turn …`

mod add;
mod extend;

use clap::Subcommand;
use contexture_agents::wire::TurnObject;
use contexture_core::{EditOutcome, SegmentId, Session};

use super::Status;
use crate::{error::Result, lines, printer::Printer, settings::Settings};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Add(add::Args),
    Extend(extend::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Add(args) => add::run(args, settings, printer).await,
        Command::Extend(args) => extend::run(args, settings, printer).await,
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
    Ok(Status::Done)
}

/// Returns the segment for turns: the one named, or the one the caller writes to.
fn segment(session: &Session, named: Option<&str>) -> Result<SegmentId> {
    Ok(named.map_or_else(|| Ok(session.writes_to()), str::parse)?)
}
