//! `contexture export`

use contexture_core::document;

use super::Status;
use crate::{context, error::Result, printer::Printer, settings::Settings};

/// Print the whole session as one JSON document
///
/// The document holds segments and pages with their messages, the archive included, but no history and no
/// views. `load` reads it back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture export > session.json")]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, settings: &Settings, printer: &mut Printer<'_>) -> Result<Status> {
    let (system, _) = context::open_host(settings).await?;
    let document = document::export(&system).await?;
    printer.json_text(document.trim_end())?;
    Ok(Status::Done)
}
