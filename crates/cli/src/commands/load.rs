//! `contexture load`

use std::{path::PathBuf, sync::Arc};

use contexture_core::{Clock, ContextSystem, Edit, document};
use contexture_storage::SystemClock;
use serde::Serialize;

use super::{Status, init};
use crate::{error::Result, input, lines, printer::Printer, settings::Settings, store::Access};

/// Fill a new or empty session from an exported document
///
/// All or nothing: a document with anything wrong in it changes nothing. The session is made where
/// it does not exist.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture export > session.json && contexture --session copy load session.json")]
pub(crate) struct Args {
    /// The document; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Serialize)]
struct Loaded {
    session: String,
    segments: usize,
    pages: usize,
    warnings: Vec<String>,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let bytes = input::bytes(&args.file, input::MOST_OF_A_DOCUMENT)?;
    let document::Parsed { plan, warnings } = document::parse(&bytes, SystemClock.now())?;
    drop(bytes);
    let loaded = Loaded {
        session: settings.session.to_string(),
        segments: plan.segments.len(),
        pages: plan.pages.len(),
        warnings,
    };
    let storage = settings.store.open(Access::Create).await?;
    let (session, clock) = (settings.session.clone(), Arc::new(SystemClock));
    let edit = Edit::Load(Box::new(plan));
    if storage.session(&session).await?.is_some() {
        ContextSystem::open(storage, session, clock).await?.as_system().apply(edit).await?;
    } else {
        ContextSystem::create_with(storage, session, init::APP, clock, &edit).await?;
    }
    if printer.is_json() {
        printer.json(&loaded)?;
        return Ok(Status::Done);
    }
    for warning in &loaded.warnings {
        printer.warn(warning)?;
    }
    let segments = lines::count(loaded.segments as u64, "segment");
    let pages = lines::count(loaded.pages as u64, "page");
    printer.line(format_args!("session {}: {segments}, {pages} loaded", loaded.session))?;
    Ok(Status::Done)
}
