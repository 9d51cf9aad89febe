//! The commands that write messages from a file to the caller's own turn: extend and open.

use std::path::PathBuf;

use contexture_core::message::parse_messages;

use super::{How, Write};
use crate::{error::Result, input};

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

impl Args {
    /// Reads what is to be written.
    pub(super) fn read(self, how: How) -> Result<Write> {
        let messages = parse_messages(&input::bytes(&self.messages, input::MOST)?)?;
        Ok(Write { how, segment: self.segment, messages, key: self.key })
    }
}
