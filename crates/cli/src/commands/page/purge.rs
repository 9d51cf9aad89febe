//! `contexture page purge`

use contexture_core::Edit;
use serde_json::json;

use crate::{
    commands::Status, context::Caller, error::Result, lines, printer::Printer, settings::Settings,
};

/// Destroy a page, with all below it, for good: remove archives, purge destroys
///
/// The text goes from the page, the archive and the history; no undo brings it back. Agents may
/// never do this.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  contexture page create --parent usr-0 --name Secret && contexture page purge usr-1")]
pub(crate) struct Args {
    /// The page, such as usr-3, in the tree or in the archive
    #[arg(value_name = "INDEX")]
    pub(super) index: String,
}

pub(crate) async fn run(
    args: Args,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    let caller = Caller::open(settings).await?;
    let outcome = caller.apply(Edit::PurgePage(caller.index(&args.index)?)).await?;
    if printer.is_json() {
        printer.json(&json!({ "purged": outcome.pages }))?;
    } else {
        let pages = lines::indices(printer.paint(), &outcome.pages);
        printer.line(format_args!("purged for good: {pages}"))?;
    }
    Ok(Status::Done)
}
