//! `contexture segment update`

use contexture_core::{Edit, SegmentId, SegmentUpdate};

use super::PERMISSIONS;
use crate::{
    args::Suggested, commands::Status, context::Caller, error::Result, printer::Printer,
    settings::Settings,
};

/// Change a segment's name, description, permission or capacity
///
/// What is not given, or empty, stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture segment update usr --capacity 8000")]
pub(crate) struct Args {
    /// Its id
    #[arg(value_name = "ID")]
    id: String,
    /// What it is called
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: Option<String>,
    /// What it is about
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// What agents may do in it
    #[arg(long, value_name = "PERMISSION", value_parser = Suggested(PERMISSIONS))]
    permission: Option<String>,
    /// How many tokens it may take in a window; 0 is unlimited
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    capacity: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let id: SegmentId = args.id.parse()?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let update = SegmentUpdate {
        segment: id.clone(),
        name: given(&args.name).as_deref().map(str::parse).transpose()?,
        description: given(&args.description).as_deref().map(str::parse).transpose()?,
        permission: args.permission.as_deref().map(str::parse).transpose()?,
        capacity: args.capacity.as_deref().map(super::capacity).transpose()?,
    };
    let caller = Caller::open(settings).await?;
    caller.apply(Edit::UpdateSegment(update)).await?;
    let segment = caller.reader().segment(&id)?;
    super::print(&segment, printer)
}
