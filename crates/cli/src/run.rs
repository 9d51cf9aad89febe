//! Runs one command line, from its words to its exit code.
//!
//! The tour also runs the lines it shows through [`run`], so its output is real.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
};

use clap::{Parser, error::ErrorKind};

use crate::{
    args::{Cli, joined_values},
    commands::{self, Status},
    error::Stop,
    misuse,
    printer::Printer,
};

/// Runs a command line and returns its exit code: 0 done, 1 refused or failed, 2 misused, 3 done but
/// traces of destroyed data remain, 4 an agent's run waits for approval.
pub(crate) fn run(line: impl IntoIterator<Item = OsString>, printer: &mut Printer<'_>) -> u8 {
    let line = joined_values(line);
    // Decided before parsing, so that an argument that cannot be parsed is reported in the right form.
    printer.set_json(line.iter().take_while(|word| *word != "--").any(|word| word == "--json"));
    let mut cli = match Cli::try_parse_from(&line) {
        Ok(cli) => cli,
        Err(error) => return misused(&error, &line, printer),
    };
    match cli.command.rearranged(&line) {
        Ok(None) => {}
        Ok(Some(line)) => match Cli::try_parse_from(&line) {
            Ok(rearranged) => cli = rearranged,
            Err(error) => return misused(&error, &line, printer),
        },
        Err(stop) => return report(&stop, printer),
    }
    printer.set_json(cli.global.json);
    cli.command.note_line(&line);
    // No progress line while a person is typing: it would be written into their text.
    let is_typed = line.iter().any(|word| word == "-") && io::stdin().is_terminal();
    if let Some(doing) = cli.command.doing().filter(|_| !is_typed) {
        printer.progress(doing);
    }
    let done = commands::dispatch(cli, printer).and_then(|status| {
        printer.flush()?;
        Ok(status)
    });
    match done {
        Ok(Status::Done) => 0,
        Ok(Status::NotOk) => 1,
        Ok(Status::TracesRemain) => 3,
        Ok(Status::Waiting) => 4,
        Err(stop) => report(&stop, printer),
    }
}

/// Reports why a command stopped, and returns the exit code.
pub(crate) fn report(stop: &Stop, printer: &mut Printer<'_>) -> u8 {
    match stop {
        // The reader closed the output early, as `head` does; that is not a failure.
        Stop::Closed => 0,
        Stop::Failed { kind, message, hint } => {
            printer.fail(*kind, message, hint);
            1
        }
    }
}

fn misused(error: &clap::Error, line: &[OsString], printer: &mut Printer<'_>) -> u8 {
    if error.kind() == ErrorKind::InvalidUtf8 {
        let what = match line.iter().find(|word| word.to_str().is_none()) {
            Some(word) => format!("the argument '{}'", word.to_string_lossy()),
            None => "CONTEXTURE_STORE".to_owned(),
        };
        let stop = Stop::invalid(
            format!("{what} is not valid UTF-8"),
            "convert the text to UTF-8 and put it into a file",
        );
        return report(&stop, printer);
    }
    let exit = if error.use_stderr() { 2 } else { 0 };
    if printer.is_json() && error.use_stderr() {
        let (message, hint) = misuse::explain(error);
        printer.fail(contexture_core::ErrorKind::Invalid, &message, &hint);
        return exit;
    }
    // If this cannot be written either, there is nowhere left to report it.
    let _ = printer.clap(&error.render(), error.use_stderr());
    exit
}
