//! Where a fold may act: before the recent pages, on what is neither the system's, nor pinned, nor
//! held.

use std::ops::Range;

use super::Folding;
use crate::{
    Level, PageIndex,
    storage::{Fold, LevelEntry},
    window::{
        digest::Digest,
        outline::Shape,
        plan::{BlockContent, Item},
    },
};

impl Folding<'_> {
    /// Tells whether an item lies in the scope.
    pub(super) fn is_in_scope(&self, item: &Item) -> bool {
        self.scope.is_none_or(|scope| item.section == scope)
    }

    /// Tells whether an item lies in the scope and may fold at all.
    pub(super) fn may_fold(&self, item: &Item) -> bool {
        let page = &item.block.page;
        !item.system
            && self.is_in_scope(item)
            && !page.index.is_root()
            && page.detail().is_some()
            && item.block.as_page().is_some_and(|shape| {
                let held = self.keeps_held && self.is_held(&page.index, shape.entry.held);
                !(shape.pinned || held)
            })
    }

    /// Tells whether a page that its agent expanded is still to stay as it is.
    fn is_held(&self, page: &PageIndex, held: Option<u8>) -> bool {
        let most = self.ground.shares.held;
        held.is_some_and(|folds| u64::from(folds) < most || self.ground.referred.contains(page))
    }

    /// Tells whether an item is work that logs are made of: a page of a turn in full, or as a log.
    pub(super) fn is_work(&self, item: &Item) -> bool {
        let is_full = |level: Level| level == Level::Full;
        self.may_fold(item)
            && item.block.as_page().is_some_and(|shape| {
                is_full(shape.level) || (shape.fold.is_some_and(Fold::is_log) && shape.is_folded())
            })
    }

    /// Returns the position of the last page that stands in full.
    pub(super) fn last_page(&self) -> Option<usize> {
        self.items.iter().rposition(|item| {
            self.is_in_scope(item)
                && !item.system
                && item.block.page.detail().is_some()
                && item.block.as_page().is_some_and(|shape| shape.level == Level::Full)
        })
    }

    /// Returns what happened in an item's page.
    pub(super) fn digest(&self, item: &Item) -> Option<&Digest> {
        item.block.as_page()?;
        item.block.page.turn.as_ref()?;
        self.ground.quotes.digest(&item.block.page)
    }

    /// Returns where the recent pages begin: the last, and those before it that fit their share.
    pub(super) fn recent_start(&self, recent: u64) -> usize {
        let Some(last) = self.last_page() else { return 0 };
        let (mut from, mut kept) = (last, 0);
        while from > 0 && self.items[from - 1].section == self.items[last].section {
            let item = &self.items[from - 1];
            kept += item.tokens;
            if kept > recent || item.is_line() {
                break;
            }
            from -= 1;
        }
        from
    }

    /// Returns the items between the last that a fold has lowered and the recent ones.
    pub(super) fn between(&self, recent: u64) -> Range<usize> {
        let to = self.recent_start(recent);
        let lowered = |item: &Item| self.is_in_scope(item) && !item.system && item.is_line();
        let from = self.items[..to].iter().rposition(lowered).map_or(0, |at| at + 1);
        from..to
    }
}

impl Item {
    /// Sets how far a fold lowers it; returns what the view said of it before.
    pub(super) fn lower_to(&mut self, fold: Fold) -> Option<LevelEntry> {
        let Shape::Page(shape) = &mut self.block.shape else { return None };
        shape.level = shape.level.min(fold.cap());
        shape.fold = Some(fold);
        Some(shape.entry.clone())
    }

    /// Tells whether a fold has left less than its text: a run, a log or a stub.
    pub(super) fn is_line(&self) -> bool {
        match &self.block.shape {
            Shape::Run(_) => true,
            Shape::Page(shape) => shape.is_folded(),
        }
    }

    /// Tells whether it is a page that a fold has lowered to its stub.
    pub(super) fn is_stub(&self) -> bool {
        self.block.as_page().is_some_and(|shape| shape.is_folded())
            && matches!(self.block_content, BlockContent::Line(_))
    }
}
