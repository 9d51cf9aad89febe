//! Who acts, and through which view.

pub(crate) mod entries;
mod filter;

use std::{fmt, str::FromStr};

use crate::{AgentName, Error, Owner, Segment, SegmentId, UserName};

pub use filter::{FilterKey, MessageFilter, ViewFilter};

/// Who makes an edit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Actor {
    /// The system side: the host, the command line without `--as`.
    System,
    /// A person on the system side.
    User(UserName),
    /// An agent.
    Agent(AgentName),
}

impl Actor {
    /// Returns the agent's name, if it is one.
    pub fn agent(&self) -> Option<&AgentName> {
        match self {
            Actor::System | Actor::User(_) => None,
            Actor::Agent(name) => Some(name),
        }
    }

    /// Returns the agent's or the person's name.
    pub fn name(&self) -> Option<&str> {
        match self {
            Actor::System => None,
            Actor::User(name) => Some(name.as_str()),
            Actor::Agent(name) => Some(name.as_str()),
        }
    }

    /// Tells whether it is the host or a person: nothing is hidden from it, and nothing is checked.
    pub fn is_system_side(&self) -> bool {
        match self {
            Actor::System | Actor::User(_) => true,
            Actor::Agent(_) => false,
        }
    }
}

/// What the text of a user begins with. No agent's name has a colon.
const USER: &str = "user:";

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::System => f.write_str("system"),
            Actor::User(name) => write!(f, "{USER}{name}"),
            Actor::Agent(name) => fmt::Display::fmt(name, f),
        }
    }
}

impl FromStr for Actor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix(USER) {
            Some(name) => name.parse().map(Actor::User),
            None if text == "system" => Ok(Actor::System),
            None => text.parse().map(Actor::Agent),
        }
    }
}

/// Names a view's level state: the system side's, or an agent's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewId(Actor);

impl ViewId {
    /// The system side's view, whose expand, hide and pin are everybody's default.
    pub const SYSTEM: ViewId = ViewId(Actor::System);

    /// Returns the view an actor acts in. Users act in the system side's.
    pub fn of(actor: &Actor) -> Self {
        match actor {
            Actor::System | Actor::User(_) => Self::SYSTEM,
            Actor::Agent(_) => Self(actor.clone()),
        }
    }
}

impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ViewId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Ok(match text {
            "system" => Self::SYSTEM,
            name => Self(Actor::Agent(name.parse()?)),
        })
    }
}

crate::text::serde_as_text!(Actor, ViewId);

/// What an agent sees: segments in order, what of them, and where its turns are written.
///
/// What is not mounted, or left out by the filter, does not exist for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The agent looking through it.
    pub agent: AgentName,
    /// Which segments it sees.
    pub mounts: Mounts,
    /// Where its turns are written.
    pub writes_to: SegmentId,
    /// What of them it does not see.
    pub filter: ViewFilter,
}

/// Which segments a view holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mounts {
    /// Every segment except other agents' and groups' own, in display order.
    Common,
    /// These, in this order.
    Listed(Vec<SegmentId>),
}

impl View {
    /// The view of an agent of which nothing else is known: the common segments, writing to `usr`.
    pub fn common(agent: AgentName) -> Self {
        let usr = "usr".parse().expect("usr follows the grammar");
        Self { agent, mounts: Mounts::Common, writes_to: usr, filter: ViewFilter::default() }
    }

    /// Returns the name of its level state.
    pub fn id(&self) -> ViewId {
        ViewId(Actor::Agent(self.agent.clone()))
    }

    /// Returns where a segment stands in the view's own order; all alike where it has none.
    pub fn position(&self, id: &SegmentId) -> usize {
        match &self.mounts {
            Mounts::Common => 0,
            Mounts::Listed(ids) => ids.iter().position(|listed| listed == id).unwrap_or(ids.len()),
        }
    }

    /// Tells whether a segment is mounted.
    pub fn mounts(&self, segment: &Segment) -> bool {
        let without = &self.filter.without;
        if segment.removed || (!without.is_empty() && without.contains(&segment.root())) {
            return false;
        }
        let own = matches!(&segment.owner, Some(Owner::Agent(name)) if *name == self.agent);
        match &self.mounts {
            Mounts::Common => segment.owner.is_none() || own,
            // What an agent adds joins its own view, whatever the list says.
            Mounts::Listed(ids) => ids.contains(&segment.id) || own,
        }
    }
}
