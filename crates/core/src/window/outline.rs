//! The outline: what stands where in a view, before anything is rendered.
//!
//! It is the result of one walk over the view's segments that visits what is visible and nothing
//! else: a run of a million pages is one block.

use std::sync::Arc;

use crate::{
    Level, Page, PageIndex, Segment, SegmentKind,
    message::MessageFilter,
    storage::{FilterKey, Fold, LevelEntry, PageRun},
};

/// What stands where in a view: its segments in order, each with its blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outline {
    /// The segments in view, those of System kind first.
    pub sections: Vec<Section>,
    /// The filter it is seen through.
    pub filter: FilterKey,
}

/// A segment's part of an outline.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// The segment.
    pub segment: Arc<Segment>,
    /// Its blocks in order; the first is its root.
    pub blocks: Vec<Block>,
}

/// A page, or a run of pages, at its level.
#[derive(Debug, Clone)]
pub(crate) struct Block {
    /// The page; for a run the directory it belongs to.
    pub page: Arc<Page>,
    /// How many directories it stands in.
    pub depth: usize,
    /// What of it stands there.
    pub shape: Shape,
}

/// What of a block stands in the window.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// A page.
    Page(PageShape),
    /// A run of the directory's pages, as one line.
    Run(PageRun),
}

/// How a page stands.
#[derive(Debug, Clone)]
pub(crate) struct PageShape {
    /// How much of it.
    pub level: Level,
    /// How far a fold lowered it, where that is in force.
    pub fold: Option<Fold>,
    /// Whether it is kept from folding: pinned, or waiting for results.
    pub pinned: bool,
    /// Which of its messages are seen.
    pub speech: MessageFilter,
    /// What the view itself says of it.
    pub entry: LevelEntry,
}

impl PageShape {
    /// Tells whether a fold, rather than somebody's choice, left less than its text.
    pub(crate) fn is_folded(&self) -> bool {
        self.fold.is_some() && self.level < Level::Full
    }

    /// Tells whether it is kept from folding by its agent.
    pub(crate) fn is_held(&self) -> bool {
        self.entry.held.is_some()
    }
}

impl Outline {
    /// Returns all blocks in order, with whether they belong to the system part.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (&Section, &Block)> {
        self.sections
            .iter()
            .flat_map(|section| section.blocks.iter().map(move |block| (section, block)))
    }
}

impl Section {
    /// Tells whether it belongs to the system part: it stands first and never folds.
    pub(crate) fn is_system(&self) -> bool {
        self.segment.kind == SegmentKind::System
    }
}

impl Block {
    /// Returns how it stands, if it is a page.
    pub(crate) fn as_page(&self) -> Option<&PageShape> {
        match &self.shape {
            Shape::Page(shape) => Some(shape),
            Shape::Run(_) => None,
        }
    }

    /// Returns the page it is named after: itself, or the first of the run.
    pub(crate) fn index(&self) -> &PageIndex {
        match &self.shape {
            Shape::Page(_) => &self.page.index,
            Shape::Run(run) => &run.from,
        }
    }

    /// Tells whether a fold put it where it is: only a fold, an expansion or a pin moves it again.
    pub(crate) fn is_folded(&self) -> bool {
        self.as_page().is_none_or(PageShape::is_folded)
    }
}
