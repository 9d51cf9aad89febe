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

use super::{Done, Failed, Hand, Surface, arguments, named, window_snapshot::WindowSnapshot};
use crate::tool::ToolOutput;

/// The most tokens of content that one answer gives.
const MOST: u64 = 8_000;

/// What the answer says around the content, in tokens.
const AROUND: u64 = 120;

/// How many pages of a directory one answer lists.
pub(super) const LISTED: usize = 100;

/// After how many bytes a list ends: of these, a token has one at least.
pub(super) const LISTED_BYTES: usize = 16 << 10;

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
    let view = hand.session.check_permission(page, Operation::ExpandDetails).await?;
    if view.page.is_contents() {
        let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
        return directory(hand, &view, offset).await;
    }
    let index = &view.page.index;
    let messages = hand.session.get_messages(index).await?;
    let snapshot = WindowSnapshot::of(hand).await;
    // A client that speaks MCP may never have seen the window: it gets the text in any case.
    if hand.surface != Surface::Mcp && in_full(hand, &snapshot, &view, &messages) {
        return Ok(ToolOutput::of(format!(
            "{} is already shown in full in your window: nothing was added",
            named(&view.page)
        )));
    }
    let (part, tokens) = part(hand, snapshot.budget(), index, &detail_text(&messages), offset)?;
    let Opening { says, expands } = opening(hand, &snapshot, &view).await?;
    let head = format!("{}: {tokens} tokens{says}", named(&view.page));
    Ok(ToolOutput { expands, ..ToolOutput::of(format!("{head}\n---\n{part}")) })
}

/// Returns what one answer gives of a page's text, with a line that says how to read on, and the tokens
/// of the text.
pub(super) fn part(
    hand: &Hand,
    budget: Option<Tokens>,
    index: &PageIndex,
    text: &str,
    offset: Option<u64>,
) -> Result<(String, u64), Failed> {
    let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(usize::MAX);
    let counter = hand.options.counter.as_ref();
    let Some(piece) = piece(counter, text, offset, room(hand, budget)) else {
        let past =
            format!("{index} has only {} bytes: there is nothing at offset {offset}", text.len());
        return Err(ToolOutput::failed(past).into());
    };
    Ok((piece.shown(text), counter.count(piece.text).0))
}

/// Returns what of a text fits into so many tokens from an offset on, with a line that says how to read on;
/// none where the text ends before.
pub(super) fn piece_from(
    counter: &dyn TokenCounter,
    text: &str,
    offset: usize,
    room: u64,
) -> Option<String> {
    piece(counter, text, offset, room).map(|piece| piece.shown(text))
}

/// What becomes of an expanded page's place in the window.
pub(super) struct Opening {
    /// In words, which continue a sentence.
    pub(super) says: String,
    /// The pages that open at the next fold.
    pub(super) expands: Vec<PageIndex>,
}

/// Opens a page in its place as the surface does it.
pub(super) async fn opening(
    hand: &Hand,
    snapshot: &WindowSnapshot,
    view: &PageView,
) -> Result<Opening, Failed> {
    let says = |says: &str| Opening { says: says.to_owned(), expands: Vec::new() };
    let is_reachable = view.lifecycle == Lifecycle::Active;
    Ok(match hand.surface {
        Surface::Run if is_reachable => {
            let says = format!(", here only; {OPENS}");
            Opening { says, expands: vec![view.page.index.clone()] }
        }
        Surface::Run => says(
            ", here only; its place in the window stays closed, because a directory above it is hidden; the cache stays valid",
        ),
        Surface::Host => {
            says(", here only; its place in the window stays as it is, the cache stays valid")
        }
        Surface::Mcp if view.level == WindowLevel::Full => says("; it is open in the window"),
        Surface::Mcp if is_reachable => {
            let range = snapshot.range(hand, &view.page.index).await?;
            hand.session.expand_details(&view.page.index).await?;
            let effect = snapshot.effect(&[range]);
            Opening { says: format!("; opened in the window: {effect}"), expands: Vec::new() }
        }
        Surface::Mcp => says(
            "; its place in the window stays closed, because a directory above it is hidden: expand that first",
        ),
    })
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
    let limit = part_limit(hand, snapshot.budget());
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

fn part_limit(hand: &Hand, budget: Option<Tokens>) -> Option<Tokens> {
    let share = |budget: Tokens| Tokens(budget.0 * hand.options.shares.part / 1_000);
    hand.options.part_limit.or(budget.map(share))
}

/// Returns how many tokens of content an answer may give: a sixteenth of the budget, and no more than
/// the window shows of a part.
pub(super) fn room(hand: &Hand, budget: Option<Tokens>) -> u64 {
    let fair = budget.map_or(MOST, |budget| budget.0 / 16);
    let shown = part_limit(hand, budget).map_or(MOST, |limit| limit.0);
    fair.min(shown).min(MOST).saturating_sub(AROUND).max(32)
}

struct Piece<'a> {
    from: usize,
    text: &'a str,
}

impl Piece<'_> {
    /// Returns the piece with a line that says what of the whole it is and how to read on.
    fn shown(&self, whole: &str) -> String {
        let mut part = self.text.to_owned();
        let (from, to) = (self.from, self.from + self.text.len());
        if from > 0 || to < whole.len() {
            let _ = write!(part, "\n---\n[bytes {from}–{to} of {}", whole.len());
            if to < whole.len() {
                let _ = write!(part, ": read on with offset {to}");
            }
            part.push(']');
        }
        part
    }
}

/// Cuts what fits out of a text, from an offset in bytes on, at the end of a line where one is near; none
/// where the text ends before.
fn piece<'a>(
    counter: &dyn TokenCounter,
    text: &'a str,
    offset: usize,
    room: u64,
) -> Option<Piece<'a>> {
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
    (!rest.is_empty() || offset == 0).then_some(Piece { from, text: &rest[..end] })
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Opens a directory and lists its pages.
async fn directory(hand: &Hand, view: &PageView, offset: usize) -> Done {
    let count = hand.session.reader().child_count(&view.page.index).await?;
    let Opening { says, expands } = match view.level {
        WindowLevel::Full => {
            Opening { says: "; it is open in your window".to_owned(), expands: Vec::new() }
        }
        _ => {
            let snapshot = match hand.surface {
                Surface::Mcp => WindowSnapshot::of(hand).await,
                Surface::Run | Surface::Host => WindowSnapshot::none(),
            };
            opening(hand, &snapshot, view).await?
        }
    };
    let says = says.strip_prefix(", here only").unwrap_or(&says);
    let list = children(hand, &view.page.index, count, offset).await?;
    let answer = format!("{}: a directory of {count} pages{says}{list}", named(&view.page));
    Ok(ToolOutput { expands, ..ToolOutput::of(answer) })
}

/// Lists the pages of a directory, a line each, some at a time.
pub(super) async fn children(
    hand: &Hand,
    index: &PageIndex,
    count: u64,
    offset: usize,
) -> Result<String, Failed> {
    let reader = hand.session.reader();
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
    let (mut list, mut next) = (String::new(), offset);
    for child in &pages {
        if list.len() > LISTED_BYTES {
            break;
        }
        let size = match child.page.detail() {
            // Counting would load every page; four bytes are about a token.
            Some(detail) => format!("about {} tokens", detail.weight / 4),
            None => "directory".to_owned(),
        };
        let (page, level) = (named(&child.page), child.level.as_str());
        let _ = write!(list, "\n{page} ({size}, {level})");
        next = next.saturating_add(1);
    }
    if (next as u64) < count && !pages.is_empty() {
        let _ = write!(list, "\n[read on with offset {next}]");
    }
    Ok(list)
}

#[cfg(test)]
#[path = "expand_tests.rs"]
mod tests;
