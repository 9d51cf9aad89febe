//! `contexture page list`

use contexture_core::{ErrorKind, Lifecycle, ListQuery, Listing, PageIndex, PageView};

use crate::{
    args::{ListArgs, TextArgs},
    commands::Status,
    context::Caller,
    error::Result,
    printer::Printer,
    settings::Settings,
};

/// How many of the pages that are left out are counted, and how many at a time.
const COUNTED: (u64, usize) = (10_000, 1_000);

/// List the pages you see: segments in order, then by number
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
    /// Begin with the newest page of each segment, instead of the oldest
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
    let caller = Caller::open_snapshot(settings).await?;
    let listing = match args.newest {
        true => newest(&caller, &args.list, args.archived).await?,
        false => query(&caller, &args.list, args.archived, None).await?,
    };
    let next = next(&listing);
    let (items, texts) = (&listing.items, args.text.texts());
    // What comes before the cursor is not counted from the other end.
    let left = match items.last().filter(|_| listing.more && !args.newest && !printer.is_json()) {
        Some(last) => count_after(&caller, &last.page.index, args.archived).await?,
        None => None,
    };
    let is_old_first = next.is_some() && !args.newest && !printer.is_json();
    super::print_list(&caller, items, next, left, texts, printer).await?;
    if is_old_first && args.list.cursor.is_none() {
        printer.tip("--newest begins with the newest")?;
    }
    Ok(Status::Done)
}

/// Counts the pages after one in natural order; none where there are very many.
async fn count_after(caller: &Caller, last: &PageIndex, archived: bool) -> Result<Option<u64>> {
    let (most, limit) = COUNTED;
    let (mut count, mut after) = (0, Some(last.clone()));
    while count < most {
        let query = ListQuery { after, limit, archived, matching: None };
        let listing = caller.reader().list(&query).await?;
        count += listing.items.len() as u64;
        match listing.items.last().filter(|_| listing.more) {
            Some(last) => after = Some(last.page.index.clone()),
            None => return Ok(Some(count)),
        }
    }
    Ok(None)
}

/// Lists pages from the newest of each segment on: numbers only grow. A cursor is the page that was
/// listed last.
async fn newest(caller: &Caller, list: &ListArgs, archived: bool) -> Result<Listing<PageView>> {
    let reader = caller.reader();
    let after = list.cursor.as_deref().map(|cursor| caller.index(cursor)).transpose()?;
    let mut segments: Vec<_> = reader.segments();
    if let Some(after) = &after {
        let first = reader.segment(after.segment())?.id.clone();
        let at = segments.iter().position(|segment| segment.id == first);
        segments.drain(..at.unwrap_or(segments.len()));
    }
    let mut items = Vec::new();
    for segment in segments {
        let begin = after.as_ref().filter(|after| *after.segment() == segment.id);
        let begin = begin.map(PageIndex::number);
        let begin = begin.unwrap_or_else(|| caller.system().with_counter(&segment).next_number);
        for number in (0..begin).rev() {
            let index = PageIndex::new(segment.id.clone(), number);
            let seen = match reader.page_or_archived(&index).await {
                Ok(seen) => seen,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            if (seen.lifecycle == Lifecycle::ColdArchived) != archived {
                continue;
            }
            if items.len() == list.limit() {
                return Ok(Listing { items, more: true });
            }
            items.push(seen);
        }
    }
    Ok(Listing { items, more: false })
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
