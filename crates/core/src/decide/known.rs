//! What a decision is made on, and what it may still need.

use std::{collections::HashMap, sync::Arc};

use super::UndonePages;
use crate::{
    Actor, HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId,
    storage::{ChunkKey, Content, ContentHash, CustomKey, LevelChunk, Place, ViewHead, ViewId},
};

/// Something that must be loaded before an edit can be decided.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Need {
    /// A page with all its ancestors.
    Lineage(PageIndex),
    /// The first pages under a directory, of whatever standing, and its largest place.
    Children {
        /// The directory.
        parent: PageIndex,
        /// How many; none for all.
        limit: Option<usize>,
    },
    /// The largest place under a directory.
    LastPlace(PageIndex),
    /// Chunks of level state.
    Chunks(Vec<ChunkKey>),
    /// The views there are, with their focus.
    Views,
    /// The custom state.
    Custom,
    /// The last page of an author's turns in a segment.
    LastTurn(SegmentId, Actor),
    /// The first page of an author's turns in a segment after a place.
    NextTurn(SegmentId, Actor, Place),
    /// A page's content.
    Content(ContentHash),
    /// A history entry.
    History(Revision),
    /// An actor's newest edit that can be undone.
    NewestUndoable(Actor),
    /// The newest edit after a revision that touched something.
    LaterEdit(Revision, Subject),
    /// How many levels of pages a directory holds.
    Height(PageIndex),
    /// The pages that undos took away and that a redo could bring back.
    UndonePages,
    /// Several things at once, none of them several itself. Deciding begins again after each need, so
    /// an edit on many pages names together all that it knows it will look at.
    Several(Vec<Need>),
}

/// Something without a version of its own that edits touch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// What a view says of a page.
    Level(ViewId, PageIndex),
    /// A view's focus.
    Focus(ViewId),
    /// An entry of the custom state.
    Custom(CustomKey),
}

impl Subject {
    /// Tells whether an edit touched it.
    pub(crate) fn is_touched_by(&self, entry: &HistoryEntry) -> bool {
        let inverse = &entry.inverse;
        match self {
            Subject::Level(view, page) => {
                inverse.levels.iter().any(|delta| delta.view == *view && delta.page == *page)
            }
            Subject::Focus(view) => inverse.focus.iter().any(|delta| delta.view == *view),
            Subject::Custom(key) => inverse.custom.iter().any(|delta| delta.key == *key),
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Level(view, page) => write!(f, "the level of {page} in view {view}"),
            Subject::Focus(view) => write!(f, "the focus of view {view}"),
            Subject::Custom(key) => write!(f, "custom state '{key}'"),
        }
    }
}

/// The pages under a directory.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChildList {
    /// The first of them, of whatever standing, in order.
    pub pages: Vec<Arc<Page>>,
    /// The largest place, of whatever standing.
    pub last: Option<Place>,
}

/// The segments of a session: few, always known.
#[derive(Debug, Clone, Default)]
pub struct Segments {
    ordered: Vec<Arc<Segment>>,
    by_id: HashMap<SegmentId, Arc<Segment>>,
}

impl Segments {
    /// Takes segments in any order.
    pub fn new(segments: impl IntoIterator<Item = Segment>) -> Self {
        let mut ordered: Vec<Arc<Segment>> = segments.into_iter().map(Arc::new).collect();
        ordered.sort_by(|a, b| a.in_order(b));
        let by_id = ordered.iter().map(|segment| (segment.id.clone(), segment.clone())).collect();
        Self { ordered, by_id }
    }

    /// Returns a segment, removed or not.
    pub fn get(&self, id: &SegmentId) -> Option<&Arc<Segment>> {
        self.by_id.get(id)
    }

    /// Returns those that are not removed, in display order.
    pub fn present(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.ordered.iter().filter(|segment| !segment.removed)
    }

    /// Returns all, removed ones included, in display order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Segment>> {
        self.ordered.iter()
    }
}

/// What has been loaded to decide an edit. A missing entry is not known; a `None` is known to be absent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// The segments.
    pub segments: Arc<Segments>,
    /// Pages by index.
    pub pages: HashMap<PageIndex, Option<Arc<Page>>>,
    /// Child lists by directory and limit.
    pub children: HashMap<(PageIndex, Option<usize>), ChildList>,
    /// Largest places by directory.
    pub last_places: HashMap<PageIndex, Option<Place>>,
    /// Chunks of level state.
    pub chunks: HashMap<ChunkKey, Arc<LevelChunk>>,
    /// Views and their focus.
    pub views: Option<Vec<ViewHead>>,
    /// Custom state.
    pub custom: Option<Arc<HashMap<CustomKey, String>>>,
    /// Last pages of turns.
    pub last_turns: HashMap<(SegmentId, Actor), Option<Arc<Page>>>,
    /// Next pages of turns.
    pub next_turns: HashMap<(SegmentId, Actor, Place), Option<Arc<Page>>>,
    /// Contents by hash.
    pub contents: HashMap<ContentHash, Content>,
    /// History entries.
    pub history: HashMap<Revision, Option<HistoryEntry>>,
    /// Newest undoable edits.
    pub undoable: HashMap<Actor, Option<Revision>>,
    /// Newest edits that touched something.
    pub later: HashMap<(Revision, Subject), Option<Revision>>,
    /// How many levels of pages directories hold, by directory; more than any may hold is not counted.
    pub heights: HashMap<PageIndex, usize>,
    /// Pages that undos took away.
    pub undone_pages: Option<Arc<UndonePages>>,
}
