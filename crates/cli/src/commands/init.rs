//! `contexture init`

use std::path::PathBuf;

use contexture_agents::{
    setup::{self, Prepared},
    wire::{InitialisedObject, SegmentObject},
};

use super::Status;
use crate::{error::Result, input, lines, printer::Printer, sanitize, settings::Settings};

/// Create the store and the session, ready for use
///
/// The session gets the segments `sys` (kind system, read-only for agents) and `usr` (kind user,
/// read-write). Run it as often as you like: existing data stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture init
  echo 'You are a careful assistant.' | contexture init --system -")]
pub(crate) struct Args {
    /// Put this file's text into `sys` as the page 'System prompt', or update that page; - reads
    /// standard input
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let prompt = args.system.as_deref().map(input::text).transpose()?;
    let engine = settings.engine().await?;
    let by = settings.system_side();
    let Prepared { system, created } =
        setup::prepare(&engine, &settings.session, by, prompt.as_deref()).await?;
    let segments = system.as_system().reader().segments();
    if printer.is_json() {
        printer.json(&InitialisedObject {
            session: system.session().to_string(),
            store: settings.store.to_string(),
            created,
            segments: segments.iter().map(|segment| SegmentObject::from(&**segment)).collect(),
        })?;
        return Ok(Status::Done);
    }
    let (session, store) = (&settings.session, sanitize::line(&settings.store.to_string()));
    match created {
        true => printer.line(format_args!("created session {session} in {store}"))?,
        false => printer.line(format_args!("session {session} already exists in {store}"))?,
    }
    for line in lines::segments(printer.paint(), segments.iter().map(|segment| &**segment)) {
        printer.line(line)?;
    }
    Ok(Status::Done)
}
