//! The measures of a fold, from the mildest to the hardest.

use std::{ops::Range, sync::Arc};

use super::{Folding, WORDS_PER_PAGE};
use crate::{
    Cited, Fold, Level, PageIndex, Run, RunForm,
    window::{
        outline::{Block, Shape},
        plan::{Face, Item, TRIMMED, face},
    },
};

impl Folding<'_> {
    /// Folds pages between the early part and the recent ones, oldest first, down to the low water.
    pub(super) fn fold_middle(&mut self, frozen: u64, recent: u64, low: u64, lines: u64) {
        let zone = self.middle(frozen, recent);
        let mut total = self.total();
        let mut end = zone.start;
        let mut pages = 0;
        while end < zone.end {
            let words = (WORDS_PER_PAGE * pages).min(lines);
            if pages > 0 && total + words <= low {
                break;
            }
            if self.may_fold(&self.items[end]) {
                total = total.saturating_sub(self.items[end].tokens);
                pages += 1;
            }
            end += 1;
        }
        self.fold_range(zone.start..end, lines);
    }

    /// Folds the recent pages too, all but the last.
    pub(super) fn fold_recent(&mut self, budget: u64) {
        let Some(last) = self.last_page() else { return };
        let from = self.middle(0, 0).start.min(last);
        let lines = budget * self.ground.shares.lines / 1_000;
        self.fold_range(from..last, lines);
        self.merge_lines(lines, budget * self.ground.shares.merged / 1_000);
    }

    /// Gives the frozen early part up.
    pub(super) fn fold_early(&mut self, budget: u64) {
        let merged = budget * self.ground.shares.merged / 1_000;
        let last = self.last_page().unwrap_or(self.items.len());
        self.fold_range(0..last, merged);
        self.merge_lines(0, merged);
        if let Some(last) = self.last_page().filter(|_| self.total() > budget) {
            // What stands behind the last page in full: pages that were only lines already.
            self.fold_range(last + 1..self.items.len(), merged);
            self.merge_lines(0, merged);
        }
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
        let (Some(detail), false) = (item.block.page.detail(), shape.trimmed) else { return };
        // A page with less text than a result may have has no part beyond it.
        if shape.level != Level::Full || detail.weight <= TRIMMED.0 / 4 {
            return;
        }
        self.lower(at, Fold::Trimmed);
    }

    /// Lowers a page, unless that takes more than it does now.
    fn lower(&mut self, at: usize, fold: Fold) {
        self.lower_all(at..at + 1, fold);
    }

    /// Lowers the first page of a range, which takes the others with it, unless that takes more
    /// than they do now.
    fn lower_all(&mut self, range: Range<usize>, fold: Fold) {
        let at = range.start;
        let now: u64 = self.items[range.clone()].iter().map(|item| item.tokens).sum();
        let mut item = self.items[at].clone();
        let Shape::Page(shape) = &mut item.block.shape else { return };
        let stored = shape.entry.clone();
        shape.level = shape.level.min(fold.cap());
        shape.trimmed = fold == Fold::Trimmed;
        shape.asked = fold == Fold::Asked;
        shape.folded = true;
        self.dress(&mut item);
        if item.tokens >= now && !self.for_messages {
            return;
        }
        let page = item.block.page.index.clone();
        let mut entry = self.entry(&page, &stored);
        entry.fold = Some(fold);
        self.set_entry(&page, &stored, entry);
        self.items.splice(range, [item]);
        self.folded += 1;
        self.first_changed = self.first_changed.min(at);
    }

    /// Works out what an item becomes and what it takes.
    fn dress(&self, item: &mut Item) {
        let section = &self.outline.sections[item.section];
        let writing = &self.ground.writing;
        item.face = face(section, &item.block, self.ground.quotes, writing);
        let counter = self.ground.counter;
        let (line, body) = item.parts();
        let line = line.map(|line| counter.count(line).0);
        // A trimmed body is counted when the window is rendered; until then this is no less.
        let asked = item.block.as_page().is_some_and(|shape| shape.asked);
        let asked = self.ground.asked.get(&item.block.page.index).filter(|_| asked);
        let body = body.map(|body| {
            if let Some(asked) = asked {
                return *asked;
            }
            let most = body.limit.map_or(u64::MAX, |limit| limit.0);
            let parts = item.block.page.detail().map_or(1, |detail| u64::from(detail.messages));
            item.tokens.min(most.saturating_mul(parts * 2).saturating_add(64))
        });
        item.weigh(writing.family, writing.filler, line, body);
        let page = &item.block.page.index;
        let known = match item.block.as_page().is_some_and(|shape| shape.asked) {
            true => None,
            false => self.ground.trimmed.get(page),
        };
        if let (Some(_), Some(known)) = (body, known) {
            item.tokens = *known;
        }
    }

    /// Turns the pages of a range that may fold into lines: neighbours of one directory into a run,
    /// a page alone into its stub.
    pub(super) fn fold_range(&mut self, range: Range<usize>, most: u64) {
        let range = self.rejoin(range);
        self.lower_request(&range);
        let groups = self.groups(range);
        // From the last, so that positions before it stay what they are.
        for group in groups.into_iter().rev() {
            let pages = group.len() as u64;
            let words = (WORDS_PER_PAGE * pages).min(most);
            // A note alone keeps its name; what was said in turns is better told by its words.
            let note = |item: &Item| item.block.page.turn.is_none();
            if group.len() == 1 && note(&self.items[group.start]) {
                self.lower(group.start, Fold::Summary);
            } else {
                self.make_run(group, words);
            }
        }
    }

    /// Lowers the page of the open request to what was asked, if it lies in a range.
    fn lower_request(&mut self, range: &Range<usize>) {
        let Some(at) = self.open_request().filter(|at| range.contains(at)) else { return };
        if self.keeps_request && self.items[at].block.as_page().is_some_and(|shape| !shape.asked) {
            self.lower(at, Fold::Asked);
        }
    }

    /// Gives up what was asked last, where nothing else helps.
    pub(super) fn fold_request(&mut self, budget: u64) {
        self.keeps_request = false;
        self.fold_early(budget);
        self.keeps_request = true;
    }

    /// Sends pages that were taken out of a run back into it; returns what is left of the range.
    fn rejoin(&mut self, mut range: Range<usize>) -> Range<usize> {
        for at in range.clone().rev() {
            let item = &self.items[at];
            let (page, place) = (item.block.page.index.clone(), item.block.page.place);
            let Some(parent) = item.block.page.parent.clone() else { continue };
            if !self.may_fold(item) {
                continue;
            }
            let Some((_, stored)) = self.directory_of(&parent) else { continue };
            let mut entry = self.entry(&parent, &stored);
            if !entry.runs.iter().any(|run| run.covers(place)) {
                continue;
            }
            let mut runs = entry.runs.to_vec();
            runs.iter_mut().for_each(|run| run.apart.retain(|apart| *apart != page));
            entry.runs = runs.into();
            self.set_entry(&parent, &stored, entry);
            // The line may be merged or changed yet, and must not bring the page back.
            for item in &mut self.items {
                if let Shape::Run(run) = &mut item.block.shape
                    && item.block.page.index == parent
                {
                    run.apart.retain(|apart| *apart != page);
                }
            }
            self.items.remove(at);
            self.folded += 1;
            self.first_changed = self.first_changed.min(at);
            range.end -= 1;
        }
        range
    }

    /// Returns neighbours of one directory that may fold, as ranges.
    fn groups(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        let request = self.open_request().filter(|_| self.keeps_request);
        for at in range {
            let item = &self.items[at];
            if !self.may_fold(item) || item.is_folded_page() || request == Some(at) {
                continue;
            }
            match groups.last_mut() {
                Some(group) if group.end == at && self.neighbours(at - 1, at) => group.end += 1,
                _ => groups.push(at..at + 1),
            }
        }
        groups
    }

    /// Tells whether two adjacent items are neighbours in one directory.
    fn neighbours(&self, left: usize, right: usize) -> bool {
        let (left, right) = (&self.items[left], &self.items[right]);
        let ordered = match (span(left), span(right)) {
            (Some((_, end)), Some((begin, _))) => end < begin,
            _ => false,
        };
        left.section == right.section && directory(left) == directory(right) && ordered
    }

    /// Replaces a range of neighbours, pages or runs, by one run, if that takes less.
    fn make_run(&mut self, range: Range<usize>, words: u64) {
        let Some(run) = self.joined(range.clone(), words) else { return };
        let Some(directory) = directory(&self.items[range.start]).cloned() else { return };
        let Some((at, stored)) = self.directory_of(&directory) else { return };
        let page = self.items[at].block.page.clone();
        let mut item = Item {
            section: self.items[range.start].section,
            system: false,
            block: Block {
                page,
                depth: self.items[range.start].block.depth,
                shape: Shape::Run(run.clone()),
            },
            face: Face::Nothing,
            tokens: 0,
        };
        self.dress(&mut item);
        let now: u64 = self.items[range.clone()].iter().map(|item| item.tokens).sum();
        if item.tokens >= now && !self.for_messages {
            return;
        }
        let mut entry = self.entry(&directory, &stored);
        let mut runs: Vec<Run> =
            entry.runs.iter().filter(|old| !run.covers(old.first)).cloned().collect();
        runs.push(run);
        runs.sort_by_key(|run| run.first);
        entry.runs = runs.into();
        self.set_entry(&directory, &stored, entry);
        let pages = self.items[range.clone()].iter();
        self.folded += pages.filter(|item| item.block.as_page().is_some()).count() as u64;
        self.first_changed = self.first_changed.min(range.start);
        self.items.splice(range, [item]);
    }

    /// Returns where a directory stands, and what the view says of it.
    fn directory_of(&self, index: &PageIndex) -> Option<(usize, crate::LevelEntry)> {
        let at = self
            .items
            .iter()
            .position(|item| item.block.as_page().is_some() && item.block.page.index == *index)?;
        Some((at, self.items[at].block.as_page()?.entry.clone()))
    }

    /// Returns the run over a range of neighbours.
    fn joined(&self, range: Range<usize>, words: u64) -> Option<Run> {
        let (first, last) = (&self.items[range.start], &self.items[range.end - 1]);
        let cited: Vec<Cited> = self.choose_words(range.clone(), words);
        let mut pages = 0;
        // Where a part of it was folded for another reason, how many there are is not known.
        let mut messages = self.bounded.then_some(0);
        let mut apart = Vec::new();
        for item in &self.items[range] {
            match &item.block.shape {
                Shape::Page(_) => {
                    pages += 1;
                    let held = item.block.page.detail().map_or(0, |detail| detail.messages);
                    messages = messages.map(|messages| messages + u64::from(held));
                }
                Shape::Run(run) => {
                    pages += run.pages;
                    messages = messages.filter(|_| run.messages > 0).map(|it| it + run.messages);
                    apart.extend(run.apart.iter().cloned());
                }
            }
        }
        let end = match &last.block.shape {
            Shape::Page(_) => last.block.page.index.clone(),
            Shape::Run(run) => run.to.clone(),
        };
        Some(Run {
            first: span(first)?.0,
            last: span(last)?.1,
            from: first.block.index().clone(),
            to: end,
            pages,
            messages: messages.unwrap_or(0),
            filter: self.outline.filter,
            form: RunForm::Line,
            cited,
            apart,
        })
    }

    /// Merges lines that stand side by side, when together they take more than they may.
    pub(super) fn merge_lines(&mut self, most: u64, merged: u64) {
        let is_line = |item: &Item| {
            matches!(item.block.shape, Shape::Run(_))
                || (item.is_folded_page() && self.may_fold(item))
        };
        let lines = self.in_scope().filter(|item| is_line(item));
        if lines.map(|item| item.tokens).sum::<u64>() <= most {
            return;
        }
        let mut groups: Vec<Range<usize>> = Vec::new();
        for at in 0..self.items.len() {
            let item = &self.items[at];
            let here = self.scope.is_none_or(|scope| item.section == scope);
            if !here || !is_line(item) {
                continue;
            }
            match groups.last_mut() {
                Some(group) if group.end == at && self.neighbours(at - 1, at) => group.end += 1,
                _ => groups.push(at..at + 1),
            }
        }
        let count = groups.iter().filter(|group| group.len() > 1).count().max(1) as u64;
        for group in groups.into_iter().rev().filter(|group| group.len() > 1) {
            self.make_run(group, merged / count);
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
            let here = self.scope.is_none_or(|scope| item.section == scope);
            if !here || !open || shape.pinned || item.system {
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

    /// Takes the words out of all lines.
    pub(super) fn lines_to_gist(&mut self, budget: u64) {
        self.change_runs(budget, RunForm::Gist);
        for at in 0..self.items.len() {
            if self.total() <= budget {
                return;
            }
            if self.items[at].is_folded_page() && self.may_fold(&self.items[at]) {
                self.lower(at, Fold::Gist);
            }
        }
    }

    /// Takes the lines of runs out of the window.
    pub(super) fn lines_out(&mut self, budget: u64) {
        self.change_runs(budget, RunForm::Out);
        // As in an outline, what is out has no block: its neighbours stand side by side.
        let is_out =
            |item: &Item| matches!(&item.block.shape, Shape::Run(run) if run.form == RunForm::Out);
        self.items.retain(|item| !is_out(item));
    }

    fn change_runs(&mut self, budget: u64, form: RunForm) {
        for at in 0..self.items.len() {
            if self.total() <= budget {
                return;
            }
            let here = self.scope.is_none_or(|scope| self.items[at].section == scope);
            let Shape::Run(run) = &self.items[at].block.shape else { continue };
            if !here || run.form == form {
                continue;
            }
            let changed = Run { form, cited: Vec::new(), ..run.clone() };
            let directory = self.items[at].block.page.index.clone();
            let Some((_, stored)) = self.directory_of(&directory) else { continue };
            let mut entry = self.entry(&directory, &stored);
            let swap =
                |old: &Run| if old.first == changed.first { changed.clone() } else { old.clone() };
            entry.runs = entry.runs.iter().map(swap).collect::<Arc<[Run]>>();
            self.set_entry(&directory, &stored, entry);
            let mut item = self.items[at].clone();
            item.block.shape = Shape::Run(changed);
            self.dress(&mut item);
            self.items[at] = item;
            self.first_changed = self.first_changed.min(at);
        }
    }
}

/// Returns the directory an item stands in.
fn directory(item: &Item) -> Option<&PageIndex> {
    match &item.block.shape {
        Shape::Page(_) => item.block.page.parent.as_ref(),
        Shape::Run(_) => Some(&item.block.page.index),
    }
}

/// Returns the places an item covers.
fn span(item: &Item) -> Option<(crate::Place, crate::Place)> {
    match &item.block.shape {
        Shape::Page(_) => Some((item.block.page.place, item.block.page.place)),
        Shape::Run(run) => Some((run.first, run.last)),
    }
}
