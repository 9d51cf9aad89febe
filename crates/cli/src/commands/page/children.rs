//! `contexture page children`

use contexture_core::{Place, storage::Order};

use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context::Caller,
    error::{Result, Stop},
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
    /// Print the last pages instead, this many, still in order
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
    let caller = Caller::open_snapshot(settings).await?;
    let index = caller.index(&args.index)?;
    let reader = caller.reader();
    if let Some(last) = args.last {
        let mut tail = reader.children(&index, Order::Backward, None, last.into()).await?.items;
        tail.reverse();
        return super::print_list(&caller, &tail, None, args.text.texts(), printer).await;
    }
    let listing = reader.children(&index, Order::Forward, after, args.list.limit()).await?;
    let last = listing.items.last().map(|seen| seen.page.place);
    let next = last.filter(|_| listing.more).map(|place| place.to_string());
    super::print_list(&caller, &listing.items, next, args.text.texts(), printer).await
}

fn place(cursor: &str) -> Result<Place> {
    cursor.parse().map(Place).map_err(|_| {
        let message = format!("invalid cursor '{cursor}': it is not a number");
        Stop::invalid(message, "use the `next` of the list before")
    })
}
