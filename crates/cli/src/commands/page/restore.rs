//! `contexture page restore`

use contexture_core::Edit;

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

/// Restore a page and everything below it from the archive
///
/// The page keeps its index and returns to its old place, or to the end of the segment's root if its
/// directory is gone. If its segment is gone, choose a directory with --to; the page then gets a new
/// index.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Plan && contexture page remove usr-1 \\
    && contexture page restore usr-1")]
pub(crate) struct Args {
    /// The page, such as usr-3
    #[arg(value_name = "INDEX")]
    index: String,
    /// The directory to put it in, at the end, instead of its old place
    #[arg(long, value_name = "INDEX")]
    to: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open(settings).await?;
    let page = session.index(&args.index)?;
    let to = args.to.as_deref().map(|to| session.index(to)).transpose()?;
    let outcome = session.apply(Edit::RestorePage { page, to }).await?;
    super::print_made(&session, &outcome, printer).await
}
