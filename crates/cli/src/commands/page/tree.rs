//! `contexture page tree`

use contexture_agents::wire::{ListObject, TreeBounds, TreeObject};
use contexture_core::storage::Order;

use crate::{
    args::TextArgs, commands::Status, context, error::Result, printer::Printer, settings::Settings,
    tree::Branch,
};

/// How many pages to draw in total.
const PAGES: usize = 2_000;

/// Draw the tree of pages: everything you see, or the tree below one page
///
/// The names of directories end in a slash. In a large directory the first pages are drawn and the rest
/// are counted; with --newest the last pages are drawn, the newest at the top.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture page tree
  contexture page tree usr-0 --limit 10
  contexture page tree usr-0 --newest")]
pub(crate) struct Args {
    /// The page at the top; by default the root of every segment
    #[arg(value_name = "INDEX")]
    index: Option<String>,
    /// Draw at most this many pages per directory
    #[arg(long, value_name = "N", default_value_t = 50)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Draw nested directories down to this depth
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    depth: u16,
    /// Draw the newest pages of each directory first
    #[arg(long)]
    newest: bool,
    #[command(flatten)]
    text: TextArgs,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open_snapshot(settings).await?;
    let order = if args.newest { Order::Backward } else { Order::Forward };
    let (children, depth) = (args.limit.into(), args.depth.into());
    let mut bounds = TreeBounds { order, children, depth, pages: PAGES };
    let tops = match &args.index {
        Some(index) => vec![session.index(index)?],
        None => session.reader().segments().iter().map(|segment| segment.root()).collect(),
    };
    if !printer.is_json() {
        for top in tops {
            let seen = session.reader().page(&top).await?;
            let branch = Branch::grow(&session, seen, &mut bounds).await?;
            for line in branch.draw(printer.paint()) {
                printer.line(line)?;
            }
        }
        return Ok(Status::Done);
    }
    let mut items = Vec::with_capacity(tops.len());
    for top in tops {
        let seen = session.reader().page(&top).await?;
        let texts = args.text.texts();
        items.push(TreeObject::read(&session, &seen, texts, &mut bounds).await?);
    }
    match (&args.index, items.as_slice()) {
        (Some(_), [only]) => printer.json(only)?,
        _ => printer.json(&ListObject { items, next: None })?,
    }
    Ok(Status::Done)
}
