//! The command line of Contexture: flags → settings → components → one function per command.
//!
//! Only this crate knows the terminal and the environment. Data goes to standard output, messages to
//! standard error. Every command writes through the [`printer::Printer`] it is given and leaves to the
//! core every decision that the core can make.

mod advice;
mod agent_run;
mod args;
mod commands;
mod context;
mod error;
mod input;
mod job;
mod lines;
mod log;
mod misuse;
mod pager;
mod printer;
mod process;
mod progress;
mod project;
mod run;
mod sanitize;
#[cfg(feature = "server")]
mod served;
mod settings;
mod shares;
mod store;
mod terminal;
mod tree;

use std::{
    io::{self, BufWriter, IsTerminal},
    process::ExitCode,
};

use printer::{Paint, Printer};
use terminal::TerminalWriter;

fn main() -> ExitCode {
    let paint = (Paint::for_stream(&io::stdout()), Paint::for_stream(&io::stderr()));
    // Not locked: other threads write log lines to standard error.
    let mut out = BufWriter::new(TerminalWriter::new(io::stdout()));
    let mut err = TerminalWriter::new(io::stderr());
    let mut printer = Printer::new(&mut out, &mut err, paint);
    printer.set_terminal(io::stdout().is_terminal(), io::stderr().is_terminal());
    let started = log::start(&mut printer);
    ExitCode::from(started.unwrap_or_else(|| run::run(std::env::args_os(), &mut printer)))
}
