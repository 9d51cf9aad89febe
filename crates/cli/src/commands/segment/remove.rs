//! `contexture segment remove`

use contexture_core::{Edit, SegmentId};

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

/// Remove a segment; its pages move to the archive
///
/// A segment that holds pages needs --cascade; one of kind system also needs --force. Its pages stay in
/// the archive, and `undo` brings everything back. Prints the segment as it was.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture segment add old --kind tool --permission read-only && contexture segment remove old")]
pub(crate) struct Args {
    /// Its id
    #[arg(value_name = "ID")]
    id: String,
    /// Move its pages to the archive
    #[arg(long)]
    cascade: bool,
    /// Remove it even if it is of kind system
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let segment: SegmentId = args.id.parse()?;
    let session = context::open(settings).await?;
    let removed = session.reader().segment(&segment)?;
    let Args { cascade, force, .. } = args;
    session.apply(Edit::RemoveSegment { segment, cascade, force }).await?;
    super::print(&removed, printer)
}
