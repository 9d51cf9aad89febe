//! The bound on messages: the oldest pages fold until few enough stand in full.
//!
//! Like a fold for tokens it goes well below its bound, so that the next is far off, and adds its
//! line behind those of earlier folds. Nothing of the early part stays: what is asked for are the
//! latest messages. Pages hold whole exchanges, so none is ever parted.

use std::ops::Range;

use super::{Folding, MOST_LINES};
use crate::{quantity::thousandths, window::plan::Item};

/// Where a fold stops, in thousandths of the bound.
const LOW_WATER: u64 = 600;

impl Folding<'_> {
    /// Folds pages until no more messages stand than may, as far as that goes: what is pinned and
    /// the last page stay.
    pub(super) fn meet_messages(&mut self, most: u64, budget: Option<u64>) {
        if self.messages() <= most {
            return;
        }
        let low = thousandths(most, LOW_WATER);
        let share = |part: u64| {
            budget.map_or(MOST_LINES, |budget| thousandths(budget, part)).min(MOST_LINES)
        };
        let lines = share(self.ground.shares.lines);
        self.for_messages = true;
        self.fold_oldest(self.between(0), low, lines);
        if self.messages() > most {
            self.fold_oldest(0..self.last_page().unwrap_or(0), low, lines);
        }
        self.for_messages = false;
        self.merge_lines(lines);
    }

    fn fold_oldest(&mut self, zone: Range<usize>, low: u64, lines: u64) {
        let mut left = self.messages();
        let mut end = zone.start;
        while end < zone.end && left > low {
            if self.may_fold(&self.items[end]) {
                left -= self.items[end].messages();
            }
            end += 1;
        }
        let tokens: u64 = self.items[zone.start..end].iter().map(|item| item.tokens).sum();
        // Short messages must not give way to a line that takes as much.
        let pages = self.pages_in(zone.start..end);
        self.fold_pages(&pages, end, (lines.min(tokens / 4), u64::MAX));
    }

    fn messages(&self) -> u64 {
        self.items.iter().filter(|item| !item.system).map(Item::messages).sum()
    }
}
