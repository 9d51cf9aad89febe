//! `contexture turn extend`

use std::path::PathBuf;

use contexture_core::{Edit, message::parse_messages};

use crate::{
    commands::Status, context, error::Result, input, printer::Printer, settings::Settings,
};

/// Continue your own latest turn in a segment
///
/// Takes whole exchanges without a user message: an assistant message with all results of its tool
/// calls. They join the turn's last page while it is the last in line and not full; otherwise they
/// begin a new page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture turn add --user 'Hello' \\
    && echo '[{\"role\":\"assistant\",\"content\":\"Hello!\"}]' | contexture turn extend --messages -")]
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
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let messages = parse_messages(&input::bytes(&args.messages, input::MOST)?)?;
    let session = context::open(settings).await?;
    let segment = super::segment(&session, args.segment.as_deref())?;
    let edit = Edit::ExtendTurn { segment, messages };
    let outcome = super::apply(&session, edit, args.key.as_deref()).await?;
    super::print(&session, &outcome, printer).await
}
