//! `contexture page move`

use contexture_core::{Edit, PageIndex, system::Outcome};
use serde::Serialize;

use crate::{
    commands::Status, context::Caller, error::Result, printer::Printer, settings::Settings,
};

/// Move a page, with all below it, to the end of a directory
///
/// Within a segment it keeps its index. In another segment it and all below it get new ones; the old
/// ones then answer where their page went. Prints old and new indices.
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
    /// The directory it goes to the end of
    #[arg(long, value_name = "INDEX")]
    to: String,
}

#[derive(Serialize)]
struct Moved {
    moved: Vec<Move>,
}

#[derive(Serialize)]
struct Move {
    from: PageIndex,
    to: PageIndex,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let caller = Caller::open(settings).await?;
    let (page, to) = (caller.index(&args.index)?, caller.index(&args.to)?);
    let outcome = caller.apply(Edit::MovePage { page: page.clone(), to }).await?;
    print(&page, outcome, printer)
}

/// Prints old and new indices after a move.
pub(crate) fn print(
    page: &PageIndex,
    outcome: Outcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let mut moved: Vec<Move> =
        outcome.moved.into_iter().map(|(from, to)| Move { from, to }).collect();
    if moved.is_empty() {
        moved.push(Move { from: page.clone(), to: page.clone() });
    }
    if printer.is_json() {
        printer.json(&Moved { moved })?;
        return Ok(Status::Done);
    }
    let paint = printer.paint();
    for Move { from, to } in &moved {
        printer.line(format_args!("{} → {}", paint.id(from), paint.id(to)))?;
    }
    Ok(Status::Done)
}
