//! `contexture page move`

use contexture_agents::wire::{MoveObject, MovedObject};
use contexture_core::{Edit, EditOutcome, PageIndex};

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

/// Move a page and everything below it to the end of a directory
///
/// Within its segment, the page keeps its index. In another segment, it and all pages below it get new
/// indices; the old ones then say where their page went. Prints the old and new indices.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan \\
    && contexture page create --contents --parent usr-0 --name Drafts \\
    && contexture page move usr-1 --to usr-2")]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
    /// The directory to move it to, at the end
    #[arg(long, value_name = "INDEX")]
    to: String,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open(settings).await?;
    let (page, to) = (session.index(&args.index)?, session.index(&args.to)?);
    let outcome = session.apply(Edit::MovePage { page: page.clone(), to }).await?;
    print(&page, outcome, printer)
}

/// Prints old and new indices after a move.
pub(crate) fn print(
    page: &PageIndex,
    outcome: EditOutcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let moved = MovedObject::new(page, outcome);
    if printer.is_json() {
        printer.json(&moved)?;
        return Ok(Status::Done);
    }
    let paint = printer.paint();
    for MoveObject { from, to } in &moved.moved {
        printer.line(format_args!("{} → {}", paint.id(from), paint.id(to)))?;
    }
    Ok(Status::Done)
}
