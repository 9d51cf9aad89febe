//! `contexture history`

use contexture_agents::wire::{HistoryObject, ListObject};
use contexture_core::Revision;

use super::Status;
use crate::{
    context,
    error::{Result, Stop},
    lines,
    printer::Printer,
    settings::Settings,
};

/// Show who changed what and when, newest first
///
/// Every committed edit stays in the history for good. With --as, it shows your own edits and those of
/// the system side, on pages you see.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture history --limit 5")]
pub(crate) struct Args {
    /// Print at most this many entries
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Continue where an earlier list ended: the value of its `next`, a revision
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let before = args.cursor.as_deref().map(revision).transpose()?;
    let session = context::open(settings).await?;
    let listing = session.reader().history(before, args.limit.into()).await?;
    let last = listing.items.last().map(|entry| entry.revision);
    let next = last.filter(|_| listing.more).map(|revision| revision.to_string());
    if printer.is_json() {
        let items = listing.items.iter().map(HistoryObject::from).collect();
        printer.json(&ListObject { items, next })?;
        return Ok(Status::Done);
    }
    for line in lines::history(printer.paint(), &listing.items) {
        printer.line(line)?;
    }
    // Every revision is an edit, and the system side sees them all.
    let remaining = last.filter(|_| session.principal().view().is_none()).map(|last| last.0 - 1);
    printer.more(next.as_deref(), remaining)?;
    Ok(Status::Done)
}

/// Parses a revision.
pub(crate) fn revision(text: &str) -> Result<Revision> {
    text.parse().map(Revision).map_err(|_| {
        let message = format!("invalid revision '{text}': it is not a number");
        Stop::invalid(message, "`contexture history` shows the revisions")
    })
}
