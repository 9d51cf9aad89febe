//! `contexture turn close`

use super::{How, Write};

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

impl Args {
    /// Returns what is to be written.
    pub(super) fn read(self) -> Write {
        Write { how: How::Close, segment: self.segment, messages: Vec::new(), key: None }
    }
}
