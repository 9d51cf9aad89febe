//! `contexture turn result`

use std::path::PathBuf;

use contexture_core::{Edit, Message, message::ToolResult};

use crate::{
    commands::Status, context, error::Result, input, printer::Printer, settings::Settings,
};

/// Store the result of an open tool call
///
/// Answers a call that `turn open` left without a result. Results can come in any order; once all are
/// there, the pages are the same as if the whole exchange had been added at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  echo '[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",
      \"function\":{\"name\":\"read_file\",\"arguments\":\"{}\"}}]}]' | contexture turn open --messages - \\
    && echo 'no such file' | contexture turn result call_1 --text-file - --error")]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// The id of the call, as the assistant message has it
    #[arg(value_name = "CALL")]
    call: String,
    /// What the tool returned
    #[arg(long, value_name = "TEXT", group = "what", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file with what the tool returned; - reads standard input
    #[arg(long, value_name = "FILE", group = "what")]
    text_file: Option<PathBuf>,
    /// The tool failed, and the text says why
    #[arg(long)]
    error: bool,
    /// The segment of the call; by default the one you write to, `usr`
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// A key of your choice: sent again with the same key and content, it is stored once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let text = match (args.text, &args.text_file) {
        (Some(text), _) => text,
        (None, Some(file)) => input::text(file)?,
        (None, None) => String::new(),
    };
    let result = ToolResult { error: args.error, ..ToolResult::text(args.call, text) };
    let session = context::open(settings).await?;
    let segment = super::segment(&session, args.segment.as_deref())?;
    let edit = Edit::AddResults { segment, messages: vec![Message::result(result)] };
    let outcome = super::apply(&session, edit, args.key.as_deref()).await?;
    super::print(&session, &outcome, printer).await
}
