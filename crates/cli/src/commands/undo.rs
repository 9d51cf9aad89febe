//! `contexture undo`

use contexture_agents::wire::UndoObject;
use contexture_core::Edit;

use super::{Status, history};
use crate::{context, error::Result, lines, printer::Printer, settings::Settings};

/// Undo your own newest edit, or the one named
///
/// An undo is a new edit, so nothing disappears from the history; undoing an undo does the edit again. An
/// edit that a later one builds on is a conflict. A purge cannot be undone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture page create --parent usr-0 --name Plan --detail '1. read' && contexture undo
  contexture undo 3")]
pub(crate) struct Args {
    /// The edit to undo, by its number in `history`
    #[arg(value_name = "REVISION")]
    revision: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let revision = args.revision.as_deref().map(history::revision).transpose()?;
    let session = context::open(settings).await?;
    let outcome = session.apply(Edit::Undo { revision }).await?;
    if printer.is_json() {
        printer.json(&UndoObject::from(&outcome))?;
        return Ok(Status::Done);
    }
    let undone = outcome.undone.map(|revision| revision.to_string()).unwrap_or_default();
    let pages = lines::indices(printer.paint(), &outcome.pages);
    printer.line(lines::join([
        format!("revision {undone} undone by revision {}", outcome.revision),
        pages,
    ]))?;
    Ok(Status::Done)
}
