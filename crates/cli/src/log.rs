//! The log: off unless `CONTEXTURE_LOG` turns it on, and then on standard error.

use std::io::{self, IsTerminal as _};

use tracing_subscriber::EnvFilter;

use crate::{error::Stop, printer::Printer, run, terminal::TerminalWriter};

/// The variable that turns the log on.
const VARIABLE: &str = "CONTEXTURE_LOG";

/// Starts the log if the environment asks for it; returns an exit code if the filter is invalid.
pub(crate) fn start(printer: &mut Printer<'_>) -> Option<u8> {
    let wanted = std::env::var_os(VARIABLE).filter(|text| !text.is_empty())?;
    let filter = wanted.to_str().and_then(|text| EnvFilter::try_new(text).ok());
    let Some(filter) = filter else {
        let message = format!("CONTEXTURE_LOG '{}' is not a log filter", wanted.to_string_lossy());
        let hint = "use error, warn, info, debug or trace, or module=level";
        return Some(run::report(&Stop::invalid(message, hint), printer));
    };
    begin(filter);
    None
}

/// Starts the log of a process that runs for long, unless the environment asked for another: requests, and
/// what went wrong.
#[cfg(feature = "server")]
pub(crate) fn start_by_default() {
    if std::env::var_os(VARIABLE).is_none_or(|text| text.is_empty()) {
        begin(EnvFilter::new("warn,contexture_server=info"));
    }
}

/// Returns whether the environment asks for a log.
#[cfg(feature = "server")]
pub(crate) fn is_wanted() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|text| !text.is_empty())
}

fn begin(filter: EnvFilter) {
    let writer = || TerminalWriter::new(io::stderr());
    let is_terminal = io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_terminal);
    log.with_writer(writer).init();
}
