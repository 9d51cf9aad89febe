//! Making records again that are lost, from what others still say of them.

use super::trail::Touch;
use crate::{
    Description, Operation, Owner, Page, PageIndex, Permission, Revision, Segment, SegmentId,
    SegmentKind, Timestamp, Tokens, Trust, Visibility,
    storage::{PageBody, PageDetail, PageStanding, Place, Version},
};

/// What is left of a segment whose own record is lost.
#[derive(Debug, Clone, Copy)]
pub struct Remains<'a> {
    /// Its name.
    pub id: &'a SegmentId,
    /// Its pages.
    pub pages: &'a [&'a Page],
    /// The segment at some earlier time, where history remembers it.
    pub before: Option<&'a Segment>,
    /// The place behind all other segments, in the order they are shown in: which it had is not known, and
    /// one that is free may be that of another that is lost.
    pub behind: u64,
    /// The session's newest edit.
    pub revision: Revision,
    /// When it is made again.
    pub at: Timestamp,
}

impl Remains<'_> {
    /// Makes the segment's record again. Agents may only read it, as what they were allowed is not
    /// known; but where an agent or a group works for itself it goes on writing.
    pub fn rebuild(&self) -> Segment {
        let root = self.pages.iter().find(|page| page.index.is_root());
        let plain = || self.id.as_str().parse().expect("a segment's id is a valid name");
        let last = self.pages.iter().map(|page| page.index.number()).max().unwrap_or(0);
        let known = self.before.map_or(1, |before| before.next_number);
        let kind = self.before.map_or_else(|| self.kind(), |before| before.kind);
        Segment {
            id: self.id.clone(),
            name: match (self.before, root) {
                (Some(before), _) => before.name.clone(),
                (None, Some(root)) => root.name.clone(),
                (None, None) => plain(),
            },
            description: match (self.before, root) {
                (Some(before), _) => before.description.clone(),
                _ if self.is_guess() => GUESS.parse().expect("it is a valid description"),
                (None, Some(root)) => root.description.clone(),
                (None, None) => Default::default(),
            },
            kind,
            permission: match self.before {
                None if self.is_workplace() => Permission::ReadWrite,
                _ => Permission::ReadOnly,
            },
            capacity: self.before.map_or(Tokens(0), |before| before.capacity),
            owner: match self.before {
                Some(before) => before.owner.clone(),
                None => Owner::implied_by(self.id),
            },
            ordinal: self.before.map_or(self.behind, |before| before.ordinal),
            next_number: known.max(last.saturating_add(1)),
            touched: self.revision,
            removed: self.before.is_some_and(|before| before.removed),
            // Beyond any version that the lost one can have had.
            version: Version(self.revision.0.saturating_add(1)),
            revision: self.revision,
            created_at: root.map_or(self.at, |root| root.created_at),
            updated_at: self.at,
        }
    }

    /// Tells by its name whether the engine made it for an agent or a group to work in.
    fn is_workplace(&self) -> bool {
        ["agent-", "group-"].iter().any(|prefix| self.id.as_str().starts_with(prefix))
    }

    /// Tells what it was for by its name. Of other names nobody knows: their texts must not become prompts
    /// by themselves.
    fn kind(&self) -> SegmentKind {
        match self.id.as_str() {
            "usr" => SegmentKind::User,
            "sys" => SegmentKind::System,
            id if id.starts_with("prompt-") => SegmentKind::System,
            _ => SegmentKind::Custom,
        }
    }

    /// Tells whether neither history nor its name says what it was for.
    fn is_guess(&self) -> bool {
        let is_named = self.is_workplace() || self.kind() != SegmentKind::Custom;
        self.before.is_none() && !is_named
    }
}

/// What a segment says of itself whose kind is not known. It goes when somebody describes it.
const GUESS: &str = "Made again by a repair; nobody knows what kind it was.";

/// Tells whether it is not known what kind a segment was: it may have held prompts.
pub fn is_guess(segment: &Segment) -> bool {
    !segment.removed && segment.description.as_str() == GUESS
}

/// Returns what it says once that was accepted.
pub(super) fn guess_accepted() -> Description {
    "Made again by a repair.".parse().expect("it is a valid description")
}

/// What becomes of a page whose record is lost.
pub(super) enum Text {
    /// It was a directory.
    Directory,
    /// Its text is still there.
    Kept(PageDetail),
    /// Its text is lost too.
    Lost,
}

/// Makes a page's record again, but for its text where that is lost.
pub(super) fn page(
    index: &PageIndex,
    touch: &Touch,
    segment: &Segment,
    text: &Text,
    at: Timestamp,
) -> Page {
    let version = touch.after.unwrap_or(Version(1));
    let body = match text {
        Text::Directory | Text::Lost => PageBody::Contents,
        Text::Kept(detail) => PageBody::Detail(detail.clone()),
    };
    let standing = match touch.operation {
        Operation::RemovePage | Operation::RemoveSegment => PageStanding::ColdArchived,
        _ => PageStanding::InTree,
    };
    if let Some(before) = &touch.before {
        let standing = match &before.standing {
            PageStanding::InTree => standing,
            elsewhere => elsewhere.clone(),
        };
        let version = version.max(before.version);
        return Page { body, standing, version, updated_at: at, ..before.clone() };
    }
    let name = match text {
        Text::Directory => "Lost directory",
        Text::Kept(_) => "Lost name",
        Text::Lost => "Lost page",
    };
    let trust = match segment.kind {
        SegmentKind::System => Trust::System,
        SegmentKind::User | SegmentKind::Tool | SegmentKind::Custom => Trust::Tool,
    };
    Page {
        index: index.clone(),
        parent: (!index.is_root()).then(|| segment.root()),
        place: Place(0),
        body,
        name: name.parse().expect("it is a valid name"),
        description: Default::default(),
        visibility: Visibility::Expanded,
        standing,
        author: touch.actor.clone(),
        rewritten_by: None,
        trust,
        sources: Vec::new(),
        turn: None,
        version,
        revision: touch.revision,
        created_at: at,
        updated_at: at,
    }
}
