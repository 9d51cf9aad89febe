//! `contexture page list`

use contexture_core::{ListQuery, Listing, PageIndex, PageView, Session};

use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context,
    error::Result,
    printer::Printer,
    settings::Settings,
};

/// How many of the remaining pages to count at most, and how many at a time.
const COUNTED: (u64, usize) = (10_000, 1_000);

/// List the pages you see: segments in order, pages by number
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture page list
  contexture page list --newest --limit 20
  contexture page list --archived")]
pub(crate) struct Args {
    /// List the archive instead of the tree
    #[arg(long)]
    archived: bool,
    /// Start with the newest page of each segment instead of the oldest
    #[arg(long)]
    newest: bool,
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
    let listing = query(&session, &args).await?;
    let next = next(&listing);
    let (items, texts) = (&listing.items, args.text.texts());
    // With --newest the remaining pages are not counted.
    let remaining =
        match items.last().filter(|_| listing.more && !args.newest && !printer.is_json()) {
            Some(last) => count_after(&session, &last.page.index, args.archived).await?,
            None => None,
        };
    let is_old_first = next.is_some() && !args.newest && !printer.is_json();
    super::print_list(&session, items, next, remaining, texts, printer).await?;
    if is_old_first && args.list.cursor.is_none() {
        printer.tip("--newest lists the newest pages first")?;
    }
    Ok(Status::Done)
}

/// Counts the pages after one in natural order; none if there are very many.
async fn count_after(session: &Session, last: &PageIndex, archived: bool) -> Result<Option<u64>> {
    let (most, limit) = COUNTED;
    let (mut count, mut after) = (0, Some(last.clone()));
    while count < most {
        let query = ListQuery { after, limit, archived, ..ListQuery::default() };
        let listing = session.reader().list(&query).await?;
        count += listing.items.len() as u64;
        match listing.items.last().filter(|_| listing.more) {
            Some(last) => after = Some(last.page.index.clone()),
            None => return Ok(Some(count)),
        }
    }
    Ok(None)
}

/// Lists pages, starting after a cursor.
async fn query(session: &Session, args: &Args) -> Result<Listing<PageView>> {
    let Args { archived, newest, list, .. } = args;
    let after = list.cursor.as_deref().map(|cursor| session.index(cursor)).transpose()?;
    if let Some(after) = after.as_ref().filter(|_| !archived) {
        session.reader().segment(after.segment())?;
    }
    let (limit, archived, newest) = (list.limit(), *archived, *newest);
    let query = ListQuery { after, limit, archived, newest, matching: None };
    Ok(session.reader().list(&query).await?)
}

/// Returns the cursor after a listing: the last page's index.
fn next(listing: &Listing<PageView>) -> Option<String> {
    let last = listing.items.last().filter(|_| listing.more);
    last.map(|seen| seen.page.index.to_string())
}
