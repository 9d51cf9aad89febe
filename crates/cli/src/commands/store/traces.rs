//! Reports where traces of destroyed data remain.

use contexture_core::storage::Trace;

use crate::{commands::Status, error::Result, harmless, printer::Printer};

/// Returns the status of a command that leaves these traces.
pub(crate) fn status(left: &[Trace]) -> Status {
    if left.is_empty() { Status::Done } else { Status::TracesRemain }
}

/// Prints the remaining traces, and how to wipe them.
pub(crate) fn tell(left: &[Trace], printer: &mut Printer<'_>) -> Result<Status> {
    for trace in left {
        let label = printer.paint().failure("traces remain:");
        printer.line(format_args!("{label} in {}", harmless::line(&trace.to_string())))?;
    }
    if !left.is_empty() {
        printer.tip(
            "`contexture store scrub` wipes traces, and with --quarantine also data that repairs set aside",
        )?;
    }
    Ok(status(left))
}
