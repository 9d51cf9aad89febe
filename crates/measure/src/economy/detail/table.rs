//! The table: one row per policy, for each budget and in the mean.

use std::io::{Result, Write};

use super::{Measured, meter::Sums};

/// What a row shows.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Costs, detail, later use and recent text, in the order of their columns.
    shares: [f64; 6],
    folds: f64,
    fullest: f64,
}

/// Writes the table. Costs, detail and recent text are relative to the first policy.
pub(crate) fn write(out: &mut dyn Write, budgets: &[u64], measured: &[Measured]) -> Result<()> {
    writeln!(
        out,
        "| policy | budget | cost, writes 1.25 | cost, writes 1.0 | cost, breakpoints | detail \
         | later use | recent | folds | fullest |"
    )?;
    writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
    let Some(base) = measured.first() else { return Ok(()) };
    for policy in measured {
        let name = policy.kind.name();
        let rows: Vec<Row> =
            policy.sums.iter().zip(&base.sums).map(|(sums, base)| row(sums, base)).collect();
        for (budget, row) in budgets.iter().zip(&rows) {
            write_row(out, &name, &budget.to_string(), row)?;
        }
        write_row(out, &format!("**{name}**"), "mean", &mean(&rows))?;
    }
    Ok(())
}

fn row(sums: &Sums, base: &Sums) -> Row {
    let visible = if sums.uses == 0 { 1.0 } else { sums.visible as f64 / sums.uses as f64 };
    Row {
        shares: [
            sums.written / base.written,
            sums.plain / base.plain,
            sums.explicit / base.explicit,
            sums.detail / base.detail,
            visible,
            sums.recent / base.recent,
        ],
        folds: sums.folds as f64,
        fullest: sums.fullest,
    }
}

fn mean(rows: &[Row]) -> Row {
    let count = rows.len().max(1) as f64;
    let mut mean = Row::default();
    for row in rows {
        for (sum, share) in mean.shares.iter_mut().zip(row.shares) {
            *sum += share / count;
        }
        mean.folds += row.folds / count;
        mean.fullest = mean.fullest.max(row.fullest);
    }
    mean
}

fn write_row(out: &mut dyn Write, name: &str, budget: &str, row: &Row) -> Result<()> {
    write!(out, "| {name} | {budget} |")?;
    for share in row.shares {
        write!(out, " {share:.3} |")?;
    }
    writeln!(out, " {:.0} | {:.3} |", row.folds, row.fullest)
}
