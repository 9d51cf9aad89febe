//! Reports where traces of destroyed data remain.

use contexture_core::storage::Trace;

use crate::{commands::Status, error::Result, printer::Printer, sanitize};

/// Returns the status of a command that leaves these traces.
pub(crate) fn status(traces: &[Trace]) -> Status {
    if traces.is_empty() { Status::Done } else { Status::TracesRemain }
}

/// Prints the remaining traces, and how to wipe them.
pub(crate) fn report(traces: &[Trace], printer: &mut Printer<'_>) -> Result<Status> {
    for trace in traces {
        let label = printer.paint().failure("traces remain:");
        printer.line(format_args!("{label} in {}", sanitize::line(&trace.to_string())))?;
    }
    if !traces.is_empty() {
        printer.tip(
            "`contexture store scrub` wipes traces, and with --quarantine also data that repairs set aside",
        )?;
    }
    Ok(status(traces))
}
