//! Where bytes of what was destroyed remain, as people are told.

use contexture_core::storage::Trace;

use crate::{commands::Status, error::Result, harmless, printer::Printer};

/// Returns how a command ends that leaves these.
pub(crate) fn status(left: &[Trace]) -> Status {
    if left.is_empty() { Status::Done } else { Status::TracesRemain }
}

/// Says what is left and what finishes it.
pub(crate) fn tell(left: &[Trace], printer: &mut Printer<'_>) -> Result<Status> {
    for trace in left {
        let label = printer.paint().failure("traces remain:");
        printer.line(format_args!("{label} in {}", harmless::line(&trace.to_string())))?;
    }
    if !left.is_empty() {
        printer.tip(
            "`contexture store scrub` wipes traces, and with --quarantine also what repairs set aside",
        )?;
    }
    Ok(status(left))
}
