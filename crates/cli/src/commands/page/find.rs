//! `contexture page find`

use super::list;
use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context,
    error::Result,
    printer::Printer,
    settings::Settings,
};

/// Find pages by text in their name or description, ignoring case
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name 'A plan' && contexture page find plan")]
pub(crate) struct Args {
    /// The text to look for
    #[arg(value_name = "QUERY")]
    query: String,
    /// Search the archive instead of the tree
    #[arg(long)]
    archived: bool,
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
    let session = context::open_snapshot(settings).await?;
    let listing = list::query(&session, &args.list, args.archived, Some(args.query)).await?;
    let next = list::next(&listing);
    super::print_list(&session, &listing.items, next, None, args.text.texts(), printer).await
}
