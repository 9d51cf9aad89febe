//! `contexture store …`

mod check;

use clap::Subcommand;

use super::Status;
use crate::{error::Result, printer::Printer, settings::Settings};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Check(check::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Check(args) => check::run(args, settings, printer).await,
    }
}
