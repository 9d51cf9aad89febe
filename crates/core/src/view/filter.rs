//! Filters: what of the segments it mounts a view leaves out.
//!
//! What a filter leaves out does not exist for the view: it is not rendered, found, listed or
//! counted, and an edit that names it finds nothing. The rules are here; readers apply them in
//! `system/filtered.rs`, edits in `decide/draft/filtered.rs`, and nothing reaches a view past those two.
//! What a view sees in part, no edit of it replaces or takes along (`decide/draft/whole.rs`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Actor, View};
use crate::{
    Message, Owner, Page, PageIndex, Role, Segment, SegmentKind, Timestamp,
    message::{Fields, Part},
};

/// What a view leaves out of the segments it mounts; by default nothing.
///
/// `authors`, `speech` and `since` judge turns and notes of others, in segments that are neither of
/// System kind nor the agent's own. What the agent wrote itself is never judged by them, nor are
/// directories: pages of anyone may lie in them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewFilter {
    /// Only turns and notes of these authors; none: of all. [`Actor::System`] stands for the host and
    /// every user.
    pub authors: Option<BTreeSet<Actor>>,
    /// Which messages of turns and notes.
    pub speech: MessageFilter,
    /// Only turns begun, and notes made, at or after this time.
    pub since: Option<Timestamp>,
    /// Pages that are not mounted, with all below them, in whatever segment.
    pub without: BTreeSet<PageIndex>,
}

/// Which messages of turns and notes a view sees, from all of them to the fewest.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum MessageFilter {
    /// All.
    #[default]
    All,
    /// All but calls of tools and what they returned.
    WithoutTools,
    /// What users said.
    RequestsOnly,
}

/// Names a filter, so that what was made through one is not taken for made through another.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct FilterKey(u64);

impl FilterKey {
    /// Returns whether it names the filter that leaves nothing out.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

impl ViewFilter {
    /// Returns whether it leaves nothing out.
    pub fn is_open(&self) -> bool {
        self.authors.is_none()
            && self.speech == MessageFilter::All
            && self.since.is_none()
            && self.without.is_empty()
    }

    /// Returns its name.
    pub fn key(&self) -> FilterKey {
        if self.is_open() {
            return FilterKey::default();
        }
        let written = serde_json::to_vec(self).expect("a filter has only string keys");
        let hash = blake3::hash(&written);
        let mut key = [0; 8];
        key.copy_from_slice(&hash.as_bytes()[..8]);
        FilterKey(u64::from_le_bytes(key).max(1))
    }
}

/// What a view hears of a page, by who wrote it: [`ViewFilter::since`] and [`ViewFilter::without`] are
/// judged apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    /// All of it: it is not judged.
    Unjudged,
    /// These messages, if the turn began in time.
    Judged(MessageFilter),
    /// Nothing: it does not exist for the view.
    Nothing,
}

impl View {
    /// Returns what it hears of a page of a segment it mounts. It looks at the page's index, body, author,
    /// rewriter, turn and sources, and at nothing else of it.
    pub fn hearing(&self, segment: &Segment, page: &Page) -> Hearing {
        let Some(filter) = self.judged(segment, page) else { return Hearing::Unjudged };
        match filter.speech_of(page).filter(|_| self.hears(page)) {
            Some(speech) => Hearing::Judged(speech),
            None => Hearing::Nothing,
        }
    }

    /// Returns the filter that judges a page: a turn or a note of another, in a shared segment.
    pub(crate) fn judged(&self, segment: &Segment, page: &Page) -> Option<&ViewFilter> {
        let reader = self.reader_of(&segment.id);
        let owned = matches!(&segment.owner, Some(Owner::Agent(name)) if Some(name) == reader);
        // What was moved here from elsewhere is judged as it was there, or moving would unveil it.
        let own = (owned && page.sources.is_empty())
            || (reader.is_some() && page.author.agent() == reader);
        let said = page.detail().is_some() && segment.kind != SegmentKind::System;
        (said && !own).then_some(&self.filter)
    }

    /// Returns whether everyone is heard whose words a page of another holds.
    pub(crate) fn hears(&self, page: &Page) -> bool {
        let reader = self.reader_of(page.index.segment());
        let own = |who: &Actor| who.agent().is_some() && who.agent() == reader;
        let hears = |who: &Actor| own(who) || self.filter.hears(who);
        hears(&page.author) && page.rewritten_by.as_ref().is_none_or(hears)
    }
}

impl ViewFilter {
    /// Returns which messages of a page of another are seen; none where it is not seen at all,
    /// whatever it says.
    pub(crate) fn speech_of(&self, page: &Page) -> Option<MessageFilter> {
        match (self.speech, &page.turn, &page.author) {
            // What an agent notes is its own finding, and no request.
            (MessageFilter::RequestsOnly, None, Actor::Agent(_)) => None,
            // What the host notes is for the agents, like what it asks.
            (MessageFilter::RequestsOnly, None, Actor::System | Actor::User(_)) => {
                Some(MessageFilter::WithoutTools)
            }
            (speech, ..) => Some(speech),
        }
    }

    /// Returns whether turns and notes of this author are seen.
    fn hears(&self, author: &Actor) -> bool {
        let Some(authors) = &self.authors else { return true };
        authors.contains(author) || (author.is_system_side() && authors.contains(&Actor::System))
    }

    /// Returns whether a turn that began then, or a note made then, is seen.
    pub fn reaches(&self, began: Timestamp) -> bool {
        self.since.is_none_or(|since| began >= since)
    }
}

impl MessageFilter {
    /// Returns whether it is all.
    pub fn is_all(&self) -> bool {
        *self == MessageFilter::All
    }

    /// Returns whether all that messages say is seen.
    pub(crate) fn hears_all(self, messages: &[Message]) -> bool {
        match self {
            MessageFilter::All => true,
            MessageFilter::WithoutTools => {
                messages.iter().all(|said| without_tools(said.clone()).as_ref() == Some(said))
            }
            MessageFilter::RequestsOnly => {
                messages.iter().all(|message| message.role == Role::User)
            }
        }
    }

    /// Returns whether anything of a message is seen.
    pub fn hears(self, message: &Message) -> bool {
        match self {
            MessageFilter::All => true,
            MessageFilter::WithoutTools => says_without_tools(message),
            MessageFilter::RequestsOnly => message.role == Role::User,
        }
    }

    /// Returns the messages that are seen.
    pub fn heard(self, messages: Vec<Message>) -> Vec<Message> {
        match self {
            MessageFilter::All => messages,
            MessageFilter::WithoutTools => messages.into_iter().filter_map(without_tools).collect(),
            MessageFilter::RequestsOnly => {
                messages.into_iter().filter(|message| message.role == Role::User).collect()
            }
        }
    }
}

/// Returns whether anything is left of a message without its tools.
fn says_without_tools(message: &Message) -> bool {
    let calls = message.tool_calls().next().is_some();
    match message.role {
        Role::Tool => false,
        Role::System | Role::User => true,
        Role::Assistant => message.parts.iter().any(|part| stays(part, calls) && says(part)),
    }
}

/// Returns whether a part of an answer is seen without tools; `calls` where the answer calls any.
fn stays(part: &Part, calls: bool) -> bool {
    match part {
        Part::Text(_) | Part::Image(_) => true,
        // What led to a call tells of the call, and goes back to its provider only with it.
        Part::Thinking(_) => !calls,
        // A part of a kind we do not know may be a call that the provider answers itself.
        Part::ToolCall(_) | Part::ToolResult(_) | Part::Other(_) => false,
    }
}

fn says(part: &Part) -> bool {
    !matches!(part, Part::Text(text) if text.text.is_empty())
}

/// Takes what belongs to tools out of a message; none where nothing is left.
fn without_tools(mut message: Message) -> Option<Message> {
    if !says_without_tools(&message) {
        return None;
    }
    if message.role != Role::Assistant {
        return Some(message);
    }
    let calls = message.tool_calls().next().is_some();
    message.parts.retain(|part| stays(part, calls));
    // Fields that we do not know may quote results: citations, calls of an older kind.
    message.extra = Fields::default();
    for part in &mut message.parts {
        if let Part::Text(text) = part {
            text.extra = Fields::default();
        }
    }
    Some(message)
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
