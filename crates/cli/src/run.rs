//! One command line, from its words to its exit code.
//!
//! The tour runs the lines it shows through [`run`] too, so what it shows is what happens.

use std::{
    ffi::OsString,
    io::{self, IsTerminal as _},
};

use clap::{Parser, error::ErrorKind};

use crate::{
    args::Cli,
    commands::{self, Status},
    error::Stop,
    misuse,
    printer::Printer,
};

/// Runs a command line and returns its exit code: 0 done, 1 refused or failed, 2 misused, 3 done with
/// traces left of what was destroyed.
pub(crate) fn run(line: impl IntoIterator<Item = OsString>, printer: &mut Printer<'_>) -> u8 {
    let line: Vec<OsString> = line.into_iter().collect();
    // Known before parsing, so that an argument nobody can read is still reported as asked.
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
    // What a person types must not have a line written into it.
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
        Err(stop) => report(&stop, printer),
    }
}

/// Tells why a command stopped, and returns the exit code.
pub(crate) fn report(stop: &Stop, printer: &mut Printer<'_>) -> u8 {
    match stop {
        // Whoever read the output has had enough, as `head` has; that is no failure.
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
            "put text of another encoding into a file, converted to UTF-8",
        );
        return report(&stop, printer);
    }
    let exit = if error.use_stderr() { 2 } else { 0 };
    if printer.is_json() && error.use_stderr() {
        let (message, hint) = misuse::explain(error);
        printer.fail(contexture_core::ErrorKind::Invalid, &message, &hint);
        return exit;
    }
    // Nobody is left to hear of it when this cannot be written either.
    let _ = printer.clap(&error.render(), error.use_stderr());
    exit
}
