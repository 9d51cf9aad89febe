//! Pages: the nodes of the tree, small, with their content beside them by hash.
//!
//! A page manages its own state and knows its parent; it does no tree walking, no window
//! computation and no message generation (P-28). Lifecycle is not stored: it is derived from where
//! the page stands and what a view hides ([`crate::ContextSystem`]).

use serde::{Deserialize, Serialize};

use crate::{
    Actor, AgentName, Description, Error, PageIndex, PageName, Revision, Timestamp,
    storage::{ContentHash, Place, Version},
};

/// How many directories a page may stand in, at most: a root stands in none. Trees of earlier versions
/// may be deeper; they are read as they are.
pub const MAX_DEPTH: usize = 256;

/// A node of the tree. Values are immutable to readers; only edits make new ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Its one name.
    pub index: PageIndex,
    /// The directory it lies in; none for a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<PageIndex>,
    /// Its place among its siblings.
    pub place: Place,
    /// A directory, or messages.
    pub body: PageBody,
    /// What it is called.
    pub name: PageName,
    /// What it is about.
    #[serde(default, skip_serializing_if = "Description::is_empty")]
    pub description: Description,
    /// How it stands where no view says otherwise.
    pub visibility: Visibility,
    /// Whether it is in the tree.
    #[serde(default, skip_serializing_if = "PageStanding::is_in_tree")]
    pub standing: PageStanding,
    /// Who made it.
    pub author: Actor,
    /// Who replaced what it says last, where that is not its author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewritten_by: Option<Actor>,
    /// How far what it says can be trusted.
    pub trust: Trust,
    /// The pages it was made from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<PageIndex>,
    /// The first page of the turn it belongs to, where it belongs to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<PageIndex>,
    /// Counts its changes.
    pub version: Version,
    /// The edit that last changed it.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a page holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PageBody {
    /// A ContentsPage: a directory. Its children are found by parent and place, never stored here.
    Contents,
    /// A DetailPage: a leaf with messages.
    Detail(PageDetail),
}

/// What a DetailPage knows of its content without loading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageDetail {
    /// The content's hash, by which it is stored once.
    pub content: ContentHash,
    /// How many messages it holds.
    pub messages: u32,
    /// How many a document counted that it was loaded from, where these are more: messages that were
    /// merged into one text before. Kept for documents; windows go by those it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<u32>,
    /// Bytes of text, arguments and results in it.
    pub weight: u64,
    /// The ids of the calls in its last exchange that have no result yet, in order. While there are
    /// any, the exchange is open and no fold lowers the page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
}

impl PageDetail {
    /// Returns how many messages a document says it holds (`messageCount`).
    pub fn message_count(&self) -> u32 {
        self.counted.unwrap_or(self.messages)
    }

    /// Returns it with what a document counts, where that is more than it holds.
    pub(crate) fn with_count(self, given: u32) -> Self {
        Self { counted: Some(given).filter(|given| *given > self.messages), ..self }
    }
}

/// Expanded or hidden (P-03, P-04). The numbers are the seed's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Visibility {
    /// A directory lists its children; a leaf shows its detail.
    Expanded = 0,
    /// A directory keeps its children to itself; a leaf shows its description only.
    Hidden = 1,
}

/// Where a page stands by its own record.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PageStanding {
    /// In the tree.
    #[default]
    InTree,
    /// In the tree, but archived hot: out of the window until restored.
    HotArchived,
    /// In the archive, with everything below it.
    ColdArchived,
    /// Retired: it lives on under another index.
    Moved(PageIndex),
}

impl PageStanding {
    fn is_in_tree(&self) -> bool {
        *self == PageStanding::InTree
    }

    /// Tells whether the page is listed among its parent's children.
    pub fn is_listed(&self) -> bool {
        matches!(self, PageStanding::InTree | PageStanding::HotArchived)
    }
}

/// Whether a page stands in the window (P-02), derived for a view. The numbers are the seed's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Lifecycle {
    /// In the window.
    Active = 0,
    /// Out of the window, in the tree: an ancestor is hidden, or it was archived hot.
    HotArchived = 1,
    /// In the archive.
    ColdArchived = 2,
}

/// How far text can be trusted; a page made from others takes the lowest and it never rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Came back from a tool: anybody may have written it.
    Tool,
    /// Written by an agent.
    Agent,
    /// Written by the user.
    User,
    /// Written by the system side.
    System,
}

impl Page {
    /// Tells whether it is a directory.
    pub fn is_contents(&self) -> bool {
        matches!(self.body, PageBody::Contents)
    }

    /// Returns what is known of its content, if it is a leaf.
    pub fn detail(&self) -> Option<&PageDetail> {
        match &self.body {
            PageBody::Contents => None,
            PageBody::Detail(detail) => Some(detail),
        }
    }

    /// Tells whether its last exchange still waits for results.
    pub fn is_open(&self) -> bool {
        self.detail().is_some_and(|detail| !detail.open.is_empty())
    }

    /// Tells whether it was retired in favour of that page.
    pub(crate) fn has_moved_to(&self, index: &PageIndex) -> bool {
        matches!(&self.standing, PageStanding::Moved(to) if to == index)
    }

    /// Returns the agent that replaced what it says last, where one other than its author did.
    fn rewriter(&self) -> Option<&AgentName> {
        self.rewritten_by.as_ref().and_then(Actor::agent)
    }

    /// Returns the seed's name of its type.
    pub fn type_name(&self) -> &'static str {
        if self.is_contents() { "ContentsPage" } else { "DetailPage" }
    }

    /// Returns the bytes it is stored as. Two pages are equal when these are.
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a page has only string keys and finite numbers")
    }

    /// Reads what [`Page::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }

    /// Returns the checksum of its stored form.
    pub fn checksum(&self) -> Checksum {
        Checksum::of(&self.encode())
    }

    /// Returns about how many bytes it takes in memory, its texts and what allocating them takes
    /// included.
    pub fn size(&self) -> usize {
        let text = |text: &str| if text.is_empty() { 0 } else { ALLOCATION + text.len() };
        let moved = match &self.standing {
            PageStanding::Moved(to) => Some(to),
            PageStanding::InTree | PageStanding::HotArchived | PageStanding::ColdArchived => None,
        };
        let named = self.parent.iter().chain(&self.turn).chain(&self.sources).chain(moved);
        let names = named.chain([&self.index]).map(|index| text(index.segment().as_str()));
        std::mem::size_of::<Self>()
            + text(self.name.as_str())
            + text(self.description.as_str())
            + self.author.name().map_or(0, text)
            + self.rewriter().map_or(0, |agent| text(agent.as_str()))
            + self.detail().map_or(0, |detail| detail.open.iter().map(|id| text(id)).sum())
            + self.sources.len() * std::mem::size_of::<PageIndex>()
            + names.sum::<usize>()
    }
}

/// What a text takes beside its bytes: its counters, and what the allocator rounds up by.
const ALLOCATION: usize = 32;

/// A short checksum that notices a flipped byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum(pub [u8; 16]);

impl Checksum {
    /// Computes it over bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut sum = [0; 16];
        sum.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
        Self(sum)
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

macro_rules! named_values {
    ($type:ident, $what:literal, $($variant:ident = $name:literal),+) => {
        impl $type {
            /// Returns the value as it is spelt in JSON.
            pub fn as_str(self) -> &'static str {
                match self { $($type::$variant => $name),+ }
            }
        }
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl std::str::FromStr for $type {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                $(if text.eq_ignore_ascii_case($name) || text == ($type::$variant as u8).to_string() {
                    return Ok($type::$variant);
                })+
                Err(Error::UnknownValue {
                    what: $what,
                    text: crate::index::shorten(text),
                    known: concat!($($name, " "),+),
                })
            }
        }
    };
}
pub(crate) use named_values;

named_values!(Visibility, "visibility", Expanded = "Expanded", Hidden = "Hidden");
named_values!(
    Lifecycle,
    "lifecycle",
    Active = "Active",
    HotArchived = "HotArchived",
    ColdArchived = "ColdArchived"
);
named_values!(Trust, "trust", Tool = "tool", Agent = "agent", User = "user", System = "system");

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        Page {
            index: "usr-3".parse().unwrap(),
            parent: Some("usr-0".parse().unwrap()),
            place: Place(7),
            body: PageBody::Detail(PageDetail {
                content: ContentHash::of(b"x"),
                messages: 2,
                counted: Some(5),
                weight: 10,
                open: vec!["call_1".to_owned()],
            }),
            name: "goroutine原理".parse().unwrap(),
            description: "解释\n调度".parse().unwrap(),
            visibility: Visibility::Hidden,
            standing: PageStanding::Moved("sys-9".parse().unwrap()),
            author: "bot".parse().unwrap(),
            rewritten_by: Some(Actor::System),
            trust: Trust::Tool,
            sources: vec!["usr-1".parse().unwrap()],
            turn: Some("usr-2".parse().unwrap()),
            version: Version(4),
            revision: Revision(9),
            created_at: Timestamp::from_millis(1),
            updated_at: Timestamp::from_millis(2),
        }
    }

    // P-10, P-25, P-26, P-27: encoding keeps every field, Chinese names and the message count.
    #[test]
    fn encoding_round_trips_every_field() {
        let page = page();
        assert_eq!(Page::decode(&page.encode()).unwrap(), page);
        let mut other = page.clone();
        other.place = Place(8);
        assert_ne!(other.checksum(), page.checksum());
    }

    // P-28: a page is plain data. It holds no tree, no window and no messages, and nothing it can do
    // waits for any of them or is given one.
    #[test]
    fn a_page_walks_no_tree_and_makes_no_window_or_message() {
        // All there is in a page: whoever adds a field comes by here.
        let Page {
            index: _,
            parent: _,
            place: _,
            body: _,
            name: _,
            description: _,
            visibility: _,
            standing: _,
            author: _,
            rewritten_by: _,
            trust: _,
            sources: _,
            turn: _,
            version: _,
            revision: _,
            created_at: _,
            updated_at: _,
        } = page();
        let source = include_str!("page.rs");
        let (code, _) = source.split_once("#[cfg(test)]").unwrap();
        let code: Vec<&str> =
            code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let words = ["async", "await", "ContextSystem", "Reader", "PageStorage", "Message", "dyn"];
        for word in words.into_iter().chain(["Window", "WindowLevel", "Outline", "Context"]) {
            let named =
                |line: &&&str| line.split(|c: char| !c.is_alphanumeric()).any(|it| it == word);
            assert_eq!(code.iter().find(named), None, "{word}");
        }
    }

    // P-13, P-22: the seed's names and numbers are both read; anything else is refused.
    #[test]
    fn unknown_values_are_refused() {
        assert_eq!("1".parse::<Visibility>().unwrap(), Visibility::Hidden);
        assert_eq!("ColdArchived".parse::<Lifecycle>().unwrap(), Lifecycle::ColdArchived);
        assert!("3".parse::<Lifecycle>().is_err());
        assert!("visible".parse::<Visibility>().is_err());
    }

    #[test]
    fn trust_orders_from_tool_to_system() {
        assert!(
            Trust::Tool < Trust::Agent && Trust::Agent < Trust::User && Trust::User < Trust::System
        );
    }
}
