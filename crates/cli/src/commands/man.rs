//! `contexture man`

use std::{fs, path::PathBuf};

use clap::CommandFactory;
use clap_mangen::Man;
use contexture_core::ErrorKind;

use super::Status;
use crate::{
    args::Cli,
    error::{Result, Stop},
    lines,
    printer::Printer,
    sanitize,
};

/// Print the manual page, or write one for every command into a folder
///
/// The pages say what --help says. The folder is created if it does not exist; add it to MANPATH, or
/// move the pages in its man1 to where man looks for pages.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  contexture man > contexture.1
  contexture man manual && ls manual/man1")]
pub(crate) struct Args {
    /// The folder to write all pages to, in man1 below it
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, printer: &mut Printer<'_>) -> Result<Status> {
    let command = Cli::command().disable_help_subcommand(true);
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        printer.bytes(&page)?;
        return Ok(Status::Done);
    };
    let folder = folder.join("man1");
    let written = fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(command, &folder))
        .and_then(|()| Ok(fs::read_dir(&folder)?.count()));
    let folder = folder.display().to_string();
    let count = written.map_err(|error| {
        let message = format!("cannot write manual pages to {folder}: {error}");
        Stop::failed(ErrorKind::Unavailable, message, "choose a folder that you can write to")
    })?;
    let pages = lines::count(count as u64, "manual page");
    printer.line(format_args!("{pages} in {}", sanitize::line(&folder)))?;
    Ok(Status::Done)
}
