//! `pin_page` and `unpin_page`: what no fold lowers in the agent's own view.
//!
//! Pins are bounded: a window that holds little else leaves no room for work, and one that does not fit
//! its budget ends the run.

use contexture_core::{Edit, Operation, PageIndex, PageView, WindowLevel};
use serde::Deserialize;
use serde_json::Value;

use super::{
    Done, Failed, Hand, arguments,
    expand::{in_full, least},
    named,
    window_snapshot::WindowSnapshot,
};
use crate::tool::ToolOutput;

/// What pinned pages may take together, in thousandths of the budget.
const MOST: u64 = 500;

const HOLDS: &str = "nothing earlier changed, the cache stays valid";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    page: String,
}

pub(super) async fn pin(hand: &Hand, arguments: &Value) -> Done {
    let Arguments { page } = arguments::read(arguments)?;
    let view = hand.session.check_permission(page, Operation::PinPage).await?;
    let index = &view.page.index;
    if view.pinned && view.level == WindowLevel::Full {
        let name = named(&view.page);
        return Ok(ToolOutput::of(format!("{name} is already pinned: nothing changed")));
    }
    let snapshot = WindowSnapshot::of(hand).await;
    let range = snapshot.range(hand, index).await?;
    let (size, full) = size(hand, &snapshot, &view).await?;
    fits(hand, &snapshot, &view, size).await?;
    let mut edits = vec![Edit::PinPage(index.clone())];
    if view.level != WindowLevel::Full {
        // A page that was hidden on purpose stays so under its pin unless it is opened as well.
        edits.insert(0, Edit::ExpandDetails(index.clone()));
    }
    hand.session.apply(Edit::Batch(edits)).await?;
    let effect = if full { HOLDS.to_owned() } else { snapshot.effect(&[range]) };
    let (name, stays) = (named(&view.page), stays(hand, &view));
    Ok(ToolOutput::of(format!("pinned: {name}: {stays}; {effect}")))
}

pub(super) async fn unpin(hand: &Hand, arguments: &Value) -> Done {
    let Arguments { page } = arguments::read(arguments)?;
    let view = hand.session.check_permission(page, Operation::UnpinPage).await?;
    let (index, name) = (&view.page.index, named(&view.page));
    if !view.pinned {
        return Ok(ToolOutput::of(format!("{name} is not pinned: nothing changed")));
    }
    let snapshot = WindowSnapshot::of(hand).await;
    let range = snapshot.range(hand, index).await?;
    hand.session.unpin_page(index).await?;
    // A line of the folds since may stand for it now.
    let folded = hand.session.get_page(index).await.is_ok_and(|now| now.level != view.level);
    let effect = if folded { snapshot.effect(&[range]) } else { HOLDS.to_owned() };
    Ok(ToolOutput::of(format!("unpinned: {name}: it may fold when room is needed; {effect}")))
}

/// Says what of a pinned page stays in the window.
fn stays(hand: &Hand, view: &PageView) -> String {
    let until = hand.surface.words().until_unpinned;
    match view.page.is_contents() {
        true => format!("it stays open in every window {until}; its pages may fold"),
        false => format!("it stays in full in every window {until}"),
    }
}

/// Returns what a page takes in full, and whether it stands so already.
async fn size(
    hand: &Hand,
    snapshot: &WindowSnapshot,
    view: &PageView,
) -> Result<(u64, bool), Failed> {
    if view.page.is_contents() {
        return Ok((0, view.level == WindowLevel::Full));
    }
    let messages = hand.session.get_messages(&view.page.index).await?;
    let counter = hand.options.counter.as_ref();
    let size = messages.iter().map(|message| least(counter, &message.parts)).sum();
    Ok((size, in_full(hand, snapshot, view, &messages)))
}

/// Refuses a pin with which pinned pages would take more than they may.
async fn fits(
    hand: &Hand,
    snapshot: &WindowSnapshot,
    view: &PageView,
    size: u64,
) -> Result<(), Failed> {
    let Some(budget) = hand.options.budget.or(snapshot.budget()) else { return Ok(()) };
    let pinned = pinned(hand, snapshot, &view.page.index).await;
    let most = budget.0.saturating_mul(MOST) / 1_000;
    if size.saturating_add(pinned) <= most {
        return Ok(());
    }
    let others = match pinned {
        0 => String::new(),
        pinned => format!(", {pinned} are already pinned"),
    };
    Err(Failed::Said(ToolOutput::failed(format!(
        "{} cannot be pinned: it takes about {size} tokens{others}, and pinned pages may take {most}, \
         half of the budget. Unpin another page first.",
        named(&view.page)
    ))))
}

/// Adds up what other pinned pages take in the window.
async fn pinned(hand: &Hand, snapshot: &WindowSnapshot, but: &PageIndex) -> u64 {
    let mut sum = 0;
    for item in snapshot.pages().iter().filter(|item| item.page != *but) {
        if hand.session.get_page(&item.page).await.is_ok_and(|view| view.pinned) {
            sum += item.tokens;
        }
    }
    sum
}
