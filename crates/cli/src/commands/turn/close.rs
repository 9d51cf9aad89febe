//! `contexture turn close`

use contexture_core::Edit;

use crate::{commands::Status, context, error::Result, printer::Printer, settings::Settings};

/// Answer the tool calls that are still open as interrupted
///
/// For tools whose result will never come, for example because the program died. The calls stay, and their
/// results say that none was recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  echo '[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",
      \"function\":{\"name\":\"read_file\",\"arguments\":\"{}\"}}]}]' | contexture turn open --messages - \\
    && contexture turn close --interrupted")]
pub(crate) struct Args {
    /// Answer every open call as interrupted
    #[arg(long, required = true)]
    interrupted: bool,
    /// The segment of the calls; by default the one you write to, `usr`
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open(settings).await?;
    let segment = super::segment(&session, args.segment.as_deref())?;
    let outcome = session.apply(Edit::CloseExchange { segment }).await?;
    super::print(&session, &outcome, printer).await
}
