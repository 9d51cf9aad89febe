//! `contexture completions`

use clap::CommandFactory;
use clap_complete::Shell;

use super::Status;
use crate::{args::Cli, error::Result, printer::Printer};

/// Print a completion script for a shell
///
/// Put it where your shell looks for completion scripts, or source it directly.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  contexture completions bash > contexture.bash")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, printer: &mut Printer<'_>) -> Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "contexture", &mut script);
    printer.bytes(&script)?;
    Ok(Status::Done)
}
