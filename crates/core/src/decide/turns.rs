//! Turns: whole exchanges written as pages at the end of a segment.
//!
//! [`exchanges`](super::exchanges) writes those that are not whole yet.

use std::sync::Arc;

use super::{
    Decision, Draft,
    exchanges::refuse_while_open,
    pages::{PageSeed, body, new_page, trust_of_sources},
    segments::actor_trust,
};
use crate::{
    Actor, Advice, AgentName, Error, Message, Operation, Page, PageIndex, PageName, Role, Segment,
    SegmentId, Trust, Visibility,
    message::{
        Exchange,
        exchange::{LastExchange, cut, group, turns},
    },
    storage::PageBody,
};

/// Writes messages as new turns at the end of a segment's root.
pub(super) fn add(draft: &mut Draft<'_>, segment: &SegmentId, messages: &[Message]) -> Decision {
    let root = draft.allowed(&segment.root(), Operation::AddTurn)?;
    let byline = Byline::of_caller(draft);
    let exchanges = exchanges(draft, &byline.author, messages, LastExchange::Whole)?;
    refuse_while_open(draft, segment)?;
    put_turns(draft, &root.segment, &byline, exchanges)
}

/// Writes messages as new turns of an agent, for the system side.
pub(super) fn publish(
    draft: &mut Draft<'_>,
    segment: &SegmentId,
    agent: &AgentName,
    messages: &[Message],
    sources: &[PageIndex],
) -> Decision {
    draft.system_side_only(Operation::PublishTurn)?;
    let root = draft.allowed(&segment.root(), Operation::PublishTurn)?;
    let author = Actor::Agent(agent.clone());
    let own = actor_trust(&author);
    let trust = trust_of_sources(draft, sources)?.map_or(own, |lowest| lowest.min(own));
    let mut exchanges = exchanges(draft, &author, messages, LastExchange::Whole)?;
    for message in exchanges.iter_mut().flat_map(|exchange| &mut exchange.messages) {
        if message.role == Role::Assistant {
            message.author.get_or_insert_with(|| agent.clone());
        }
    }
    put_turns(draft, &root.segment, &Byline { author, trust, sources }, exchanges)
}

/// Who pages of a turn are by, how far that one is trusted, and what they are made from.
pub(super) struct Byline<'a> {
    pub(super) author: Actor,
    trust: Trust,
    sources: &'a [PageIndex],
}

impl Byline<'_> {
    pub(super) fn of_caller(draft: &Draft<'_>) -> Self {
        let author = draft.request.actor.clone();
        Self { trust: actor_trust(&author), author, sources: &[] }
    }
}

pub(super) fn put_turns(
    draft: &mut Draft<'_>,
    segment: &Segment,
    byline: &Byline<'_>,
    exchanges: Vec<Exchange>,
) -> Decision {
    for turn in turns(exchanges) {
        let name = turn_name(&turn);
        let mut first: Option<PageIndex> = None;
        for (at, exchanges) in cut(None, turn).pages.into_iter().enumerate() {
            let name = numbered(&name, at);
            let index = put_new(draft, segment, byline, &name, first.as_ref(), exchanges)?;
            first.get_or_insert(index);
        }
    }
    Ok(())
}

/// Continues the caller's own latest turn in a segment.
pub(super) fn extend(draft: &mut Draft<'_>, segment: &SegmentId, messages: &[Message]) -> Decision {
    let root = draft.allowed(&segment.root(), Operation::ExtendTurn)?;
    let exchanges = exchanges(draft, &draft.request.actor, messages, LastExchange::Whole)?;
    if exchanges.iter().any(Exchange::starts_turn) {
        let reason = "a user message begins a new turn and cannot extend one".to_owned();
        return Err(Error::InvalidMessages { reason }.into());
    }
    refuse_while_open(draft, segment)?;
    let last = draft.last_turn(segment)?.ok_or_else(|| Error::NothingFound {
        what: format!("a turn of {} in segment {segment}", draft.request.actor),
        advice: Advice::BeginTurn,
    })?;
    continue_turn(draft, &root.segment, last, exchanges)
}

/// Continues a turn of the caller's behind its last page.
pub(super) fn continue_turn(
    draft: &mut Draft<'_>,
    segment: &Segment,
    last: Arc<Page>,
    exchanges: Vec<Exchange>,
) -> Decision {
    // What was found may be older than what this draft or another writer has made of it.
    let last = draft.page(&last.index)?.unwrap_or(last);
    let open = open_page(draft, segment, &last)?;
    let cut =
        cut(open.as_ref().and_then(|page| page.detail()).map(|detail| detail.weight), exchanges);
    if let (Some(page), false) = (&open, cut.into_open.is_empty()) {
        append(draft, page, cut.into_open)?;
    }
    for (at, exchanges) in cut.pages.into_iter().enumerate() {
        let name = numbered(&last.name, at + 1);
        let byline = Byline::of_caller(draft);
        put_new(draft, segment, &byline, &name, last.turn.as_ref(), exchanges)?;
    }
    Ok(())
}

/// Returns the turn's last page if it still stands last in line under the root.
fn open_page(
    draft: &mut Draft<'_>,
    segment: &Segment,
    last: &Arc<Page>,
) -> Decision<Option<Arc<Page>>> {
    let root = segment.root();
    if last.parent.as_ref() != Some(&root) || !last.standing.is_listed() {
        return Ok(None);
    }
    let in_line = draft.last_place(&root)? == Some(last.place);
    Ok(in_line.then(|| last.clone()))
}

fn append(draft: &mut Draft<'_>, page: &Page, exchanges: Vec<Exchange>) -> Decision {
    let mut messages = messages_of(draft, page)?;
    messages.extend(exchanges.into_iter().flat_map(|exchange| exchange.messages));
    put_messages(draft, page, &messages)
}

/// Returns what a page says.
pub(super) fn messages_of(draft: &Draft<'_>, page: &Page) -> Decision<Vec<Message>> {
    let content = draft.content(page)?;
    Ok(content.messages().map_err(|reason| Error::InvalidMessages { reason })?)
}

/// Puts more messages into a page of a turn: those it has are among them.
pub(super) fn put_messages(draft: &mut Draft<'_>, page: &Page, messages: &[Message]) -> Decision {
    let mut extended = page.clone();
    extended.trust = page.trust.min(trust(actor_trust(&draft.request.actor), messages));
    extended.body = PageBody::Detail(body(draft, &page.name, messages)?);
    if draft.subjects.last() != Some(&page.index) {
        draft.subjects.push(page.index.clone());
    }
    draft.change_page(extended)
}

fn put_new(
    draft: &mut Draft<'_>,
    segment: &Segment,
    byline: &Byline<'_>,
    name: &PageName,
    turn: Option<&PageIndex>,
    exchanges: Vec<Exchange>,
) -> Decision<PageIndex> {
    let messages: Vec<Message> =
        exchanges.into_iter().flat_map(|exchange| exchange.messages).collect();
    let seed = PageSeed {
        body: PageBody::Detail(body(draft, name, &messages)?),
        name,
        visibility: Some(Visibility::Expanded),
        trust: trust(byline.trust, &messages),
    };
    let mut page = new_page(draft, segment, &segment.root(), seed);
    let index = page.index.clone();
    page.author = byline.author.clone();
    page.sources = byline.sources.to_vec();
    page.turn = Some(turn.cloned().unwrap_or_else(|| index.clone()));
    draft.subjects.push(index.clone());
    draft.put_page(index.clone(), Some(page), None)?;
    Ok(index)
}

/// Groups messages that are to stand as somebody's, which only the system side may be in its role.
pub(super) fn exchanges(
    draft: &Draft<'_>,
    author: &Actor,
    messages: &[Message],
    last: LastExchange,
) -> Decision<Vec<Exchange>> {
    let speaks_as_system = |message: &Message| message.role == Role::System;
    if let (Actor::Agent(_), Some(at)) = (author, messages.iter().position(speaks_as_system)) {
        return Err(Error::SystemSpeech { number: at + 1 }.into());
    }
    let stamped = messages.iter().cloned().map(|message| stamp(draft, message)).collect();
    let exchanges = group(stamped, last)?;
    if exchanges.is_empty() {
        let reason = "the list is empty".to_owned();
        return Err(Error::InvalidMessages { reason }.into());
    }
    Ok(exchanges)
}

/// Says when, and which agent wrote what the model said, where the message does not.
pub(super) fn stamp(draft: &Draft<'_>, mut message: Message) -> Message {
    message.at = message.at.or(Some(draft.request.at));
    if let (Actor::Agent(agent), Role::Assistant) = (&draft.request.actor, message.role) {
        // An agent speaks in its own name only.
        message.author = Some(agent.clone());
    }
    message
}

/// Returns the lowest trust of the messages, no higher than that of who brings them.
fn trust(brought_by: Trust, messages: &[Message]) -> Trust {
    messages.iter().map(Message::trust).fold(brought_by, Trust::min)
}

fn turn_name(turn: &[Exchange]) -> PageName {
    let messages = turn.iter().flat_map(|exchange| &exchange.messages);
    let texts = messages.map(Message::plain_text);
    let text = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    PageName::from_first_line(&text, "Turn")
}

/// Numbers the pages of a turn after the first: `name (2)`, `name (3)` …
fn numbered(name: &PageName, at: usize) -> PageName {
    if at == 0 {
        return name.clone();
    }
    let (base, number) = split_number(name.as_str());
    let next = number + at;
    format!("{base} ({next})").parse().unwrap_or_else(|_| name.clone())
}

fn split_number(name: &str) -> (&str, usize) {
    let parsed = name.strip_suffix(')').and_then(|name| name.rsplit_once(" (")).and_then(
        |(base, number)| {
            number.parse().ok().filter(|number| *number > 1).map(|number| (base, number))
        },
    );
    parsed.unwrap_or((name, 1))
}
