//! The commands that write messages from a file to the caller's own turn: extend and open.

use std::path::PathBuf;

use contexture_core::{Edit, Message, SegmentId, message::parse_messages};

use crate::{
    commands::Status, context, error::Result, input, printer::Printer, settings::Settings,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The segment to write to; by default the one you write to, `usr`
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// A file with an OpenAI- or Anthropic-style array of messages; - reads standard input
    #[arg(long, value_name = "FILE")]
    messages: PathBuf,
    /// A key of your choice: sent again with the same key and content, it is stored once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(crate) async fn run(
    edit: fn(SegmentId, Vec<Message>) -> Edit,
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let messages = parse_messages(&input::bytes(&args.messages, input::MOST)?)?;
    let session = context::open(settings).await?;
    let segment = super::segment(&session, args.segment.as_deref())?;
    let outcome = super::apply(&session, edit(segment, messages), args.key.as_deref()).await?;
    super::print(&session, &outcome, printer).await
}
