//! The table: a row for each policy and budget.

use std::io::{Result, Write};

use super::gauge::Sums;

/// What was measured under a budget: how many sessions, and the sums of each policy.
pub(super) type Rows = (u64, usize, Vec<(String, Sums)>);

/// Writes the table of one kind of sessions. Costs are relative to the first policy.
pub(super) fn write(out: &mut dyn Write, title: &str, rows: &[Rows]) -> Result<()> {
    writeln!(out, "\n{title}\n")?;
    writeln!(
        out,
        "| policy | budget | cost | request | asked | reused | relative | results | ready to edit | folds | fullest | sessions |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    for (budget, sessions, measured) in rows.iter().filter(|(_, sessions, _)| *sessions > 0) {
        let Some((_, base)) = measured.first() else { continue };
        for (name, sums) in measured {
            let calls = sums.calls.max(1) as f64;
            let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
            let reused = share(sums.reused, sums.needed);
            let of_base = share(base.reused, base.needed);
            let of_results = |sums: &Sums| match sums.needed_results {
                0 => 1.0,
                needed => sums.reused_results as f64 / needed as f64,
            };
            let results = of_results(sums) / of_results(base);
            let ready = match sums.edited {
                0 => "–".to_owned(),
                edited => format!("{:.3}", share(sums.ready, edited)),
            };
            writeln!(
                out,
                "| {name} | {budget} | {:.3} | {:.3} | {:.3} | {reused:.3} | {:.3} | {results:.3} | {ready} | {} | {:.3} | {sessions} |",
                sums.cost / base.cost,
                sums.request as f64 / calls,
                sums.asked / calls,
                reused / of_base,
                sums.folds,
                sums.fullest,
            )?;
        }
    }
    Ok(())
}
