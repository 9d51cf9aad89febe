//! `contexture session …`

mod create;
mod list;
mod remove;
pub(super) mod set;

use clap::Subcommand;

use super::Status;
use crate::{error::Result, printer::Printer, settings::Settings};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    List(list::Args),
    Create(create::Args),
    Remove(remove::Args),
    Set(set::Args),
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::List(args) => list::run(args, settings, printer).await,
        Command::Create(args) => create::run(args, settings, printer).await,
        Command::Remove(args) => remove::run(args, settings, printer).await,
        Command::Set(args) => set::run(args, settings, printer).await,
    }
}
