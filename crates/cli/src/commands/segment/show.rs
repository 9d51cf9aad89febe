//! `contexture segment show`

use contexture_core::SegmentId;

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

/// Show one segment
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture segment show usr")]
pub(crate) struct Args {
    /// Its id
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let id: SegmentId = args.id.parse()?;
    let session = context::open(settings).await?;
    let segment = session.reader().segment(&id)?;
    super::print(&segment, printer)
}
