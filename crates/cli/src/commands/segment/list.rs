//! `contexture segment list`

use contexture_agents::wire::{ListObject, SegmentObject};
use contexture_core::SegmentId;

use crate::{
    args::ListArgs, commands::Status, context, error::Result, lines, printer::Printer,
    settings::Settings,
};

/// List the segments you see, in order
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture --as helper segment list")]
pub(crate) struct Args {
    #[command(flatten)]
    list: ListArgs,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let after: Option<SegmentId> = args.list.cursor.as_deref().map(str::parse).transpose()?;
    let session = context::open(settings).await?;
    let all = session.reader().segments();
    let begin = match after {
        None => 0,
        Some(after) => {
            session.reader().segment(&after)?;
            all.iter().position(|segment| segment.id == after).map_or(all.len(), |at| at + 1)
        }
    };
    let limit = args.list.limit();
    let segments: Vec<_> = all.iter().skip(begin).take(limit).map(|segment| &**segment).collect();
    let remaining = all.len() - begin - segments.len();
    let next = segments.last().filter(|_| remaining > 0).map(|segment| segment.id.to_string());
    if printer.is_json() {
        let items = segments.into_iter().map(SegmentObject::from).collect();
        printer.json(&ListObject { items, next })?;
        return Ok(Status::Done);
    }
    for line in lines::segments(printer.paint(), segments) {
        printer.line(line)?;
    }
    printer.more(next.as_deref(), Some(remaining as u64))?;
    Ok(Status::Done)
}
