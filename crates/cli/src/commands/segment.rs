//! `contexture segment …`

mod add;
mod list;
mod remove;
mod show;
mod update;

use clap::Subcommand;
use contexture_core::{Segment, Tokens};

use super::Status;
use crate::{
    error::{Result, Stop},
    harmless,
    json::SegmentObject,
    lines,
    printer::Printer,
    settings::Settings,
};

/// What `--permission` suggests.
const PERMISSIONS: &[&str] = &["read-only", "read-write", "system-managed"];

/// What `--kind` suggests.
const KINDS: &[&str] = &["system", "user", "tool", "custom"];

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Update(update::Args),
    Remove(remove::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Add(args) => add::run(args, settings, printer).await,
        Command::List(args) => list::run(args, settings, printer).await,
        Command::Show(args) => show::run(args, settings, printer).await,
        Command::Update(args) => update::run(args, settings, printer).await,
        Command::Remove(args) => remove::run(args, settings, printer).await,
    }
}

/// Prints one segment.
fn print(segment: &Segment, printer: &mut Printer<'_>) -> Result<Status> {
    if printer.is_json() {
        printer.json(&SegmentObject::from(segment))?;
        return Ok(Status::Done);
    }
    for line in lines::segments(printer.paint(), [segment]) {
        printer.line(line)?;
    }
    if !segment.description.is_empty() {
        printer.line(harmless::text(segment.description.as_str()))?;
    }
    Ok(Status::Done)
}

/// Reads a capacity; a negative one is refused (C46).
fn capacity(text: &str) -> Result<Tokens> {
    text.parse().map(Tokens).map_err(|_| {
        let message = format!("invalid capacity '{text}': it is not a whole number of tokens");
        Stop::invalid(message, "give a number of tokens; 0 is unlimited")
    })
}
