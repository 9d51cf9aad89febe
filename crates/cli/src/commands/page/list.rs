//! `contexture page list`

use contexture_core::system::{ListQuery, Listing, PageView};

use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context::Caller,
    error::Result,
    printer::Printer,
    settings::Settings,
};

/// List the pages you see: segments in order, then by number
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture page list
  contexture page list --archived")]
pub(crate) struct Args {
    /// List the archive instead of the tree
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
    let caller = Caller::open_snapshot(settings).await?;
    let listing = query(&caller, &args.list, args.archived, None).await?;
    let next = next(&listing);
    super::print_list(&caller, &listing.items, next, args.text.texts(), printer).await
}

/// Lists pages in natural order from a cursor on.
pub(super) async fn query(
    caller: &Caller,
    list: &ListArgs,
    archived: bool,
    matching: Option<String>,
) -> Result<Listing<PageView>> {
    let after = list.cursor.as_deref().map(|cursor| caller.index(cursor)).transpose()?;
    if let Some(after) = after.as_ref().filter(|_| !archived) {
        caller.reader().segment(after.segment())?;
    }
    let query = ListQuery { after, limit: list.limit(), archived, matching };
    Ok(caller.reader().list(&query).await?)
}

/// Returns the cursor after a listing: the last page's index.
pub(super) fn next(listing: &Listing<PageView>) -> Option<String> {
    let last = listing.items.last().filter(|_| listing.more);
    last.map(|seen| seen.page.index.to_string())
}
