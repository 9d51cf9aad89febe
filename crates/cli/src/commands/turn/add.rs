//! `contexture turn add`

use std::path::PathBuf;

use contexture_core::{Edit, Message, Role, message::parse_messages};

use crate::{
    commands::Status, context::Caller, error::Result, input, printer::Printer, settings::Settings,
};

/// Write one or more turns at the end of a segment
///
/// A turn is a user message and all that follows until the next: several user messages make several
/// turns. A long turn is cut into several pages, never between a tool call and its result.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture turn add --user 'What is 6 x 7?' --assistant 42
  echo '[{\"role\":\"user\",\"content\":\"Hello\"}]' | contexture turn add --messages -")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub(crate) struct Args {
    /// Where; by default where you write, `usr`
    #[arg(long, value_name = "SEGMENT")]
    segment: Option<String>,
    /// What the user says
    #[arg(long, value_name = "TEXT", group = "what", allow_hyphen_values = true)]
    user: Option<String>,
    /// What the assistant answers
    #[arg(long, value_name = "TEXT", group = "what", allow_hyphen_values = true)]
    assistant: Option<String>,
    /// An OpenAI- or Anthropic-style array of messages; - reads standard input
    #[arg(long, value_name = "FILE", group = "what", conflicts_with_all = ["user", "assistant"])]
    messages: Option<PathBuf>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let messages = match &args.messages {
        Some(file) => parse_messages(&input::bytes(file, input::MOST)?)?,
        None => {
            let user = args.user.map(|text| Message::text(Role::User, text));
            let assistant = args.assistant.map(|text| Message::text(Role::Assistant, text));
            user.into_iter().chain(assistant).collect()
        }
    };
    let caller = Caller::open(settings).await?;
    let segment = caller.turn_segment(args.segment.as_deref())?;
    let outcome = caller.apply(Edit::AddTurn { segment, messages }).await?;
    super::print(&caller, &outcome, printer).await
}
