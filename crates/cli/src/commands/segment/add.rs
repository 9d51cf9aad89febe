//! `contexture segment add`

use contexture_core::{Edit, NewSegment, SegmentId, Tokens};

use super::{KINDS, PERMISSION_HELP, PERMISSIONS};
use crate::{
    args::Suggested, commands::Status, context, error::Result, printer::Printer, settings::Settings,
};

/// Add a segment with its root page
///
/// A segment is a tree of pages with its own numbering: the root of `notes` is notes-0, its first page
/// is notes-1. Segments named agent-NAME, prompt-NAME and group-NAME are visible to their owner only. A
/// segment of kind system that agents may write to needs --yes: they could change their own prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture segment add notes --kind custom --permission read-write --name 'My notes'")]
pub(crate) struct Args {
    /// Its id: letters, digits and _, joined by single dashes
    #[arg(value_name = "ID")]
    id: String,
    /// Its kind
    #[arg(long, value_name = "KIND", value_parser = Suggested(KINDS))]
    kind: String,
    #[arg(long, value_name = "PERMISSION", value_parser = Suggested(PERMISSIONS))]
    #[arg(help = "What agents may do in it", long_help = PERMISSION_HELP)]
    permission: String,
    /// The most tokens it may take in a window; 0 means unlimited
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    capacity: Option<String>,
    /// Its name; by default its id
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    name: Option<String>,
    /// Its description
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
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
    let new = NewSegment {
        id: id.clone(),
        name: args.name.as_deref().map(str::parse).transpose()?,
        description: args.description.as_deref().unwrap_or_default().parse()?,
        kind: args.kind.parse()?,
        permission: args.permission.parse()?,
        capacity: args.capacity.as_deref().map_or(Ok(Tokens(0)), super::capacity)?,
    };
    super::confirm_writable_prompt(&id, new.kind, new.permission, args.yes)?;
    let session = context::open(settings).await?;
    session.apply(Edit::AddSegment(new)).await?;
    let segment = session.reader().segment(&id)?;
    super::print(&segment, printer)
}
