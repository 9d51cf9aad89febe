//! `expand_details`: the content of a page, now, as the answer.

use std::fmt::Write as _;

use contexture_core::{
    Lifecycle, Message, Operation, PageIndex, PageView, TokenCounter, Tokens, WindowLevel,
    message::{Part, detail_text},
    storage::Order,
    window::trim_messages,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Done, Failed, Hand, arguments, named, window_snapshot::WindowSnapshot};
use crate::tool::ToolOutput;

/// The most tokens of content that one answer gives.
const MOST: u64 = 8_000;

/// What the answer says around the content, in tokens.
const AROUND: u64 = 120;

/// How many pages of a directory one answer lists.
pub(super) const LISTED: usize = 100;

const OPENS: &str = "its place in the window opens at the next fold; nothing earlier changed, the cache stays valid";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    page: String,
    #[serde(default)]
    offset: Option<u64>,
}

pub(super) async fn expand(hand: &Hand, arguments: &Value) -> Done {
    let Arguments { page, offset } = arguments::read(arguments)?;
    let view = hand.context.check_permission(page, Operation::ExpandDetails).await?;
    if view.page.is_contents() {
        let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
        return directory(hand, &view, offset).await;
    }
    let index = &view.page.index;
    let messages = hand.context.get_messages(index).await?;
    let snapshot = WindowSnapshot::of(hand).await;
    if in_full(hand, &snapshot, &view, &messages) {
        return Ok(ToolOutput::of(format!(
            "{} is already shown in full in your window: nothing was added",
            named(&view.page)
        )));
    }
    let (part, tokens) = part(hand, &snapshot, index, &detail_text(&messages), offset)?;
    let (opens, expands) = opening(&view);
    let head = format!("{}: {tokens} tokens, here only; {opens}", named(&view.page));
    Ok(ToolOutput { text: format!("{head}\n---\n{part}"), error: false, expands })
}

/// Returns what one answer gives of a page's text, with a line that says how to read on, and the tokens
/// of the text.
pub(super) fn part(
    hand: &Hand,
    snapshot: &WindowSnapshot,
    index: &PageIndex,
    text: &str,
    offset: Option<u64>,
) -> Result<(String, u64), Failed> {
    let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
    let counter = hand.options.counter.as_ref();
    let piece = piece(counter, text, offset, room(hand, snapshot));
    if piece.text.is_empty() && offset > 0 {
        let past =
            format!("{index} has only {} bytes: there is nothing at offset {offset}", text.len());
        return Err(ToolOutput::failed(past).into());
    }
    let mut part = piece.text.to_owned();
    let (from, to) = (piece.from, piece.from + piece.text.len());
    if from > 0 || to < text.len() {
        let _ = write!(part, "\n---\n[bytes {from}–{to} of {}", text.len());
        if to < text.len() {
            let _ = write!(part, ": read on with offset {to}");
        }
        part.push(']');
    }
    Ok((part, counter.count(piece.text).0))
}

/// Says what becomes of the page's place in the window.
pub(super) fn opening(view: &PageView) -> (&'static str, Vec<PageIndex>) {
    match view.lifecycle {
        Lifecycle::Active => (OPENS, vec![view.page.index.clone()]),
        Lifecycle::HotArchived | Lifecycle::ColdArchived => (
            "its place in the window stays closed, because a directory above it is hidden; the cache stays valid",
            Vec::new(),
        ),
    }
}

/// Tells whether all of a page stands in the window, nothing of it cut.
pub(super) fn in_full(
    hand: &Hand,
    snapshot: &WindowSnapshot,
    view: &PageView,
    messages: &[Message],
) -> bool {
    let Some((WindowLevel::Full, shown)) = snapshot.page(&view.page.index) else { return false };
    let counter = hand.options.counter.as_ref();
    let limit = part_limit(hand, snapshot);
    let cut = limit.and_then(|limit| trim_messages(counter, messages, limit, &|_| String::new()));
    // A fold may have cut results that the limit would leave.
    cut.is_none() && shown >= messages.iter().map(|message| least(counter, &message.parts)).sum()
}

/// Counts what parts take at least, where nothing of them is left out.
pub(super) fn least(counter: &dyn TokenCounter, parts: &[Part]) -> u64 {
    let part = |part: &Part| match part {
        Part::Text(text) => counter.count(&text.text).0,
        Part::ToolCall(call) => counter.count(&call.arguments).0,
        Part::ToolResult(result) => least(counter, &result.content),
        Part::Image(_) | Part::Thinking(_) | Part::Other(_) => 0,
    };
    parts.iter().map(part).sum()
}

fn part_limit(hand: &Hand, snapshot: &WindowSnapshot) -> Option<Tokens> {
    let share = |budget: Tokens| Tokens(budget.0 * hand.options.shares.part / 1_000);
    hand.options.part_limit.or(snapshot.budget().map(share))
}

/// Returns how many tokens of content an answer may give: a sixteenth of the budget, and no more than
/// the window shows of a part.
pub(super) fn room(hand: &Hand, snapshot: &WindowSnapshot) -> u64 {
    let fair = snapshot.budget().map_or(MOST, |budget| budget.0 / 16);
    let shown = part_limit(hand, snapshot).map_or(MOST, |limit| limit.0);
    fair.min(shown).min(MOST).saturating_sub(AROUND).max(32)
}

struct Piece<'a> {
    from: usize,
    text: &'a str,
}

/// Cuts what fits out of a text, from an offset in bytes on, at the end of a line where one is near.
fn piece<'a>(counter: &dyn TokenCounter, text: &'a str, offset: usize, room: u64) -> Piece<'a> {
    let mut from = offset.min(text.len());
    while !text.is_char_boundary(from) {
        from -= 1;
    }
    let rest = &text[from..];
    // So much text is never within the room, and counting all of a huge one would take long.
    let mut end = boundary(rest, usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(16));
    loop {
        let tokens = counter.count(&rest[..end]).0;
        if tokens <= room {
            break;
        }
        let fits = (end as u128 * u128::from(room) / u128::from(tokens)) as usize;
        let less = boundary(rest, fits - fits / 20);
        if less == 0 || less >= end {
            end = rest.chars().next().map_or(0, char::len_utf8);
            break;
        }
        end = less;
    }
    if end < rest.len()
        && let Some(line) = rest[..end].rfind('\n').filter(|line| line + 1 > end / 4 * 3)
    {
        end = line + 1;
    }
    Piece { from, text: &rest[..end] }
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Lists the pages of a directory, some at a time.
async fn directory(hand: &Hand, view: &PageView, offset: usize) -> Done {
    let index = &view.page.index;
    let reader = hand.context.reader();
    let count = reader.child_count(index).await?;
    let (mut pages, mut after, mut skipped) = (Vec::new(), None, 0);
    while pages.len() < LISTED {
        let wanted = if skipped < offset { offset - skipped } else { LISTED - pages.len() };
        let listing = reader.children(index, Order::Forward, after, wanted).await?;
        let Some(last) = listing.items.last() else { break };
        after = Some(last.page.place);
        if skipped < offset {
            skipped += listing.items.len();
        } else {
            pages.extend(listing.items);
        }
        if !listing.more {
            break;
        }
    }
    let (opens, expands) = match view.level {
        WindowLevel::Full => ("it is open in your window", Vec::new()),
        _ => opening(view),
    };
    let mut answer = format!("{}: a directory of {count} pages; {opens}", named(&view.page));
    for child in &pages {
        let size = match child.page.detail() {
            // Counting would load every page; four bytes are about a token.
            Some(detail) => format!("about {} tokens", detail.weight / 4),
            None => "directory".to_owned(),
        };
        let (page, level) = (named(&child.page), child.level.as_str());
        let _ = write!(answer, "\n{page} ({size}, {level})");
    }
    let next = offset.saturating_add(pages.len());
    if (next as u64) < count && !pages.is_empty() {
        let _ = write!(answer, "\n[read on with offset {next}]");
    }
    Ok(ToolOutput { text: answer, error: false, expands })
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
