//! Folding the oldest pages to bare lines, behind an early part that stays or from the beginning.

use super::{Ground, Policy, line};
use crate::economy::detail::{meter::PolicyRequest, talk::Call};

/// What the line of a folded page takes.
const STUB: u64 = 12;

/// How many of the latest pages stay while anything else can fold.
const PAGES_KEPT: usize = 2;

/// Folds the oldest pages when the window is over, down to a share of the budget.
pub(crate) struct Fold<'a> {
    ground: &'a Ground<'a>,
    /// The share of the budget that stays at the beginning, in thousandths.
    freeze: u64,
    /// The share a fold goes down to, in thousandths.
    low: u64,
    /// How many pages stay at the beginning, once that is decided.
    frozen: Option<usize>,
    /// The first page behind the folded ones.
    next: usize,
}

impl<'a> Fold<'a> {
    pub(crate) fn new(ground: &'a Ground<'a>, freeze: u64, low: u64) -> Self {
        Self { ground, freeze, low, frozen: None, next: 0 }
    }

    /// Returns where a page begins, as far as it was said.
    fn begins(&self, page: usize, call: &Call) -> usize {
        self.ground.talk.pages.get(page).map_or(call.items, |range| range.start).min(call.items)
    }

    fn page_tokens(&self, page: usize, call: &Call) -> u64 {
        self.ground.tokens(self.begins(page, call)..self.begins(page + 1, call))
    }

    fn tokens(&self, call: &Call) -> u64 {
        let frozen = self.frozen.unwrap_or(0);
        let early = self.ground.talk.system..self.begins(frozen, call);
        self.ground.system()
            + if frozen > 0 { self.ground.tokens(early) } else { 0 }
            + STUB * (self.next - frozen) as u64
            + self.ground.tokens(self.begins(self.next, call)..call.items)
    }

    fn last_page(&self, call: &Call) -> usize {
        let pages = self.ground.talk.pages.iter();
        pages.take_while(|page| page.start < call.items).count().saturating_sub(1)
    }

    fn decide_frozen(&mut self, call: &Call) {
        let limit = self.ground.share(self.freeze);
        let mut taken = self.ground.system();
        let mut frozen = 0;
        while frozen + PAGES_KEPT <= self.last_page(call) {
            taken += self.page_tokens(frozen, call);
            if taken > limit {
                break;
            }
            frozen += 1;
        }
        self.frozen = Some(frozen);
        self.next = frozen;
    }

    fn fold(&mut self, call: &Call) {
        let last = self.last_page(call);
        let low = self.ground.share(self.low);
        while self.next + PAGES_KEPT <= last && self.tokens(call) > low {
            self.next += 1;
        }
        while self.next < last && self.tokens(call) > self.ground.budget {
            self.next += 1;
        }
        if self.tokens(call) > self.ground.budget {
            self.frozen = Some(0);
        }
    }
}

impl Policy for Fold<'_> {
    fn request(&mut self, call: &Call) -> anyhow::Result<PolicyRequest> {
        let mut request = self.ground.begin();
        if self.tokens(call) > self.ground.budget {
            if self.frozen.is_none() {
                self.decide_frozen(call);
            }
            self.fold(call);
            request.folded = true;
        }
        let frozen = self.frozen.unwrap_or(0);
        if frozen > 0 {
            let early = self.ground.talk.system..self.begins(frozen, call);
            self.ground.push(&mut request, early);
            request.marks.push(request.segments.len());
        }
        request.segments.extend((frozen..self.next).map(|page| line(3, page, STUB)));
        self.ground.push(&mut request, self.begins(self.next, call)..call.items);
        Ok(self.ground.fit(request))
    }
}
