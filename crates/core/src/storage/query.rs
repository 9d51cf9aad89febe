//! What storages are asked for.

use crate::{
    Actor, HistoryEntry, Page, PageIndex, Revision, SegmentId,
    storage::{PageStanding, Place},
};

/// Asks for records of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerQuery {
    /// Only records with this number or a smaller one.
    pub upto: Option<u64>,
    /// How many at most.
    pub limit: usize,
}

/// Asks for a directory's pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildQuery {
    /// The directory.
    pub parent: PageIndex,
    /// Which pages.
    pub standing: StandingFilter,
    /// From which end.
    pub order: Order,
    /// Only pages beyond this place, in that order.
    pub after: Option<Place>,
    /// How many at most.
    pub limit: usize,
}

/// Asks for a segment's pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanQuery {
    /// The segment.
    pub segment: SegmentId,
    /// Which pages.
    pub standing: StandingFilter,
    /// Only pages with a larger number.
    pub after: Option<u64>,
    /// How many at most.
    pub limit: usize,
}

/// Which pages a list holds, by their own record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandingFilter {
    /// Those listed in the tree, archived hot or not.
    Listed,
    /// Those taken to the archive themselves.
    ColdArchived,
    /// All, retired ones included.
    Any,
}

impl StandingFilter {
    /// Tells whether a page passes.
    pub fn admits(self, page: &Page) -> bool {
        match self {
            StandingFilter::Listed => page.standing.is_listed(),
            StandingFilter::ColdArchived => page.standing == PageStanding::ColdArchived,
            StandingFilter::Any => true,
        }
    }
}

/// From which end a list is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the first.
    Forward,
    /// From the last.
    Backward,
}

/// Asks for history entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Only entries before this revision.
    pub before: Option<Revision>,
    /// Only entries after this revision.
    pub after: Option<Revision>,
    /// Only entries of this actor.
    pub actor: Option<Actor>,
    /// Only entries that are neither undone nor an undo.
    pub undoable: bool,
    /// From which end: [`Order::Forward`] is oldest first.
    pub order: Order,
    /// How many at most.
    pub limit: usize,
}

/// Asks for nothing yet, newest first.
impl Default for HistoryQuery {
    fn default() -> Self {
        let (before, after, actor) = (None, None, None);
        Self { before, after, actor, undoable: false, order: Order::Backward, limit: 0 }
    }
}

impl HistoryQuery {
    /// Tells whether an entry is asked for.
    pub fn admits(&self, entry: &HistoryEntry) -> bool {
        self.before.is_none_or(|before| entry.revision < before)
            && self.after.is_none_or(|after| entry.revision > after)
            && self.actor.as_ref().is_none_or(|actor| entry.actor == *actor)
            && (!self.undoable || entry.is_undoable())
    }
}
