//! `contexture turn extend`

use std::path::PathBuf;

use contexture_core::{Edit, message::parse_messages};

use crate::{
    commands::Status, context::Caller, error::Result, input, printer::Printer, settings::Settings,
};

/// Continue your own latest turn in a segment
///
/// Takes whole exchanges without a user message: an assistant message with all results of its tool
/// calls. They join the turn's last page while it is the last in line and not full, else they begin a
/// new one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture turn add --user 'Hello' \\
    && echo '[{\"role\":\"assistant\",\"content\":\"Hello!\"}]' | contexture turn extend --messages -")]
pub(crate) struct Args {
    /// Where; by default where you write, `usr`
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// An OpenAI- or Anthropic-style array of messages; - reads standard input
    #[arg(long, value_name = "FILE")]
    messages: PathBuf,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let messages = parse_messages(&input::bytes(&args.messages, input::MOST)?)?;
    let caller = Caller::open(settings).await?;
    let segment = caller.turn_segment(args.segment.as_deref())?;
    let outcome = caller.apply(Edit::ExtendTurn { segment, messages }).await?;
    super::print(&caller, &outcome, printer).await
}
