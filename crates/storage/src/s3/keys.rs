//! Keys: what a session holds, as one ordered space of bytes that sorts the way lists are read.

use std::sync::Arc;

use contexture_core::{
    Actor, Page, PageIndex, Revision, SegmentId,
    storage::{ChunkKey, ContentHash, CustomKey, LedgerKey, Place, RunKey, ViewId},
};

use super::{frame::Parts, root::Id, table::Key};

/// What a key is about: its first byte.
pub(crate) mod family {
    pub(crate) const ACTOR: u8 = b'a';
    pub(crate) const CHILD: u8 = b'c';
    pub(crate) const DIRECTORY: u8 = b'd';
    pub(crate) const REFERENCE: u8 = b'r';
    pub(crate) const TURN: u8 = b't';
    pub(crate) const UNLISTED: u8 = b'u';
    pub(crate) const CONTENT: u8 = b'C';
    pub(crate) const FOCUS: u8 = b'F';
    pub(crate) const LEDGER: u8 = b'G';
    pub(crate) const HISTORY: u8 = b'H';
    pub(crate) const CUSTOM: u8 = b'K';
    pub(crate) const LEVEL: u8 = b'L';
    pub(crate) const PAGE: u8 = b'P';
    pub(crate) const RUN: u8 = b'R';
    pub(crate) const SEGMENT: u8 = b'S';
    pub(crate) const VIEW: u8 = b'V';
}

/// Puts a key together.
pub(crate) struct Builder(Vec<u8>);

impl Builder {
    pub(crate) fn new(family: u8) -> Self {
        Self(vec![family])
    }

    /// Adds a text that more follows. No text here holds a nought.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        self
    }

    pub(crate) fn last_text(mut self, text: &str) -> Self {
        self.0.extend_from_slice(text.as_bytes());
        self
    }

    pub(crate) fn number(mut self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_be_bytes());
        self
    }

    /// The system side comes before all agents. Views are listed in this order.
    pub(crate) fn actor(mut self, actor: &Actor) -> Self {
        let (kind, name) = match actor {
            Actor::System => (1, None),
            Actor::Agent(name) => (2, Some(name.as_str())),
            Actor::User(name) => (3, Some(name.as_str())),
        };
        self.0.push(kind);
        match name {
            Some(name) => self.text(name),
            None => self,
        }
    }

    /// A view is named after its agent. The branches of an agent follow it, by number: what ends its name
    /// is smaller than any letter of a longer one.
    pub(crate) fn view(mut self, view: &ViewId) -> Self {
        match (view.agent(), view.branch()) {
            (None, _) => self.actor(&Actor::System),
            (Some(agent), None) => self.actor(&Actor::Agent(agent.clone())),
            (Some(agent), Some(branch)) => {
                self.0.push(2);
                self.0.extend_from_slice(agent.as_str().as_bytes());
                self.0.push(BRANCH);
                self.number(branch)
            }
        }
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn key(self) -> Key {
        self.0.into()
    }
}

/// What ends the name of an agent before the number of its branch.
const BRANCH: u8 = 1;

/// All keys from one on, before another.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) from: Key,
    pub(crate) to: Key,
}

impl Range {
    /// Returns all keys that begin so.
    pub(crate) fn prefix(prefix: &[u8]) -> Self {
        let mut to = prefix.to_vec();
        while let Some(last) = to.pop() {
            if last < 0xff {
                to.push(last + 1);
                break;
            }
        }
        Self { from: prefix.into(), to: to.into() }
    }

    pub(crate) fn family(family: u8) -> Self {
        Self::prefix(&[family])
    }

    /// Keeps those after a key.
    pub(crate) fn after(mut self, key: &[u8]) -> Self {
        let next: Vec<u8> = key.iter().copied().chain([0]).collect();
        if *next > *self.from {
            self.from = next.into();
        }
        self
    }

    /// Keeps those before a key.
    pub(crate) fn before(mut self, key: &[u8]) -> Self {
        if *key < *self.to {
            self.to = key.into();
        }
        self
    }
}

pub(crate) fn segment(id: &SegmentId) -> Key {
    Builder::new(family::SEGMENT).last_text(id.as_str()).key()
}

pub(crate) fn page(index: &PageIndex) -> Key {
    Builder::new(family::PAGE).text(index.segment().as_str()).number(index.number()).key()
}

pub(crate) fn pages_of(segment: &SegmentId) -> Range {
    Range::prefix(&Builder::new(family::PAGE).text(segment.as_str()).0)
}

fn under(family: u8, parent: &PageIndex) -> Builder {
    Builder::new(family).text(parent.segment().as_str()).number(parent.number())
}

/// Returns where a directory's pages are found, listed ones or others.
pub(crate) fn children_of(parent: &PageIndex, family: u8) -> Range {
    Range::prefix(&under(family, parent).0)
}

/// Returns the key that all at or after a place come after.
pub(crate) fn child_at(parent: &PageIndex, family: u8, place: Place) -> Key {
    under(family, parent).number(place.0).key()
}

/// Returns the place and the number at a key's end.
pub(crate) fn place_and_number(key: &[u8]) -> Option<(Place, u64)> {
    let mut parts = Parts(key.get(key.len().checked_sub(16)?..)?);
    let place = u64::from_be_bytes(parts.array()?);
    Some((Place(place), u64::from_be_bytes(parts.array()?)))
}

pub(crate) fn directory(index: &PageIndex) -> Key {
    under(family::DIRECTORY, index).key()
}

pub(crate) fn turns_of(segment: &SegmentId, author: &Actor) -> Range {
    Range::prefix(&Builder::new(family::TURN).text(segment.as_str()).actor(author).0)
}

pub(crate) fn turn_at(segment: &SegmentId, author: &Actor, place: Place) -> Key {
    Builder::new(family::TURN).text(segment.as_str()).actor(author).number(place.0).key()
}

/// Returns the keys under which a page is found beside its own, with what they say.
pub(crate) fn derived(page: &Page) -> Vec<(Key, Vec<u8>)> {
    use contexture_core::storage::PageStanding;
    let mut keys = Vec::new();
    let (listed, standing) = match page.standing {
        PageStanding::InTree | PageStanding::HotArchived => (true, 0),
        PageStanding::ColdArchived => (false, 1),
        PageStanding::Moved(_) => (false, 2),
    };
    let number = page.index.number();
    if let Some(parent) = &page.parent {
        let family = if listed { family::CHILD } else { family::UNLISTED };
        keys.push((
            under(family, parent).number(page.place.0).number(number).key(),
            vec![standing],
        ));
    }
    if listed && page.turn.is_some() {
        let key = Builder::new(family::TURN).text(page.index.segment().as_str());
        let key = key.actor(&page.author).number(page.place.0).number(number).key();
        keys.push((key, Vec::new()));
    }
    keys
}

pub(crate) fn history(revision: Revision) -> Key {
    Builder::new(family::HISTORY).number(revision.0).key()
}

pub(crate) fn actor(actor: &Actor, revision: Revision) -> Key {
    Builder::new(family::ACTOR).actor(actor).number(revision.0).key()
}

pub(crate) fn entries_of(actor: &Actor) -> Range {
    Range::prefix(&Builder::new(family::ACTOR).actor(actor).0)
}

/// Returns the revision at a key's end.
pub(crate) fn revision(key: &[u8]) -> Option<Revision> {
    let number = key.get(key.len().checked_sub(8)?..)?;
    Some(Revision(u64::from_be_bytes(number.try_into().ok()?)))
}

/// How much of a content's hash stands in keys: enough to tell contents apart, and what is read is
/// checked with the whole.
const HASH: usize = 16;

fn of_content(family: u8, hash: &ContentHash) -> Builder {
    Builder::new(family).raw(&hash.as_bytes()[..HASH])
}

/// Returns where the copies of a content are told.
pub(crate) fn copies(hash: &ContentHash) -> Range {
    Range::prefix(&of_content(family::CONTENT, hash).0)
}

/// Returns the key of a copy of a content: in a pack, or in the record itself.
pub(crate) fn copy(hash: &ContentHash, pack: Option<Id>) -> Key {
    let pack = pack.map_or([0; 16], |pack| pack.0);
    of_content(family::CONTENT, hash).raw(&pack).key()
}

/// Returns what a key of a copy says: the hash's beginning, and the pack if it is in one.
pub(crate) fn read_copy(key: &[u8]) -> Option<([u8; HASH], Option<Id>)> {
    let mut parts = Parts(key.get(1..)?);
    let (hash, pack) = (parts.array()?, parts.array()?);
    parts.0.is_empty().then_some((hash, (pack != [0; 16]).then_some(Id(pack))))
}

/// Returns where the edits are told that assigned a content.
pub(crate) fn references(hash: &ContentHash) -> Range {
    Range::prefix(&of_content(family::REFERENCE, hash).0)
}

/// Returns the key that counts how often an edit assigned a content.
pub(crate) fn reference(hash: &ContentHash, revision: Revision) -> Key {
    of_content(family::REFERENCE, hash).number(revision.0).key()
}

pub(crate) fn level(key: &ChunkKey) -> Key {
    let built = Builder::new(family::LEVEL).view(&key.view).text(key.segment.as_str());
    built.number(key.chunk).key()
}

/// Reads an actor or a view from the front of what is left of a key.
fn read_actor(parts: &mut Parts<'_>) -> Option<Actor> {
    match parts.array::<1>()? {
        [1] => Some(Actor::System),
        [2] => Some(Actor::Agent(read_text(parts)?.parse().ok()?)),
        [3] => Some(Actor::User(read_text(parts)?.parse().ok()?)),
        _ => None,
    }
}

/// Reads a view: see [`Builder::view`].
fn read_view_id(parts: &mut Parts<'_>) -> Option<ViewId> {
    let [2, name @ ..] = parts.0 else { return Some(ViewId::of(&read_actor(parts)?)) };
    let end = name.iter().position(|byte| *byte <= BRANCH)?;
    if name[end] != BRANCH {
        return Some(ViewId::of(&read_actor(parts)?));
    }
    let agent = std::str::from_utf8(&name[..end]).ok()?.parse().ok()?;
    parts.take(end as u64 + 2)?;
    Some(ViewId::of_branch(&agent, u64::from_be_bytes(parts.array()?)))
}

fn read_text<'a>(parts: &mut Parts<'a>) -> Option<&'a str> {
    let end = parts.0.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(parts.take(end as u64)?).ok()?;
    parts.array::<1>()?;
    Some(text)
}

pub(crate) fn read_level(key: &[u8]) -> Option<ChunkKey> {
    let mut parts = Parts(key.get(1..)?);
    let view = read_view_id(&mut parts)?;
    let segment = read_text(&mut parts)?.parse().ok()?;
    Some(ChunkKey { view, segment, chunk: u64::from_be_bytes(parts.array()?) })
}

/// Reads a key that holds only a view.
pub(crate) fn read_view(key: &[u8]) -> Option<ViewId> {
    read_view_id(&mut Parts(key.get(1..)?))
}

pub(crate) fn view(view: &ViewId) -> Key {
    Builder::new(family::VIEW).view(view).key()
}

pub(crate) fn focus(view: &ViewId) -> Key {
    Builder::new(family::FOCUS).view(view).key()
}

pub(crate) fn custom(key: &CustomKey) -> Key {
    Builder::new(family::CUSTOM).last_text(key.as_str()).key()
}

pub(crate) fn run(key: &RunKey) -> Key {
    Builder::new(family::RUN).last_text(key.as_str()).key()
}

pub(crate) fn runs(prefix: &str) -> Range {
    Range::prefix(&Builder::new(family::RUN).last_text(prefix).0)
}

/// Reads the text that a key ends with.
pub(crate) fn last_text(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.get(1..)?).ok()
}

fn ledger_of(key: &LedgerKey) -> Builder {
    Builder::new(family::LEDGER).view(&key.view).text(key.format.as_str())
}

pub(crate) fn ledger(key: &LedgerKey) -> Range {
    Range::prefix(&ledger_of(key).0)
}

pub(crate) fn sent(key: &LedgerKey, number: u64) -> Key {
    ledger_of(key).number(number).key()
}

pub(crate) fn read_sent(key: &[u8]) -> Option<(LedgerKey, u64)> {
    let mut parts = Parts(key.get(1..)?);
    let view = read_view_id(&mut parts)?;
    let format = read_text(&mut parts)?.parse().ok()?;
    Some((LedgerKey { view, format }, u64::from_be_bytes(parts.array()?)))
}

/// Returns the page index a key of the family [`family::PAGE`] or [`family::DIRECTORY`] is about.
pub(crate) fn read_index(key: &[u8]) -> Option<PageIndex> {
    let mut parts = Parts(key.get(1..)?);
    let segment: SegmentId = read_text(&mut parts)?.parse().ok()?;
    Some(PageIndex::new(segment, u64::from_be_bytes(parts.array()?)))
}

/// Returns the segment of a derived key and the number of the page it leads to.
pub(crate) fn read_derived(key: &[u8]) -> Option<PageIndex> {
    let segment: SegmentId = read_text(&mut Parts(key.get(1..)?))?.parse().ok()?;
    Some(PageIndex::new(segment, place_and_number(key)?.1))
}

/// Says a key in words, for errors.
pub(crate) fn named(key: &[u8]) -> String {
    let found = match key.first() {
        Some(&family::PAGE) => read_index(key).map(|index| format!("page {index}")),
        Some(&family::HISTORY) => revision(key).map(|revision| format!("revision {revision}")),
        Some(&family::SEGMENT) => last_text(key).map(|id| format!("segment {id}")),
        Some(&family::CUSTOM) => last_text(key).map(|id| format!("custom state '{id}'")),
        Some(&family::RUN) => last_text(key).map(|id| format!("run '{id}'")),
        Some(&family::LEVEL) => read_level(key)
            .map(|key| format!("chunk {} of the levels of view {}", key.chunk, key.view)),
        Some(&family::VIEW) => read_view(key).map(|view| format!("view '{view}'")),
        Some(&family::FOCUS) => read_view(key).map(|view| format!("the focus of view '{view}'")),
        Some(&family::LEDGER) => read_sent(key).map(|(ledger, number)| {
            format!("window {number} in the {} ledger of view {}", ledger.format, ledger.view)
        }),
        Some(&family::CONTENT | &family::REFERENCE) => key.get(1..=HASH).map(|hash| {
            let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("content {hex}…")
        }),
        _ => None,
    };
    found.unwrap_or_else(|| {
        let hex: String = key.iter().take(40).map(|byte| format!("{byte:02x}")).collect();
        format!("record {hex}")
    })
}

/// Makes a value of bytes.
pub(crate) fn value(bytes: impl Into<Arc<[u8]>>) -> Option<Arc<[u8]>> {
    Some(bytes.into())
}
