//! What decides who sees a document: who wrote it, and what kind of message it is.
//!
//! There are few of these, however many documents there are. A view is asked about each once.

use crate::document::Marks;
use contexture_core::{
    Actor, Description, Page, PageIndex, PageName, Revision, Role, Segment, Timestamp, Trust, View,
    Visibility,
    message::{Hearing, MessageFilter},
    storage::{ContentHash, PageBody, PageDetail, PageStanding, Place, Version},
};
use serde::{Deserialize, Serialize};

/// A text of a document that a view sees or does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Part {
    Name,
    Description,
    Request,
    Answer,
    Thinking,
    Tool,
}

impl Part {
    pub(crate) const ALL: [Part; PARTS] =
        [Part::Name, Part::Description, Part::Request, Part::Answer, Part::Thinking, Part::Tool];
}

/// How many parts there are.
pub(crate) const PARTS: usize = 6;

/// Which parts of a document are seen, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Parts(pub(crate) u8);

impl Parts {
    pub(crate) const NONE: Parts = Parts(0);
    pub(crate) const ALL: Parts = Parts((1 << PARTS) - 1);

    pub(crate) fn of(parts: &[Part]) -> Self {
        Self(parts.iter().fold(0, |bits, part| bits | 1 << *part as u8))
    }

    pub(crate) fn has(self, part: Part) -> bool {
        self.0 & (1 << part as u8) != 0
    }

    pub(crate) fn without(self, part: Part) -> Self {
        Self(self.0 & !(1 << part as u8))
    }
}

/// What documents have in common that are seen by the same views.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Class {
    /// Who made the page.
    pub(crate) author: Actor,
    /// Who replaced what it says.
    pub(crate) rewritten_by: Option<Actor>,
    /// Whether it was made from others.
    pub(crate) sourced: bool,
    /// Whether it belongs to a turn.
    pub(crate) turn: bool,
    /// Whether it is a leaf.
    pub(crate) leaf: bool,
    /// What the document is.
    pub(crate) kind: Kind,
    /// The parts that have any term.
    pub(crate) parts: u8,
    /// What the ranking wants to know of the texts: of all; of a message without tools, or a page's description;
    /// of an answer without thinking, or a page's name.
    pub(crate) marks: [u8; 3],
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// The name and description of a page.
    Page(Heard),
    /// A message of the system or a user.
    Said { user: bool },
    /// A message of a model, and whether it calls tools.
    Answered { calls: bool },
    /// Results of tools.
    Returned,
}

/// What is left of a page's messages where not all of them are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Heard {
    /// Whether it has no messages at all.
    pub(crate) silent: bool,
    /// Whether any message is left without tools.
    pub(crate) without_tools: bool,
    /// Whether there is a request.
    pub(crate) requests: bool,
    /// Whether the requests have words.
    pub(crate) worded: bool,
}

/// What a view sees of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) parts: Parts,
    /// Whether it is seen only if the turn began in time.
    pub(crate) timed: bool,
}

impl Class {
    /// Returns what a view sees of documents of this class in a segment it mounts.
    pub(crate) fn seen_by(&self, view: &View, segment: &Segment) -> Seen {
        let seen = |parts: Parts, timed| Seen { parts: Parts(parts.0 & self.parts), timed };
        match view.hearing(segment, &self.page(segment)) {
            Hearing::Unjudged => seen(Parts::ALL, false),
            Hearing::Judged(speech) => seen(self.heard(speech), true),
            Hearing::Nothing => seen(Parts::NONE, false),
        }
    }

    fn heard(&self, speech: MessageFilter) -> Parts {
        match (speech, self.kind) {
            (MessageFilter::All, _) => Parts::ALL,
            // A note may say nothing.
            (_, Kind::Page(heard)) if heard.silent && !self.turn => Parts::ALL,
            (MessageFilter::WithoutTools, Kind::Page(heard)) if heard.without_tools => self.named(),
            (MessageFilter::RequestsOnly, Kind::Page(heard)) if heard.requests => {
                if heard.worded {
                    self.named()
                } else {
                    self.named().without(Part::Name)
                }
            }
            (MessageFilter::WithoutTools, Kind::Said { .. }) => Parts::ALL,
            (MessageFilter::WithoutTools, Kind::Answered { calls: true }) => {
                Parts::of(&[Part::Answer])
            }
            (MessageFilter::WithoutTools, Kind::Answered { calls: false }) => {
                Parts::of(&[Part::Answer, Part::Thinking])
            }
            (MessageFilter::RequestsOnly, Kind::Said { user: true }) => Parts::ALL,
            (_, _) => Parts::NONE,
        }
    }

    /// A turn's description may tell of what is not heard.
    fn named(&self) -> Parts {
        if self.turn {
            Parts::of(&[Part::Name])
        } else {
            Parts::of(&[Part::Name, Part::Description])
        }
    }

    /// Returns a page of this class, so that the core judges it by its own rule.
    fn page(&self, segment: &Segment) -> Page {
        let index = PageIndex::new(segment.id.clone(), 1);
        let detail = PageDetail {
            content: ContentHash::of(b""),
            messages: 0,
            counted: None,
            weight: 0,
            open: Vec::new(),
        };
        Page {
            parent: Some(segment.root()),
            place: Place(0),
            body: if self.leaf { PageBody::Detail(detail) } else { PageBody::Contents },
            name: PageName::from_first_line("", "page"),
            description: Description::default(),
            visibility: Visibility::Expanded,
            standing: PageStanding::InTree,
            author: self.author.clone(),
            rewritten_by: self.rewritten_by.clone(),
            trust: Trust::Tool,
            sources: if self.sourced { vec![index.clone()] } else { Vec::new() },
            turn: self.turn.then(|| index.clone()),
            version: Version(1),
            revision: Revision(1),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
            index,
        }
    }

    /// Returns what the ranking wants to know of the parts that are seen.
    pub(crate) fn marks(&self, seen: Parts) -> Marks {
        let [all, fewer, first] = self.marks;
        let hidden = Parts(self.parts & !seen.0);
        Marks::from_bits(if hidden == Parts::NONE {
            all
        } else if hidden.has(Part::Thinking) || hidden.has(Part::Description) {
            first
        } else {
            fewer
        })
    }

    /// Returns the role of the message; none for a page's own name.
    pub(crate) fn role(&self) -> Option<Role> {
        match self.kind {
            Kind::Page(_) => None,
            Kind::Said { user: true } => Some(Role::User),
            Kind::Said { user: false } => Some(Role::System),
            Kind::Answered { .. } => Some(Role::Assistant),
            Kind::Returned => Some(Role::Tool),
        }
    }
}
