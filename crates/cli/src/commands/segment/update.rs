//! `contexture segment update`

use contexture_core::{Edit, SegmentId, SegmentUpdate};

use super::{PERMISSION_HELP, PERMISSIONS};
use crate::{
    args::Suggested, commands::Status, context, error::Result, printer::Printer, settings::Settings,
};

/// Change a segment's name, description, permission or capacity
///
/// A field that is not given, or empty, stays as it is. Allowing agents to write to a segment of kind
/// system needs --yes: they could change their own prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture segment update usr --capacity 8000")]
pub(crate) struct Args {
    /// Its id
    #[arg(value_name = "ID")]
    id: String,
    /// Its name
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: Option<String>,
    /// Its description
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    #[arg(long, value_name = "PERMISSION", value_parser = Suggested(PERMISSIONS))]
    #[arg(help = "What agents may do in it", long_help = PERMISSION_HELP)]
    permission: Option<String>,
    /// The most tokens it may take in a window; 0 means unlimited
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    capacity: Option<String>,
    /// Allow agents to write to a segment of kind system
    #[arg(long)]
    yes: bool,
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
    let session = context::open(settings).await?;
    let now = session.reader().segment(&id)?;
    if let Some(permission) = update.permission.filter(|asked| *asked != now.permission) {
        super::confirm_writable_prompt(&id, now.kind, permission, args.yes)?;
    }
    session.apply(Edit::UpdateSegment(update)).await?;
    let segment = session.reader().segment(&id)?;
    super::print(&segment, printer)
}
