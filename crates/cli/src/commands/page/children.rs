//! `contexture page children`

use contexture_core::storage::{Order, Place};

use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context,
    error::{Result, Stop},
    lines,
    printer::Printer,
    settings::Settings,
};

/// List the pages in a directory, in order
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture page children usr-0
  contexture page children usr-0 --last 20")]
pub(crate) struct Args {
    /// The directory, such as usr-0
    #[arg(value_name = "INDEX")]
    index: String,
    /// Print the last N pages instead, still in order
    #[arg(long, value_name = "N", conflicts_with_all = ["limit", "cursor"])]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    last: Option<u16>,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    text: TextArgs,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let after = args.list.cursor.as_deref().map(place).transpose()?;
    let session = context::open_snapshot(settings).await?;
    let index = session.index(&args.index)?;
    let reader = session.reader();
    let texts = args.text.texts();
    if let Some(last) = args.last {
        let tail = reader.children(&index, Order::Backward, None, last.into()).await?;
        let mut items = tail.items;
        items.reverse();
        super::print_list(&session, &items, None, None, texts, printer).await?;
        if tail.more && !printer.is_json() {
            let left = reader.child_count(&index).await?.saturating_sub(items.len() as u64);
            let left = lines::grouped(left);
            printer.note(&format!("… {left} earlier: page children {index}"))?;
        }
        return Ok(Status::Done);
    }
    let is_begin = after.is_none();
    let listing = reader.children(&index, Order::Forward, after, args.list.limit()).await?;
    let last = listing.items.last().map(|seen| seen.page.place);
    let next = last.filter(|_| listing.more).map(|place| place.to_string());
    // The number of pages before a cursor is not known.
    let remaining = match next.is_some() && is_begin && !printer.is_json() {
        true => Some(reader.child_count(&index).await?.saturating_sub(listing.items.len() as u64)),
        false => None,
    };
    super::print_list(&session, &listing.items, next, remaining, texts, printer).await
}

fn place(cursor: &str) -> Result<Place> {
    cursor.parse().map(Place).map_err(|_| {
        let message = format!("invalid cursor '{cursor}': it is not a number");
        Stop::invalid(message, "use the `next` value of the previous list")
    })
}
