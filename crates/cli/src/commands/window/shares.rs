//! `contexture window --shares`

use std::collections::BTreeMap;

use contexture_agents::{
    shares::{ResolvedShares, Share},
    wire::ShareObject,
};

use crate::{crew::Crew, error::Result, harmless, printer::Printer};

/// Prints the shares that apply, each with its source.
pub(super) fn print(shares: &ResolvedShares, crew: &Crew, printer: &mut Printer<'_>) -> Result<()> {
    let said = |(share, value, source)| (share, ShareObject { value, by: crew.said_by(source) });
    let shares: BTreeMap<Share, ShareObject> = shares.iter().map(said).collect();
    if printer.is_json() {
        return printer.json(&shares);
    }
    let paint = printer.paint();
    for (share, ShareObject { value, by }) in shares {
        let by = paint.dim(harmless::line(&by));
        printer.line(format_args!(
            "{}  {:5}  {by}",
            paint.id(format!("{share:9}")),
            value.to_string()
        ))?;
    }
    Ok(())
}
