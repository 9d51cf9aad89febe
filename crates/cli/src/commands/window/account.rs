//! Prints where the tokens of a window go, for people.

use contexture_agents::wire::{AccountObject, EstimateObject};
use contexture_core::{
    Session, WindowLevel,
    storage::SentWindow,
    window::{FoldReport, PageAccount, SegmentAccount},
};

use crate::{
    error::Result,
    lines::{self, grouped},
    printer::{Paint, Printer},
    sanitize,
};

/// How many of the largest pages to name.
const LARGEST: usize = 10;

/// Prints an account: the total, then by segment, by kind and by page.
pub(super) async fn print(
    object: &AccountObject,
    due: Option<&FoldReport>,
    session: &Session,
    printer: &mut Printer<'_>,
) -> Result<()> {
    let (account, paint) = (&object.account, printer.paint());
    let of = match account.budget {
        Some(budget) => format!(" of a budget of {}", grouped(budget)),
        None => ", no budget".to_owned(),
    };
    let how = if account.exact { "counted with" } else { "estimated with" };
    printer.line(lines::join([
        paint.strong(format!("{} tokens{of}", grouped(account.tokens))),
        paint.dim(format!("{how} {}", account.tokenizer)),
    ]))?;
    if let Some(estimate) = &object.estimate {
        printer.line(estimate_line(estimate))?;
    }
    if let Some(report) = due {
        let line = format!("a fold is due and already included: {}", lines::fold(report));
        printer.line(paint.warning(line))?;
    }
    let segments = account.segments.iter().map(|segment| Row {
        name: paint.id(&segment.id),
        width: segment.id.as_str().len(),
        tokens: segment.tokens,
        more: by_level(segment),
    });
    print_rows("by segment", segments.collect(), account.tokens, printer)?;
    let kinds = object.kinds.iter().map(|kind| Row {
        name: kind.kind.to_owned(),
        width: kind.kind.len(),
        tokens: kind.tokens,
        more: String::new(),
    });
    let mut kinds: Vec<Row> = kinds.collect();
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.tokens));
    print_rows("by kind (approximate)", kinds, account.tokens, printer)?;
    let mut largest: Vec<&PageAccount> = account.pages.iter().collect();
    largest.sort_by_key(|page| std::cmp::Reverse(page.tokens));
    let mut pages = Vec::new();
    for page in largest.into_iter().take(LARGEST) {
        pages.push(page_row(page, session, paint).await?);
    }
    print_rows("largest pages", pages, account.tokens, printer)
}

/// Returns what a model is expected to count.
fn estimate_line(estimate: &EstimateObject) -> String {
    let (tokens, model) = (grouped(estimate.tokens.0), sanitize::line(&estimate.model));
    let percent = (estimate.error * 100.0).round();
    let rests = match estimate.observations {
        0 => "no reports from its provider yet".to_owned(),
        count => format!("from {}", lines::count(count, "report")),
    };
    format!("about {tokens} tokens as {model} counts, ±{percent} % ({rests})")
}

/// One line of a table.
struct Row {
    name: String,
    /// The width of the name without its paint.
    width: usize,
    tokens: u64,
    more: String,
}

fn print_rows(title: &str, rows: Vec<Row>, all: u64, printer: &mut Printer<'_>) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let paint = printer.paint();
    printer.line(format_args!("\n{}", paint.strong(title)))?;
    let width = rows.iter().map(|row| row.width).max().unwrap_or(0);
    let digits = rows.iter().map(|row| grouped(row.tokens).len()).max().unwrap_or(0);
    for row in rows {
        let pad = " ".repeat(width - row.width);
        let all = u128::from(all.max(1));
        let percent = (u128::from(row.tokens) * 100 + all / 2) / all;
        let line = lines::join([
            format!("  {}{pad}", row.name),
            format!("{:>digits$}", grouped(row.tokens)),
            paint.dim(format!("{percent:>3}%")),
            row.more,
        ]);
        printer.line(line.trim_end())?;
    }
    Ok(())
}

fn by_level(segment: &SegmentAccount) -> String {
    let mut levels = Vec::new();
    if segment.full_pages > 0 {
        let pages = lines::count(segment.full_pages, "page");
        levels.push(format!("{pages} in full ({})", lines::tokens(segment.full)));
    }
    if segment.folded_pages > 0 {
        let pages = lines::count(segment.folded_pages, "page");
        let mut how = Vec::new();
        if segment.lines > 0 {
            how.push(format!("lines {}", lines::tokens(segment.lines)));
        }
        if segment.runs > 0 {
            how.push(format!("runs {}", lines::tokens(segment.runs)));
        }
        levels.push(format!("{pages} folded or hidden ({})", how.join(", ")));
    }
    levels.join(", ")
}

async fn page_row(account: &PageAccount, session: &Session, paint: Paint) -> Result<Row> {
    // The first page of a run may be gone by now; the run is still shown.
    let seen = session.reader().page(&account.page).await.ok();
    let name = seen.map_or(String::new(), |seen| sanitize::line(seen.page.name.as_str()));
    let level = match account.level {
        WindowLevel::Full => String::new(),
        level => paint.dim(level.as_str()),
    };
    Ok(Row {
        name: paint.id(&account.page),
        width: account.page.to_string().len(),
        tokens: account.tokens,
        more: lines::join([name, level]),
    })
}

/// Prints the record of a sent window.
pub(super) fn print_record(
    record: Option<&SentWindow>,
    is_this: bool,
    printer: &mut Printer<'_>,
) -> Result<()> {
    let Some(record) = record else {
        let never = printer.paint().dim("no window was sent in this format yet (--fold sends one)");
        return printer.line(format_args!("\n{never}"));
    };
    let paint = printer.paint();
    let what = if is_this { "sent as window" } else { "last sent: window" };
    printer.line(format_args!(
        "\n{}  {}",
        paint.strong(format!("{what} {}", record.number)),
        paint.dim(lines::time(record.at))
    ))?;
    let (tokens, cached) = (grouped(record.tokens.0), grouped(record.cached.0));
    let reread = grouped(record.reread.0);
    printer.line(format_args!("  {tokens} tokens: {cached} cached, {reread} read again"))?;
    if let Some(fold) = record.fold {
        printer.line(format_args!("  with the fold of revision {fold}"))?;
    }
    if let Some(usage) = &record.usage {
        let (input, cached) = (grouped(usage.input), grouped(usage.cached));
        let (written, output) = (grouped(usage.written), grouped(usage.output));
        printer.line(format_args!(
            "  the provider reported {input} in, {cached} of them cached, {written} written to the cache, {output} out"
        ))?;
    }
    Ok(())
}
