//! `contexture segment …`

mod add;
mod list;
mod remove;
mod show;
mod update;

use clap::Subcommand;
use contexture_agents::wire::SegmentObject;
use contexture_core::{Permission, Segment, SegmentId, SegmentKind, Tokens};

use super::Status;
use crate::{
    error::{Result, Stop},
    lines,
    printer::Printer,
    sanitize,
    settings::Settings,
};

/// The values that `--permission` suggests.
const PERMISSIONS: &[&str] = &["read-only", "read-write", "system-managed"];

/// The values that `--kind` suggests.
const KINDS: &[&str] = &["system", "user", "tool", "custom"];

/// What `--permission` means.
const PERMISSION_HELP: &str = "\
What agents may do in it

- read-only, the strictest: agents read the segment and choose how much of it they see.
- read-write: agents also create, change, move and remove its pages.
- system-managed, the loosest: agents also rename the segment, change this very permission and remove the segment. \
The name sounds strict but is not: it means that agents manage the segment as the system side does.";

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Add(add::Args),
    List(list::Args),
    Show(show::Args),
    Update(update::Args),
    Remove(remove::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Add(args) => add::run(args, settings, printer).await,
        Command::List(args) => list::run(args, settings, printer).await,
        Command::Show(args) => show::run(args, settings, printer).await,
        Command::Update(args) => update::run(args, settings, printer).await,
        Command::Remove(args) => remove::run(args, settings, printer).await,
    }
}

/// Prints one segment.
fn print(segment: &Segment, printer: &mut Printer<'_>) -> Result<Status> {
    if printer.is_json() {
        printer.json(&SegmentObject::from(segment))?;
        return Ok(Status::Done);
    }
    for line in lines::segments(printer.paint(), [segment]) {
        printer.line(line)?;
    }
    if !segment.description.is_empty() {
        printer.line(sanitize::text(segment.description.as_str()))?;
    }
    Ok(Status::Done)
}

/// Requires `--yes` before agents get write access to system prompts, and says what they could then
/// do.
fn confirm_writable_prompt(
    id: &SegmentId,
    kind: SegmentKind,
    permission: Permission,
    yes: bool,
) -> Result<()> {
    if yes || kind != SegmentKind::System || permission == Permission::ReadOnly {
        return Ok(());
    }
    Err(Stop::invalid(
        format!(
            "segment {id} holds system prompts: with {permission}, agents that see it can rewrite, hide, move and remove all of its pages except the root, and so their own instructions"
        ),
        "add --yes if that is what you want; otherwise use read-only",
    ))
}

/// Reads a capacity; a negative one is refused.
fn capacity(text: &str) -> Result<Tokens> {
    text.parse().map(Tokens).map_err(|_| {
        let message = format!("invalid capacity '{text}': it is not a whole number of tokens");
        Stop::invalid(message, "give a number of tokens; 0 means unlimited")
    })
}
