//! Formats pages, segments and edits as lines for people, one line each.

use std::fmt::Display;

use contexture_core::{
    HistoryEntry, Lifecycle, PageIndex, PageView, Segment, Timestamp, WindowLevel,
    storage::PageStanding, window::FoldReport,
};

use crate::{printer::Paint, sanitize};

/// Returns a page as one line: index, name, marks.
pub(crate) fn page(paint: Paint, seen: &PageView) -> String {
    page_padded(paint, seen, 0)
}

/// Returns pages as lines with their indices aligned.
pub(crate) fn pages(paint: Paint, seen: &[PageView]) -> Vec<String> {
    let width = seen.iter().map(|seen| seen.page.index.to_string().len()).max().unwrap_or(0);
    seen.iter().map(|seen| page_padded(paint, seen, width)).collect()
}

fn page_padded(paint: Paint, seen: &PageView, width: usize) -> String {
    let mut marks = marks(seen);
    marks.extend(message_count(seen));
    let index = paint.id(format!("{:width$}", seen.page.index.to_string()));
    join([index, name(paint, seen), paint.dim(marks.join(", "))])
}

/// Joins the parts that are not empty with two spaces.
pub(crate) fn join(parts: impl IntoIterator<Item = String>) -> String {
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

/// Returns a page's name; a directory's ends in a slash.
pub(crate) fn name(paint: Paint, seen: &PageView) -> String {
    let name = sanitize::line(seen.page.name.as_str());
    if seen.page.is_contents() { paint.strong(format!("{name}/")) } else { name }
}

/// Returns the marks of a page: its turn, pin, level and place in the archive.
pub(crate) fn marks(seen: &PageView) -> Vec<String> {
    let page = &seen.page;
    let mut marks = Vec::new();
    match &page.turn {
        Some(turn) if *turn == page.index => marks.push("turn".to_owned()),
        Some(turn) => marks.push(format!("turn {turn}")),
        None => {}
    }
    if seen.pinned {
        marks.push("pinned".to_owned());
    }
    let archived = match (seen.lifecycle, &page.standing) {
        (Lifecycle::ColdArchived, _) => Some("in the archive"),
        (_, PageStanding::HotArchived) => Some("archived"),
        _ => None,
    };
    let level = match seen.level {
        WindowLevel::Full => None,
        WindowLevel::Summary => Some("hidden"),
        WindowLevel::Gist => Some("gist"),
        WindowLevel::Run => Some("in a run"),
        // Folded out or in a hidden directory; an archived page has its own mark.
        WindowLevel::Out => Some("out").filter(|_| archived.is_none()),
    };
    marks.extend(level.into_iter().chain(archived).map(str::to_owned));
    marks
}

/// Returns the number of messages in a leaf; none for a directory.
pub(crate) fn message_count(seen: &PageView) -> Option<String> {
    seen.page.detail().map(|detail| count(u64::from(detail.messages), "message"))
}

/// Returns a number with its noun, such as `2 pages`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    match number {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Returns segments as lines with their columns aligned.
pub(crate) fn segments<'a>(
    paint: Paint,
    segments: impl IntoIterator<Item = &'a Segment> + Clone,
) -> Vec<String> {
    let widest = segments.clone().into_iter().map(|segment| segment.id.as_str().len()).max();
    let width = widest.unwrap_or(0);
    let line = |segment: &Segment| {
        let mut facts = Vec::new();
        if segment.capacity.0 > 0 {
            facts.push(format!("at most {} tokens", segment.capacity));
        }
        facts.extend(segment.owner.as_ref().map(|owner| format!("owned by {owner}")));
        join([
            paint.id(format!("{:width$}", segment.id.as_str())),
            format!("{:6}", segment.kind),
            format!("{:14}", segment.permission),
            sanitize::line(segment.name.as_str()),
            paint.dim(facts.join(", ")),
        ])
    };
    segments.into_iter().map(line).collect()
}

/// Returns history entries as lines with their columns aligned.
pub(crate) fn history(paint: Paint, entries: &[HistoryEntry]) -> Vec<String> {
    let width = |text: fn(&HistoryEntry) -> String| {
        entries.iter().map(|entry| text(entry).len()).max().unwrap_or(0)
    };
    let revision = width(|entry| entry.revision.to_string());
    let actor = width(|entry| entry.actor.to_string());
    let operation = width(|entry| entry.operation.to_string());
    let line = |entry: &HistoryEntry| {
        let subjects = match &entry.fold {
            Some(report) => fold(report),
            None => subjects(entry),
        };
        let note = match (entry.undoes, entry.undone_by) {
            (_, Some(by)) => format!("undone by {by}"),
            (Some(undoes), None) => format!("undid {undoes}"),
            (None, None) => String::new(),
        };
        join([
            paint.id(format!("{:>revision$}", entry.revision.to_string())),
            paint.dim(time(entry.at)),
            format!("{:actor$}", entry.actor.to_string()),
            format!("{:operation$}", entry.operation),
            subjects,
            paint.dim(note),
        ])
        .trim_end()
        .to_owned()
    };
    entries.iter().map(line).collect()
}

/// Returns what a fold saved and cost.
pub(crate) fn fold(report: &FoldReport) -> String {
    let (saved, reread) = (tokens(report.saved_tokens), tokens(report.reread_tokens));
    format!("{}, {saved} tokens saved, {reread} read again", count(report.folded, "page"))
}

/// Returns a number of tokens, rounded: 812, 8.6k, 86k, 1.2M.
pub(crate) fn tokens(number: u64) -> String {
    let short = |number: u64, unit: u64, name: char| match number / unit {
        0..10 => format!("{}.{}{name}", number / unit, number % unit / (unit / 10)),
        whole => format!("{whole}{name}"),
    };
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => short(number, 1_000, 'k'),
        1_000_000.. => short(number, 1_000_000, 'M'),
    }
}

/// Returns a number with its thousands separated: 12,345.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Names the first few pages or segments that an edit changed.
fn subjects(entry: &HistoryEntry) -> String {
    if entry.pages.is_empty() {
        return some(&entry.segments);
    }
    some(&entry.pages)
}

fn some(things: &[impl Display]) -> String {
    const FEW: usize = 4;
    let mut named: Vec<String> = things.iter().take(FEW).map(ToString::to_string).collect();
    if things.len() > FEW {
        named.push(format!("… {} more", things.len() - FEW));
    }
    named.join(" ")
}

/// Returns a time to the second.
pub(crate) fn time(at: Timestamp) -> String {
    let text = at.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or(&text);
    format!("{}Z", seconds.replace('T', " "))
}

/// Returns indices joined by spaces; of many, only the first.
pub(crate) fn indices(paint: Paint, indices: &[PageIndex]) -> String {
    const MANY: usize = 20;
    let mut named: Vec<String> = indices.iter().take(MANY).map(|it| paint.id(it)).collect();
    if indices.len() > MANY {
        named.push(format!("… {} more", indices.len() - MANY));
    }
    named.join(" ")
}
