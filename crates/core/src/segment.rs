//! Segments: trees of pages with a kind, a permission, a capacity and their own numbering.

use std::{cmp::Ordering, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    AgentName, Description, Error, PageIndex, PageName, Revision, SegmentId, Timestamp, Tokens,
    page::named_values, storage::Version,
};

/// A tree of pages. It declares its permission; checking it is the proxy's business.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Segment {
    /// Its one name.
    pub id: SegmentId,
    /// What it is called.
    pub name: PageName,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Description::is_empty")]
    pub description: Description,
    /// What it is for.
    pub kind: SegmentKind,
    /// What agents may do in it.
    pub permission: Permission,
    /// How many tokens it may take in a window; 0 is unlimited.
    pub capacity: Tokens,
    /// Whose own it is; none when it is everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Orders segments for display.
    pub ordinal: u64,
    /// The number the next page gets. Storages advance it; it never goes back.
    pub next_number: u64,
    /// The edit that last changed any of its pages. Storages advance it, as they do `next_number`.
    #[serde(default, skip_serializing_if = "is_untouched")]
    pub touched: Revision,
    /// Whether it was removed; its row stays so that numbers are never reused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Counts its changes (not those of `next_number`).
    pub version: Version,
    /// The edit that last changed it.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

fn is_untouched(revision: &Revision) -> bool {
    *revision == Revision(0)
}

impl Segment {
    /// Returns its root's index.
    pub fn root(&self) -> PageIndex {
        self.id.root()
    }

    /// Returns the last number given to a page of it; 0 is its root's.
    pub fn last_number(&self) -> u64 {
        self.next_number.saturating_sub(1)
    }

    /// Compares two of a session by the order they are shown in. Two that were added at the same time
    /// share a place in it.
    pub fn in_order(&self, other: &Self) -> Ordering {
        (self.ordinal, &self.id).cmp(&(other.ordinal, &other.id))
    }

    /// Returns the first place in that order that none has, before others that have one. Those in `left`
    /// are known to have been left: by segments that were removed and came back.
    pub fn first_gap(segments: &[Self], left: &BTreeSet<u64>) -> Option<u64> {
        let taken = segments.iter().map(|segment| segment.ordinal);
        let taken: BTreeSet<u64> = taken.chain(left.iter().copied()).collect();
        let last = segments.iter().map(|segment| segment.ordinal).max()?;
        (0..last).find(|place| !taken.contains(place))
    }

    /// Returns the first place behind all of them.
    pub fn behind<'a>(segments: impl IntoIterator<Item = &'a Self>) -> u64 {
        segments.into_iter().map(|segment| segment.ordinal + 1).max().unwrap_or(0)
    }

    /// Tells whether all its pages stand in full in every view, whatever levels and defaults say:
    /// agents are bound by them and may not write there.
    pub fn stands_in_full(&self) -> bool {
        self.kind == SegmentKind::System && self.permission == Permission::ReadOnly
    }
}

/// What a segment is for. The numbers are the order of the seed's constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SegmentKind {
    /// System prompts: never folded, its root always expanded, all of it while it is read-only.
    System = 0,
    /// The conversation with the user.
    User = 1,
    /// What tools left behind.
    Tool = 2,
    /// Anything else.
    Custom = 3,
}

/// What agents may do in a segment, from the strictest to the loosest. The numbers are the seed's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Permission {
    /// Read, and change one's own levels.
    ReadOnly = 0,
    /// Also write.
    ReadWrite = 1,
    /// Everything: agents manage the segment as the system side does, its permission and removal
    /// included. Its name sounds strict, but it is the loosest.
    SystemManaged = 2,
}

named_values!(
    SegmentKind,
    "segment kind",
    System = "system",
    User = "user",
    Tool = "tool",
    Custom = "custom"
);
named_values!(
    Permission,
    "permission",
    ReadOnly = "read-only",
    ReadWrite = "read-write",
    SystemManaged = "system-managed"
);

/// Whose own a segment is: other agents' default views leave it out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Owner {
    /// An agent's own conversation or prompt.
    Agent(AgentName),
    /// A named group's shared segment.
    Group(AgentName),
}

impl Owner {
    /// Returns the owner that a segment's name implies: `agent-NAME`, `fork-NAME`, `prompt-NAME`,
    /// `group-NAME`.
    pub fn implied_by(id: &SegmentId) -> Option<Self> {
        let (prefix, name) = id.as_str().split_once('-')?;
        let name: AgentName = name.parse().ok()?;
        match prefix {
            "agent" | "fork" | "prompt" => Some(Owner::Agent(name)),
            "group" => Some(Owner::Group(name)),
            _ => None,
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::Agent(name) => write!(f, "agent:{name}"),
            Owner::Group(name) => write!(f, "group:{name}"),
        }
    }
}

impl std::str::FromStr for Owner {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.split_once(':') {
            Some(("agent", name)) => Ok(Owner::Agent(name.parse()?)),
            Some(("group", name)) => Ok(Owner::Group(name.parse()?)),
            _ => Err(Error::UnknownValue {
                what: "owner",
                text: crate::index::shorten(text),
                known: "agent:NAME group:NAME",
            }),
        }
    }
}

crate::text::serde_as_text!(Owner);

/// What is asked for when a segment is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSegment {
    /// Its one name.
    pub id: SegmentId,
    /// What it is called; its id when not given.
    pub name: Option<PageName>,
    /// What it is about.
    pub description: Description,
    /// What it is for.
    pub kind: SegmentKind,
    /// What agents may do in it.
    pub permission: Permission,
    /// How many tokens it may take in a window; 0 is unlimited.
    pub capacity: Tokens,
}

impl NewSegment {
    /// Names a segment; the seed's system segments are ReadOnly, others ReadWrite.
    pub fn new(id: SegmentId, kind: SegmentKind) -> Self {
        let permission = match kind {
            SegmentKind::System => Permission::ReadOnly,
            SegmentKind::User | SegmentKind::Tool | SegmentKind::Custom => Permission::ReadWrite,
        };
        Self {
            id,
            name: None,
            description: Description::default(),
            kind,
            permission,
            capacity: Tokens(0),
        }
    }

    /// Sets what agents may do in it.
    #[must_use]
    pub fn permission(mut self, permission: Permission) -> Self {
        self.permission = permission;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_imply_owners() {
        let owner =
            |id: &str| Owner::implied_by(&id.parse().unwrap()).map(|owner| owner.to_string());
        assert_eq!(owner("agent-code-reviewer").as_deref(), Some("agent:code-reviewer"));
        assert_eq!(owner("prompt-a").as_deref(), Some("agent:a"));
        assert_eq!(owner("group-team").as_deref(), Some("group:team"));
        assert_eq!(owner("usr"), None);
        assert_eq!(owner("agent-Not_A_Name"), None);
    }

    // an unknown permission value admits nothing, because it cannot be made.
    #[test]
    fn unknown_permissions_cannot_be_made() {
        assert!("3".parse::<Permission>().is_err());
        assert!("root".parse::<Permission>().is_err());
        assert_eq!("2".parse::<Permission>().unwrap(), Permission::SystemManaged);
    }
}
