//! `contexture turn add`

use std::path::PathBuf;

use contexture_core::{Message, Role, message::parse_messages};

use super::{How, Write};
use crate::{error::Result, input};

/// Write one or more turns at the end of a segment
///
/// A turn is a user message and everything that follows it until the next one: several user messages make
/// several turns. A long turn is split into several pages, never between a tool call and its result.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture turn add --user 'What is 6 x 7?' --assistant 42
  echo '[{\"role\":\"user\",\"content\":\"Hello\"}]' | contexture turn add --messages -")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub(crate) struct Args {
    /// The segment to write to; by default the one you write to, `usr`
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// The user's message
    #[arg(long, value_name = "TEXT", group = "what", allow_hyphen_values = true)]
    user: Option<String>,
    /// The assistant's answer
    #[arg(long, value_name = "TEXT", group = "what", allow_hyphen_values = true)]
    assistant: Option<String>,
    /// A file with an OpenAI- or Anthropic-style array of messages; - reads standard input
    #[arg(long, value_name = "FILE", group = "what", conflicts_with_all = ["user", "assistant"])]
    messages: Option<PathBuf>,
    /// A key of your choice: sent again with the same key and content, it is stored once
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
}

impl Args {
    /// Reads what is to be written.
    pub(super) fn read(self) -> Result<Write> {
        let messages = match &self.messages {
            Some(file) => parse_messages(&input::bytes(file, input::MOST)?)?,
            None => {
                let user = self.user.map(|text| Message::text(Role::User, text));
                let assistant = self.assistant.map(|text| Message::text(Role::Assistant, text));
                user.into_iter().chain(assistant).collect()
            }
        };
        Ok(Write { how: How::Add, segment: self.segment, messages, key: self.key })
    }
}
