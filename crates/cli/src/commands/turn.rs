//! `contexture turn …`

mod add;
mod close;
mod messages;
mod result;

use clap::Subcommand;
use contexture_agents::wire::TurnObject;
use contexture_core::{Edit, EditOutcome, Message, SegmentId, Session};
use serde::{Deserialize, Serialize};

use super::Status;
use crate::{context, error::Result, lines, printer::Printer, sanitize, settings::Settings};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Add(add::Args),
    /// Continue your own latest turn in a segment
    ///
    /// Takes whole exchanges without a user message: an assistant message with all results of its tool
    /// calls. They join the turn's last page while it is the last in line and not full; otherwise they
    /// begin a new page.
    #[command(after_help = "\
Example:
  contexture turn add --user 'Hello' \\
    && echo '[{\"role\":\"assistant\",\"content\":\"Hello!\"}]' | contexture turn extend --messages -")]
    Extend(messages::Args),
    /// Write messages whose last tool calls have no result yet
    ///
    /// User messages begin turns; what comes before them continues your own latest turn. Results follow with
    /// `turn result` as the tools return them. Until then windows show a fixed line as the result of each open
    /// call, and you add nothing else to the segment.
    #[command(after_help = "\
Example:
  echo '[{\"role\":\"user\",\"content\":\"What is in a.txt?\"},
    {\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"call_1\",
      \"function\":{\"name\":\"read_file\",\"arguments\":\"{}\"}}]}]' | contexture turn open --messages - \\
    && contexture turn result call_1 --text 'It is empty.'")]
    Open(messages::Args),
    Result(result::Args),
    Close(close::Args),
}

/// What to write: all that a command of this family takes, its files read.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Write {
    how: How,
    /// The segment; none for the one the caller writes to.
    segment: Option<String>,
    messages: Vec<Message>,
    /// The key under which it is stored once.
    key: Option<String>,
}

/// How messages are written.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum How {
    Add,
    Extend,
    Open,
    Results,
    Close,
}

impl Command {
    /// Reads what is to be written.
    pub(crate) fn read(self) -> Result<Write> {
        match self {
            Command::Add(args) => args.read(),
            Command::Extend(args) => args.read(How::Extend),
            Command::Open(args) => args.read(How::Open),
            Command::Result(args) => args.read(),
            Command::Close(args) => Ok(args.read()),
        }
    }
}

#[cfg(feature = "server")]
impl Write {
    /// Returns whether writing it twice is the same as writing it once.
    pub(crate) fn is_keyed(&self) -> bool {
        self.key.is_some()
    }
}

pub(crate) async fn run(
    write: Write,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let session = context::open(settings).await?;
    let segment = segment(&session, write.segment.as_deref())?;
    let messages = write.messages;
    let edit = match write.how {
        How::Add => Edit::AddTurn { segment, messages },
        How::Extend => Edit::ExtendTurn { segment, messages },
        How::Open => Edit::OpenExchange { segment, messages },
        How::Results => Edit::AddResults { segment, messages },
        How::Close => Edit::CloseExchange { segment },
    };
    let outcome = apply(&session, edit, write.key.as_deref()).await?;
    print(&session, &outcome, printer).await
}

/// Prints the pages that were created or extended.
async fn print(
    session: &Session,
    outcome: &EditOutcome,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    if printer.is_json() {
        printer.json(&TurnObject { pages: outcome.pages.clone() })?;
        return Ok(Status::Done);
    }
    let mut pages = Vec::with_capacity(outcome.pages.len());
    for index in &outcome.pages {
        // The turn is written, even if others have removed it since.
        pages.extend(session.reader().page_or_archived(index).await.ok());
    }
    for line in lines::pages(printer.paint(), &pages) {
        printer.line(line)?;
    }
    for detail in pages.iter().filter_map(|seen| seen.page.detail()) {
        if !detail.open.is_empty() {
            printer.line(format_args!("waits for the results of: {}", open_calls(&detail.open)))?;
        }
    }
    Ok(Status::Done)
}

/// Names calls that wait for their results.
pub(crate) fn open_calls(ids: &[String]) -> String {
    ids.iter().map(|id| sanitize::line(id)).collect::<Vec<_>>().join(", ")
}

/// Makes an edit, under a key where one is given.
async fn apply(session: &Session, edit: Edit, key: Option<&str>) -> Result<EditOutcome> {
    Ok(match key {
        Some(key) => session.keyed(key.parse()?).apply(edit).await?,
        None => session.apply(edit).await?,
    })
}

/// Returns the segment for turns: the one named, or the one the caller writes to.
fn segment(session: &Session, named: Option<&str>) -> Result<SegmentId> {
    Ok(named.map_or_else(|| Ok(session.writes_to()), str::parse)?)
}
