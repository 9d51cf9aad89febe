//! `contexture store …`

mod check;
mod copy;
mod scrub;
pub(crate) mod traces;

use std::ffi::OsString;

use clap::Subcommand;

use super::Status;
use crate::{error::Result, printer::Printer, settings::Settings};

#[derive(Debug, Subcommand)]
#[command(disable_help_subcommand = true)]
pub(crate) enum Command {
    Check(check::Args),
    Copy(copy::Args),
    Scrub(scrub::Args),
}

impl Command {
    /// Returns what to show while a person waits.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Command::Check(args) => args.doing(),
            Command::Copy(_) => "copying",
            Command::Scrub(_) => "scrubbing the store",
        }
    }

    /// Notes the line it was parsed from.
    pub(crate) fn note_line(&mut self, line: &[OsString]) {
        match self {
            Command::Check(_) | Command::Scrub(_) => {}
            Command::Copy(args) => args.note_line(line),
        }
    }
}

pub(crate) async fn run(
    command: Command,
    settings: &Settings,
    printer: &mut Printer<'_>,
) -> Result<Status> {
    match command {
        Command::Check(args) => check::run(args, settings, printer).await,
        Command::Copy(args) => copy::run(args, settings, printer).await,
        Command::Scrub(args) => scrub::run(args, settings, printer).await,
    }
}
