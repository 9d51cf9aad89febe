//! The measures of a fold where logs and lines are not enough, from the mildest to the hardest.

use std::{collections::HashSet, ops::Range};

use super::{Folding, MOST_LINES, lines::WORTH_A_LINE};
use crate::{
    Level, PageIndex,
    storage::{Fold, LevelEntry, PageRun, PageRunForm},
    window::{
        outline::Shape,
        plan::{Item, PartOf, TRIMMED, block_content},
    },
};

impl Folding<'_> {
    /// Folds the recent pages too, all but the last.
    pub(super) fn fold_recent(&mut self, budget: u64) {
        let last = self.last_page().unwrap_or(self.items.len());
        let lines = self.share(budget, self.ground.shares.lines).min(MOST_LINES);
        self.fold_pages(&self.pages_in(0..last), last, (lines, WORTH_A_LINE));
        self.merge_lines(lines);
    }

    /// Folds what agents expanded as if they had not.
    pub(super) fn release_held(&mut self, budget: u64) {
        self.keeps_held = false;
        self.fold_recent(budget);
    }

    /// Joins all lines with what is left between them, and folds what stands behind the last page in
    /// full.
    pub(super) fn fold_early(&mut self, budget: u64) {
        let merged = self.share(budget, self.ground.shares.lines).min(MOST_LINES) / 2;
        let last = self.last_page().unwrap_or(self.items.len());
        self.fold_pages(&self.pages_in(0..last), last, (merged, u64::MAX));
        self.merge_lines(merged);
        let Some(last) = self.last_page().filter(|_| self.total() > budget) else { return };
        let end = self.items.len();
        self.fold_pages(&self.pages_in(last + 1..end), end, (merged, u64::MAX));
        self.merge_lines(merged);
    }

    /// Returns the pages of a range that may fold and are more than a stub.
    pub(super) fn pages_in(&self, range: Range<usize>) -> HashSet<PageIndex> {
        let items = self.items[range].iter();
        let folds = items.filter(|item| self.may_fold(item) && !item.is_stub());
        folds.map(|item| item.block.page.index.clone()).collect()
    }

    /// Cuts large results in recent pages to head and tail.
    pub(super) fn trim_recent(&mut self, budget: u64) {
        let Some(last) = self.last_page() else { return };
        for at in (0..last).rev() {
            if self.total() <= budget {
                return;
            }
            self.trim(at);
        }
    }

    /// Cuts large results in the last page to head and tail.
    pub(super) fn trim_last(&mut self, _: u64) {
        if let Some(last) = self.last_page() {
            self.trim(last);
        }
    }

    fn trim(&mut self, at: usize) {
        let item = &self.items[at];
        let Some(shape) = item.block.as_page().filter(|_| self.may_fold(item)) else { return };
        let trimmed = shape.fold == Some(Fold::Trimmed);
        let (Some(detail), false) = (item.block.page.detail(), trimmed) else { return };
        // A page with less text than a result may have has no part beyond it.
        if shape.level != Level::Full || detail.weight <= TRIMMED.0 / 4 {
            return;
        }
        self.lower(at, Fold::Trimmed);
    }

    /// Lowers a page, unless that takes more than it does now.
    pub(super) fn lower(&mut self, at: usize, fold: Fold) {
        self.lower_all(at..at + 1, fold);
    }

    /// Lowers the first page of a range, which takes the others with it, unless that takes more
    /// than they do now.
    fn lower_all(&mut self, range: Range<usize>, fold: Fold) {
        let at = range.start;
        let now: u64 = self.items[range.clone()].iter().map(|item| item.tokens).sum();
        let mut item = self.items[at].clone();
        let Some(stored) = item.lower_to(fold) else { return };
        let page = item.block.page.index.clone();
        match self.ground.logs.get(&page).filter(|_| fold == Fold::Log) {
            Some(logged) => {
                item.block_content = logged.item.block_content.clone();
                (item.tokens, item.requests) = (logged.item.tokens, logged.item.requests);
            }
            None => self.dress(&mut item),
        }
        if item.tokens >= now && !self.for_messages {
            return;
        }
        self.let_go(at);
        let mut entry = self.entry(&page, &stored);
        entry.fold = Some(fold);
        self.set_entry(&page, &stored, entry);
        self.items.splice(range, [item]);
        self.folded.insert(page);
        self.first_changed = self.first_changed.min(at);
    }

    /// Works out what an item becomes and what it takes.
    pub(super) fn dress(&self, item: &mut Item) {
        let section = &self.outline.sections[item.section];
        let ground = self.ground;
        item.block_content = block_content(section, &item.block, ground.quotes, &ground.writing);
        let parts = item.block.page.detail().map_or(1, |detail| u64::from(detail.messages));
        let before = item.tokens;
        item.weigh(ground.writing.family, ground.writing.filler, &mut |part| match part {
            PartOf::Line(line) => ground.counter.count(line).0,
            // A trimmed body is counted when the window is rendered; until then this is no less.
            PartOf::Body(body) => ground.requests.get(&body).copied().unwrap_or_else(|| {
                let most = body.limit.map_or(u64::MAX, |limit| limit.0);
                before.min(most.saturating_mul(parts * 2).saturating_add(64))
            }),
        });
        let known = ground.trimmed.get(&item.block.page.index);
        if let (Some(_), Some(known)) = (item.body(), known) {
            item.tokens = *known;
        }
    }

    /// Closes directories whose pages are all lines.
    pub(super) fn close_directories(&mut self, budget: u64) {
        let last = self.last_page();
        for at in (0..self.items.len()).rev() {
            if self.total() <= budget {
                return;
            }
            let item = &self.items[at];
            let Some(shape) = item.block.as_page() else { continue };
            let page = &item.block.page;
            let open = page.is_contents() && !page.index.is_root() && shape.level == Level::Full;
            if !self.is_in_scope(item) || !open || shape.pinned || item.system {
                continue;
            }
            let below = self.items[at + 1..].iter();
            let below = below.take_while(|inner| {
                inner.section == item.section && inner.block.depth > item.block.depth
            });
            let end = at + 1 + below.count();
            let holds_last = last.is_some_and(|last| (at..end).contains(&last));
            let pinned = |item: &Item| item.block.as_page().is_some_and(|shape| shape.pinned);
            if holds_last || self.items[at + 1..end].iter().any(pinned) {
                continue;
            }
            self.lower_all(at..end, Fold::Summary);
        }
    }

    /// Takes what happened out of all lines.
    pub(super) fn lines_to_gist(&mut self, budget: u64) {
        self.change_runs(budget, &|run| {
            let line = run.form == PageRunForm::Line;
            line.then(|| PageRun { form: PageRunForm::Gist, cited: Vec::new(), ..run.clone() })
        });
        for at in 0..self.items.len() {
            if self.total() <= budget {
                return;
            }
            if self.items[at].is_stub() && self.may_fold(&self.items[at]) {
                self.lower(at, Fold::Gist);
            }
        }
    }

    /// Lets earlier requests go, all but the open one.
    pub(super) fn drop_requests(&mut self, budget: u64) {
        let open = self.open.clone();
        self.requests = Some(open.iter().map(|open| (open.clone(), false)).collect());
        self.change_runs(budget, &|run| {
            let mut kept = run.clone();
            kept.requests.retain(|request| Some(&request.page) == open.as_ref());
            (kept != *run).then_some(kept)
        });
        if self.total() > budget {
            self.fold_early(budget);
        }
    }

    /// Takes the lines of runs out of the window.
    pub(super) fn lines_out(&mut self, budget: u64) {
        self.change_runs(budget, &|run| {
            let shown = run.form != PageRunForm::Out;
            shown.then(|| PageRun { form: PageRunForm::Out, cited: Vec::new(), ..run.clone() })
        });
        self.drop_empty();
    }

    /// Gives up what was asked last, where nothing else helps.
    pub(super) fn fold_request(&mut self, budget: u64) {
        self.open = None;
        self.drop_requests(budget);
        self.drop_empty();
    }

    /// As in an outline, what is out has no block: its neighbours stand side by side.
    fn drop_empty(&mut self) {
        let is_out = |item: &Item| {
            matches!(&item.block.shape, Shape::Run(run)
                if run.form == PageRunForm::Out && run.requests.is_empty())
        };
        self.items.retain(|item| !is_out(item));
    }

    fn change_runs(&mut self, budget: u64, change: &dyn Fn(&PageRun) -> Option<PageRun>) {
        for at in 0..self.items.len() {
            if self.total() <= budget {
                return;
            }
            let Shape::Run(run) = &self.items[at].block.shape else { continue };
            if !self.is_in_scope(&self.items[at]) {
                continue;
            }
            if let Some(changed) = change(run) {
                self.replace_run(at, changed);
            }
        }
    }

    /// Counts this fold for what agents expanded: from none where it is referred to, else one more.
    pub(super) fn count_held(&mut self) {
        for at in 0..self.items.len() {
            let item = &self.items[at];
            let Some(shape) = item.block.as_page().filter(|_| !item.system) else { continue };
            let (page, stored) = (item.block.page.index.clone(), shape.entry.clone());
            let entry = self.entry(&page, &stored);
            let Some(folds) = entry.held else { continue };
            let referred = self.ground.referred.contains(&page);
            let held = Some(if referred { 0 } else { folds.saturating_add(1) });
            self.set_entry(&page, &stored, LevelEntry { held, ..entry });
        }
    }
}
