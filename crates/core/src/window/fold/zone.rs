//! Where a fold may act: behind the frozen early part, before the recent pages.

use std::ops::Range;

use super::Folding;
use crate::{
    Level,
    window::{outline::Shape, plan::Item},
};

impl Folding<'_> {
    /// Tells whether an item lies in the scope and may fold at all.
    pub(super) fn may_fold(&self, item: &Item) -> bool {
        let page = &item.block.page;
        !item.system
            && self.scope.is_none_or(|scope| item.section == scope)
            && !page.index.is_root()
            && page.detail().is_some()
            && item.block.as_page().is_some_and(|shape| !shape.pinned)
    }

    /// Returns the position of the last page that stands in full.
    pub(super) fn last_page(&self) -> Option<usize> {
        self.items.iter().rposition(|item| {
            let full = |level: Level| level == Level::Full;
            self.scope.is_none_or(|scope| item.section == scope)
                && !item.system
                && item.block.page.detail().is_some()
                && item.block.as_page().is_some_and(|shape| full(shape.level))
        })
    }

    /// Returns the position of what was asked last, where its turn goes on behind it.
    pub(super) fn open_request(&self) -> Option<usize> {
        let last = self.last_page()?;
        self.items[..last].iter().rposition(|item| {
            self.may_fold(item) && self.ground.asked.contains_key(&item.block.page.index)
        })
    }

    /// Returns the items between the frozen early part and the recent pages.
    pub(super) fn middle(&self, frozen: u64, recent: u64) -> Range<usize> {
        let Some(last) = self.last_page() else { return 0..0 };
        let from = self.frozen_end(frozen, last);
        let (mut to, mut kept) = (last, 0);
        while to > from {
            kept += self.items[to - 1].tokens;
            if kept > recent {
                break;
            }
            to -= 1;
        }
        from..to
    }

    /// Returns where the frozen early part ends: at the first line of an earlier fold, else where
    /// its share is used up.
    fn frozen_end(&self, frozen: u64, last: usize) -> usize {
        let talk = self.items.iter().position(|item| !item.system).unwrap_or(last);
        let is_line =
            |item: &Item| matches!(item.block.shape, Shape::Run(_)) || item.is_folded_page();
        if let Some(line) = self.items[..last].iter().rposition(|item| {
            self.scope.is_none_or(|scope| item.section == scope) && !item.system && is_line(item)
        }) {
            return line + 1;
        }
        let mut taken: u64 = self.items[..talk].iter().map(|item| item.tokens).sum();
        for at in talk..last {
            taken += self.items[at].tokens;
            if taken > frozen {
                return at;
            }
        }
        last
    }
}

impl Item {
    /// Tells whether it is a page that a fold has lowered to a line.
    pub(super) fn is_folded_page(&self) -> bool {
        self.block.as_page().is_some_and(|shape| shape.folded && shape.level < Level::Full)
    }
}
