//! Who acts, and through which view.

pub(crate) mod entries;
mod filter;

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{AgentName, Error, Owner, Segment, SegmentId, UserName};

pub use filter::{FilterKey, Hearing, MessageFilter, ViewFilter};

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

/// Names a view's level state: the system side's, an agent's own, or that of one of its branches.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewId {
    actor: Actor,
    branch: Option<u64>,
}

impl ViewId {
    /// The system side's view, whose expand, hide and pin are everybody's default.
    pub const SYSTEM: ViewId = ViewId { actor: Actor::System, branch: None };

    /// Returns the view an actor acts in. Users act in the system side's.
    pub fn of(actor: &Actor) -> Self {
        match actor {
            Actor::System | Actor::User(_) => Self::SYSTEM,
            Actor::Agent(_) => Self { actor: actor.clone(), branch: None },
        }
    }

    /// Returns the view of an agent's branch.
    pub fn of_branch(agent: &AgentName, number: u64) -> Self {
        Self { actor: Actor::Agent(agent.clone()), branch: Some(number) }
    }

    /// Returns the agent whose view it is; none for the system side's.
    pub fn agent(&self) -> Option<&AgentName> {
        self.actor.agent()
    }

    /// Returns the number of the branch, where it is one's.
    pub fn branch(&self) -> Option<u64> {
        self.branch
    }
}

/// As `fixer`, or `fixer.3` for its third branch: no agent's name has a full stop.
impl fmt::Display for ViewId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.actor.fmt(f)?;
        match self.branch {
            Some(number) => write!(f, ".{number}"),
            None => Ok(()),
        }
    }
}

impl FromStr for ViewId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "system" {
            return Ok(Self::SYSTEM);
        }
        let branch = text.split_once('.').and_then(|(agent, number)| {
            let branch = number.parse().ok().filter(|branch: &u64| branch.to_string() == number)?;
            Some((agent, branch))
        });
        Ok(match branch {
            Some((agent, number)) => Self::of_branch(&agent.parse()?, number),
            None => Self { actor: Actor::Agent(text.parse()?), branch: None },
        })
    }
}

crate::text::serde_as_text!(Actor, ViewId);

/// What an agent sees: segments in order, what of them, and where its turns are written.
///
/// What is not mounted, or left out by the filter, does not exist for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    /// The agent looking through it.
    pub agent: AgentName,
    /// Which segments it sees.
    pub mounts: Mounts,
    /// Where its turns are written.
    pub writes_to: SegmentId,
    /// What of them it does not see.
    pub filter: ViewFilter,
    /// What it branched off, where it begins as what another view showed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchView>,
}

/// What makes a view a branch: it begins as what its parent showed at a moment, and goes on alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchView {
    /// Tells the branches of an agent apart.
    pub number: u64,
    /// The view it began as.
    pub parent: ViewId,
    /// The agents with whose eyes inherited segments are seen; none for those of the system side.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub readers: BTreeMap<SegmentId, AgentName>,
}

/// Which segments a view holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mounts {
    /// Every segment except other agents' and groups' own, in display order.
    Common,
    /// These, in this order.
    Listed(Vec<SegmentId>),
}

impl View {
    /// The view of an agent of which nothing else is known: the common segments, writing to `usr`.
    pub fn common(agent: AgentName) -> Self {
        let writes_to = "usr".parse().expect("usr follows the grammar");
        let (mounts, filter) = (Mounts::Common, ViewFilter::default());
        Self { agent, mounts, writes_to, filter, branch: None }
    }

    /// Returns the name of its level state.
    pub fn id(&self) -> ViewId {
        match &self.branch {
            Some(branch) => ViewId::of_branch(&self.agent, branch.number),
            None => ViewId { actor: Actor::Agent(self.agent.clone()), branch: None },
        }
    }

    /// Tells whether a segment is inherited: it stands as it stood, and is not written to.
    pub fn inherits(&self, segment: &SegmentId) -> bool {
        self.branch.is_some() && *segment != self.writes_to
    }

    /// Returns the agent whose view of a segment it is, since a branch shows what its parent showed; none
    /// for the system side.
    pub(crate) fn reader_of(&self, segment: &SegmentId) -> Option<&AgentName> {
        match &self.branch {
            Some(branch) if self.inherits(segment) => branch.readers.get(segment),
            _ => Some(&self.agent),
        }
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
            // A branch shows its parent's prompt and not its agent's own.
            Mounts::Listed(ids) if self.branch.is_some() => ids.contains(&segment.id),
            // What an agent adds joins its own view, whatever the list says.
            Mounts::Listed(ids) => ids.contains(&segment.id) || own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_read_as_they_are_written() {
        let fixer: AgentName = "fixer".parse().unwrap();
        let agent = ViewId::of(&Actor::Agent(fixer.clone()));
        let branch = ViewId::of_branch(&fixer, 12);
        for (view, text) in [(ViewId::SYSTEM, "system"), (agent, "fixer"), (branch, "fixer.12")] {
            assert_eq!(view.to_string(), text);
            assert_eq!(text.parse::<ViewId>().unwrap(), view);
        }
        for wrong in ["fixer.", "fixer.x", "fixer.01", "fixer.1.2", ".1", "system.1"] {
            assert!(wrong.parse::<ViewId>().is_err(), "{wrong}");
        }
    }
}
