//! `contexture turn …`

mod add;
mod extend;

use clap::Subcommand;
use contexture_agents::wire::TurnObject;
use contexture_core::EditOutcome;

use super::Status;
use crate::{context::Caller, error::Result, lines, printer::Printer, settings::Settings};

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

/// Prints the pages that were made or extended.
async fn print(
    caller: &Caller,
    outcome: &EditOutcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        printer.json(&TurnObject { pages: outcome.pages.clone() })?;
        return Ok(Status::Done);
    }
    let mut pages = Vec::with_capacity(outcome.pages.len());
    for index in &outcome.pages {
        // The turn is written, whether others let it stand or not.
        pages.extend(caller.reader().page_or_archived(index).await.ok());
    }
    for line in lines::pages(printer.paint(), &pages) {
        printer.line(line)?;
    }
    Ok(Status::Done)
}
