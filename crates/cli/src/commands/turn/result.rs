//! `contexture turn result`

use std::path::PathBuf;

use contexture_core::{Message, message::ToolResult};

use super::{How, Write};
use crate::{error::Result, input};

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

impl Args {
    /// Reads what is to be written.
    pub(super) fn read(self) -> Result<Write> {
        let text = match (self.text, &self.text_file) {
            (Some(text), _) => text,
            (None, Some(file)) => input::text(file)?,
            (None, None) => String::new(),
        };
        let result = ToolResult { error: self.error, ..ToolResult::text(self.call, text) };
        let messages = vec![Message::result(result)];
        Ok(Write { how: How::Results, segment: self.segment, messages, key: self.key })
    }
}
