//! Open exchanges: an assistant message is stored before its calls have results, and the results as
//! they come.
//!
//! ```text
//!  open ──► A(c1 c2)        the page says which calls are open, an entry says which page it is
//!  answer ► A(c1 c2) T2     in any order
//!  answer ► A(c1 c2) T1 T2  results stand in the order of the calls: the page is as if stored whole
//! ```
//!
//! An author has one open exchange in a segment at most. The entry is custom state of the engine's own,
//! so a commit is checked against it, an undo takes it back, and it is found wherever the page was moved.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Decision, Draft, Halt,
    turns::{Byline, continue_turn, exchanges, messages_of, put_messages, put_turns, stamp},
};
use crate::{
    Advice, Error, Message, Operation, Page, PageIndex, SegmentId,
    message::{
        Exchange, ToolResult,
        exchange::{LastExchange, check_role, last_exchange, sort_results},
    },
    view::entries::open_key,
};

/// Writes exchanges of which the last may be open.
pub(super) fn open(draft: &mut Draft<'_>, segment: &SegmentId, messages: &[Message]) -> Decision {
    let root = draft.allowed(&segment.root(), Operation::OpenExchange)?;
    let byline = Byline::of_caller(draft);
    let mut before = exchanges(draft, &byline.author, messages, LastExchange::MayBeOpen)?;
    refuse_while_open(draft, segment)?;
    // Those that are there already stand in the order of the calls too, however many are to come.
    if let Some(last) = before.last_mut() {
        sort_results(&mut last.messages);
    }
    let begins = before.iter().position(Exchange::starts_turn).unwrap_or(before.len());
    let mut turns = before.split_off(begins);
    if !before.is_empty() {
        match draft.last_turn(segment)? {
            Some(last) => continue_turn(draft, &root.segment, last, before)?,
            None => turns.splice(0..0, before).for_each(drop),
        }
    }
    put_turns(draft, &root.segment, &byline, turns)?;
    let Some(page) = draft.subjects.last().cloned() else { return Ok(()) };
    if draft.page(&page)?.is_some_and(|page| page.is_open()) {
        let key = open_key(segment, &draft.request.actor);
        draft.set_custom(&key, Some(page.to_string()))?;
    }
    Ok(())
}

/// Answers calls of the caller's open exchange.
pub(super) fn answer(draft: &mut Draft<'_>, segment: &SegmentId, results: &[Message]) -> Decision {
    draft.allowed(&segment.root(), Operation::AddResults)?;
    if results.is_empty() {
        return Err(Error::InvalidMessages { reason: "the list is empty".to_owned() }.into());
    }
    for (number, message) in (1..).zip(results) {
        if message.tool_results().next().is_none() {
            let reason = format!("message {number}: it has no result");
            return Err(Error::InvalidMessages { reason }.into());
        }
        check_role(number, message)?;
    }
    let page = match open_page(draft, segment)? {
        Some(page) => page,
        None => latest_page(draft, segment)?,
    };
    let messages = messages_of(draft, &page)?;
    check_calls(&page, &messages, results)?;
    put_results(draft, segment, &page, messages, results.to_vec())
}

/// Answers what is left of the caller's open exchange as interrupted.
pub(super) fn close(draft: &mut Draft<'_>, segment: &SegmentId) -> Decision {
    draft.allowed(&segment.root(), Operation::CloseExchange)?;
    let page = match open_page(draft, segment)? {
        Some(page) => page,
        None => latest_page(draft, segment)?,
    };
    if !page.is_open() {
        return Err(nothing_open(draft, segment).into());
    }
    let messages = messages_of(draft, &page)?;
    let open = page.detail().map(|detail| detail.open.clone()).unwrap_or_default();
    let results = open.into_iter().map(|call| Message::result(ToolResult::interrupted(call)));
    put_results(draft, segment, &page, messages, results.collect())
}

/// Refuses to write behind an exchange of the caller's own that waits for results.
pub(super) fn refuse_while_open(draft: &mut Draft<'_>, segment: &SegmentId) -> Decision {
    match open_page(draft, segment)? {
        None => Ok(()),
        Some(page) => {
            let calls = page.detail().map(|detail| detail.open.clone()).unwrap_or_default();
            Err(Error::ExchangeOpen { page: page.index.clone(), calls }.into())
        }
    }
}

/// Returns the page that ends with the caller's open exchange in a segment, while it is in the tree.
fn open_page(draft: &mut Draft<'_>, segment: &SegmentId) -> Decision<Option<Arc<Page>>> {
    let key = open_key(segment, &draft.request.actor);
    let Some(page) = draft.custom(&key)? else { return Ok(None) };
    let Ok(index) = page.parse::<PageIndex>() else { return Ok(None) };
    match draft.lineage(&index) {
        Err(Halt::Refused(_)) => Ok(None),
        Err(need) => Err(need),
        // Somebody may have replaced what it says.
        Ok(_) => Ok(draft.page(&index)?.filter(|page| page.is_open())),
    }
}

/// Returns the last page of the caller's turns: what stands there tells a result that comes again from a
/// stray one. It may also be a page that came back from the archive with open calls.
fn latest_page(draft: &mut Draft<'_>, segment: &SegmentId) -> Decision<Arc<Page>> {
    let last = draft.last_turn(segment)?.ok_or_else(|| nothing_open(draft, segment))?;
    Ok(draft.page(&last.index)?.unwrap_or(last))
}

fn nothing_open(draft: &Draft<'_>, segment: &SegmentId) -> Error {
    Error::NothingFound {
        what: format!("an open exchange of {} in segment {segment}", draft.request.actor),
        advice: Advice::OpenExchange,
    }
}

/// Checks that results are for calls of a page's last exchange that have none.
fn check_calls(page: &Page, messages: &[Message], results: &[Message]) -> Decision {
    let last = last_exchange(messages).map_or(&[][..], |at| &messages[at..]);
    let calls: BTreeSet<&str> =
        last.iter().flat_map(Message::tool_calls).map(|call| call.id.as_str()).collect();
    let given = last.iter().flat_map(Message::tool_results);
    let mut answered: BTreeSet<&str> = given.map(|result| result.call.as_str()).collect();
    for result in results.iter().flat_map(Message::tool_results) {
        let (call, page_index) = (result.call.clone(), page.index.clone());
        if !calls.contains(result.call.as_str()) {
            let open = page.detail().map(|detail| detail.open.clone()).unwrap_or_default();
            return Err(Error::CallNotFound { call, page: page_index, open }.into());
        }
        if !answered.insert(&result.call) {
            return Err(Error::CallAnswered { call, page: page_index }.into());
        }
    }
    Ok(())
}

fn put_results(
    draft: &mut Draft<'_>,
    segment: &SegmentId,
    page: &Page,
    mut messages: Vec<Message>,
    results: Vec<Message>,
) -> Decision {
    messages.extend(results.into_iter().map(|message| stamp(draft, message)));
    sort_results(&mut messages);
    put_messages(draft, page, &messages)?;
    if draft.page(&page.index)?.is_none_or(|page| !page.is_open()) {
        let key = open_key(segment, &draft.request.actor);
        draft.set_custom(&key, None)?;
    }
    Ok(())
}
