//! `contexture window --shares`

use std::collections::BTreeMap;

use contexture_agents::{
    shares::{ResolvedShares, Share},
    wire::ShareObject,
};

use crate::{error::Result, printer::Printer, project::Project, sanitize};

/// Prints the shares that apply, each with its source.
pub(super) fn print(
    shares: &ResolvedShares,
    project: &Project,
    printer: &mut Printer<'_>,
) -> Result<()> {
    let said = |(share, value, source)| (share, ShareObject { value, by: project.said_by(source) });
    let shares: BTreeMap<Share, ShareObject> = shares.iter().map(said).collect();
    if printer.is_json() {
        return printer.json(&shares);
    }
    let paint = printer.paint();
    for (share, ShareObject { value, by }) in shares {
        let by = paint.dim(sanitize::line(&by));
        printer.line(format_args!(
            "{}  {:5}  {by}",
            paint.id(format!("{share:9}")),
            value.to_string()
        ))?;
    }
    Ok(())
}
