//! `contexture load`

use std::path::PathBuf;

use contexture_agents::{setup, wire::LoadedObject};
use contexture_core::{Clock, Edit, document};
use contexture_storage::SystemClock;

use super::Status;
use crate::{error::Result, input, lines, printer::Printer, settings::Settings};

/// Fill a new or empty session from an exported document
///
/// All or nothing: a document with any error changes nothing. The session is created if it does not
/// exist.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture export > session.json && contexture --session copy load session.json")]
pub(crate) struct Args {
    /// The document; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let bytes = input::bytes(&args.file, input::MOST_OF_A_DOCUMENT)?;
    let document::Parsed { plan, warnings } = document::parse(&bytes, SystemClock.now())?;
    drop(bytes);
    let loaded = LoadedObject {
        session: settings.session.to_string(),
        segments: plan.segments.len(),
        pages: plan.pages.len(),
        warnings,
    };
    let (engine, by) = (settings.engine().await?, settings.system_side());
    setup::load(&engine, &settings.session, by, Edit::Load(Box::new(plan))).await?;
    if printer.is_json() {
        printer.json(&loaded)?;
        return Ok(Status::Done);
    }
    for warning in &loaded.warnings {
        printer.warn(warning)?;
    }
    let segments = lines::count(loaded.segments as u64, "segment");
    let pages = lines::count(loaded.pages as u64, "page");
    printer.line(format_args!("loaded {segments} and {pages} into session {}", loaded.session))?;
    Ok(Status::Done)
}
