//! `contexture turn open`

use std::path::PathBuf;

use contexture_core::{Edit, message::parse_messages};

use crate::{
    commands::Status, context, error::Result, input, printer::Printer, settings::Settings,
};

/// Write messages whose last tool calls have no result yet
///
/// User messages begin turns; what comes before them continues your own latest turn. Results follow with
/// `turn result` as the tools return them. Until then windows show a fixed line as the result of each open
/// call, and you add nothing else to the segment.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  echo '[{\"role\":\"user\",\"content\":\"What is in a.txt?\"},
    {\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",
      \"function\":{\"name\":\"read_file\",\"arguments\":\"{}\"}}]}]' | contexture turn open --messages - \\
    && contexture turn result call_1 --text 'It is empty.'")]
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
    let edit = Edit::OpenExchange { segment, messages };
    let outcome = super::apply(&session, edit, args.key.as_deref()).await?;
    super::print(&session, &outcome, printer).await
}
