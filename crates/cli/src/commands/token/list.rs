//! `contexture token list`

use contexture_agents::wire::ListObject;
use contexture_server::Tokens;

use crate::{commands::Status, error::Result, printer::Printer};

/// List the tokens of this session, oldest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture token list")]
pub(crate) struct Args {}

pub(crate) async fn run(_: Args, tokens: &Tokens, printer: &mut Printer<'_>) -> Result<Status> {
    let items = tokens.list().await?;
    if printer.is_json() {
        printer.json(&ListObject { items, next: None })?;
        return Ok(Status::Done);
    }
    if items.is_empty() {
        printer.note("this session has no tokens")?;
    }
    for token in &items {
        printer.line(super::line(printer.paint(), token))?;
    }
    Ok(Status::Done)
}
