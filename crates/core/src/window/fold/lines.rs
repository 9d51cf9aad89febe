//! Lines of turns: folded pages of one request become one line, and the oldest lines are merged.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::Arc,
};

use super::Folding;
use crate::{
    PageIndex,
    storage::{Citation, CitationDetail, Fold, KeptRequest, LevelEntry, PageRun, PageRunForm},
    window::{
        digest::Digest,
        line::FILES,
        outline::{Block, Shape},
        plan::{BlockContent, Item},
    },
};

/// The tokens a page may spend on names in a line.
const NAMES_PER_PAGE: u64 = 112;

/// The least tokens for which names are looked for.
const LEAST_NAMES: u64 = 24;

/// The least tokens of a turn's line.
const LEAST_LINE: u64 = 60;

/// How much is worth a line of its own, in tokens: smaller turns share one.
pub(super) const WORTH_A_LINE: u64 = 240;

/// How many conclusions a line tells, the latest.
const CONCLUSIONS: usize = 8;

/// How many requests a merged line tells of, the latest.
const REQUESTS: usize = 64;

impl Folding<'_> {
    /// Turns pages before a position into lines, for at most so many tokens: those of one turn into a
    /// run, a note alone into its stub. What takes less than `least` shares a line with its neighbours.
    pub(super) fn fold_pages(
        &mut self,
        pages: &HashSet<PageIndex>,
        end: usize,
        (most, least): (u64, u64),
    ) {
        let end = self.rejoin(pages, end);
        let groups = self.joined_oldest(self.groups(pages, end, least), most);
        let share = most / (groups.len() as u64).max(1);
        let mut made = Vec::new();
        // From the last, so that positions before it stay what they are.
        for group in groups.into_iter().rev() {
            let item = &self.items[group.start];
            // A note alone keeps its name; what was said in turns is better told.
            let is_note = item.block.as_page().is_some() && item.block.page.turn.is_none();
            if group.len() == 1 && is_note && !self.for_messages {
                self.lower(group.start, Fold::Summary);
            } else {
                made.extend(self.make_run(group, share.max(LEAST_LINE)));
            }
        }
        self.set_runs(made);
    }

    /// Sends pages that were taken out of a run back into it; returns where the end is then.
    fn rejoin(&mut self, pages: &HashSet<PageIndex>, mut end: usize) -> usize {
        for at in (0..end).rev() {
            let item = &self.items[at];
            let (page, place) = (item.block.page.index.clone(), item.block.page.place);
            let Some(parent) = item.block.page.parent.clone() else { continue };
            if !pages.contains(&page) || !self.may_fold(item) {
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
            self.let_go(at);
            self.items.remove(at);
            self.folded.insert(page);
            self.first_changed = self.first_changed.min(at);
            end -= 1;
        }
        end
    }

    /// Returns what becomes one line each: neighbours of one directory that belong to one request.
    fn groups(&self, pages: &HashSet<PageIndex>, end: usize, least: u64) -> Vec<Range<usize>> {
        let mut groups: Vec<(Range<usize>, bool)> = Vec::new();
        let mut taken = 0;
        for at in 0..end {
            let item = &self.items[at];
            let is_run = matches!(item.block.shape, Shape::Run(_)) && self.is_in_scope(item);
            let folds = pages.contains(&item.block.page.index)
                && item.block.as_page().is_some()
                && self.may_fold(item);
            if !is_run && !folds {
                continue;
            }
            let begins = self.digest(item).is_some_and(|digest| digest.asked.is_some());
            match groups.last_mut() {
                Some((group, new))
                    if group.end == at
                        && (taken < least || (!is_run && !begins))
                        && self.neighbours(at - 1, at) =>
                {
                    group.end += 1;
                    *new |= folds;
                    taken += item.tokens;
                }
                _ => {
                    groups.push((at..at + 1, folds));
                    taken = item.tokens;
                }
            }
        }
        // Lines that nothing joins stay as they are.
        groups.into_iter().filter(|(_, new)| *new).map(|(group, _)| group).collect()
    }

    /// Joins the oldest of more groups than there can be lines for.
    fn joined_oldest(&self, groups: Vec<Range<usize>>, most: u64) -> Vec<Range<usize>> {
        let lines = usize::try_from(most / LEAST_LINE).unwrap_or(usize::MAX).max(1);
        let oldest = groups.len().saturating_sub(lines);
        let mut joined: Vec<Range<usize>> = Vec::new();
        for (number, group) in groups.into_iter().enumerate() {
            match joined.last_mut() {
                Some(last)
                    if number < oldest
                        && last.end == group.start
                        && self.neighbours(last.end - 1, group.start) =>
                {
                    last.end = group.end;
                }
                _ => joined.push(group),
            }
        }
        joined
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

    /// Replaces a range of neighbours, pages or runs, by one run, if that takes less. Returns the run
    /// and its directory, in whose entry it is still to be noted.
    fn make_run(&mut self, range: Range<usize>, most: u64) -> Option<(PageIndex, PageRun)> {
        let run = self.joined(range.clone(), most)?;
        let directory = directory(&self.items[range.start]).cloned()?;
        let (at, _) = self.directory_of(&directory)?;
        let page = self.items[at].block.page.clone();
        let mut item = Item {
            section: self.items[range.start].section,
            system: false,
            block: Block {
                page,
                depth: self.items[range.start].block.depth,
                shape: Shape::Run(run.clone()),
            },
            block_content: BlockContent::Nothing,
            tokens: 0,
            requests: 0,
        };
        self.dress(&mut item);
        let now: u64 = self.items[range.clone()].iter().map(|item| item.tokens).sum();
        if item.tokens >= now && !self.for_messages {
            return None;
        }
        range.clone().for_each(|at| self.let_go(at));
        let pages = self.items[range.clone()].iter();
        let pages = pages.filter(|item| item.block.as_page().is_some());
        self.folded.extend(pages.map(|item| item.block.page.index.clone()));
        self.first_changed = self.first_changed.min(range.start);
        self.items.splice(range, [item]);
        Some((directory, run))
    }

    /// Notes runs in the entries of their directories, in place of those they cover: all at once, since
    /// each change of an entry copies its runs.
    fn set_runs(&mut self, mut made: Vec<(PageIndex, PageRun)>) {
        while let Some((directory, _)) = made.last() {
            let directory = directory.clone();
            let here = made.extract_if(.., |(other, _)| *other == directory);
            let mut runs: Vec<PageRun> = here.map(|(_, run)| run).collect();
            let Some((_, stored)) = self.directory_of(&directory) else { continue };
            let mut entry = self.entry(&directory, &stored);
            let is_covered = |old: &&PageRun| runs.iter().any(|run| run.covers(old.first));
            let kept: Vec<PageRun> =
                entry.runs.iter().filter(|old| !is_covered(old)).cloned().collect();
            runs.extend(kept);
            runs.sort_by_key(|run| run.first);
            entry.runs = runs.into();
            self.set_entry(&directory, &stored, entry);
        }
    }

    /// Notes that a page which its agent expanded is folded after all.
    pub(super) fn let_go(&mut self, at: usize) {
        let item = &self.items[at];
        let Some(shape) = item.block.as_page().filter(|shape| shape.is_held()) else { return };
        let (page, stored) = (item.block.page.index.clone(), shape.entry.clone());
        let entry = LevelEntry { held: None, ..self.entry(&page, &stored) };
        self.set_entry(&page, &stored, entry);
    }

    /// Returns where a directory stands, and what the view says of it.
    pub(super) fn directory_of(&self, index: &PageIndex) -> Option<(usize, LevelEntry)> {
        let at = self
            .items
            .iter()
            .position(|item| item.block.as_page().is_some() && item.block.page.index == *index)?;
        Some((at, self.items[at].block.as_page()?.entry.clone()))
    }

    /// Returns the run over a range of neighbours.
    fn joined(&self, range: Range<usize>, most: u64) -> Option<PageRun> {
        let (first, last) = (&self.items[range.start], &self.items[range.end - 1]);
        let (mut pages, mut calls) = (0, 0);
        // Where a part of it was folded for another reason, how many there are is not known.
        let mut messages = self.bounded.then_some(0);
        let mut apart = Vec::new();
        let mut requests: Vec<KeptRequest> = Vec::new();
        for item in &self.items[range.clone()] {
            match &item.block.shape {
                Shape::Page(_) => {
                    pages += 1;
                    let held = item.block.page.detail().map_or(0, |detail| detail.messages);
                    messages = messages.map(|messages| messages + u64::from(held));
                    if let Some(digest) = self.digest(item) {
                        calls += digest.calls().count() as u64;
                        let asked = digest.asked.as_ref();
                        requests.extend(asked.and_then(|_| self.standing(&item.block.page.index)));
                    }
                }
                Shape::Run(run) => {
                    pages += run.pages;
                    calls += run.calls;
                    messages = messages.filter(|_| run.messages > 0).map(|it| it + run.messages);
                    apart.extend(run.apart.iter().cloned());
                    requests.extend(run.requests.iter().filter_map(|it| match &self.requests {
                        None => Some(it.clone()),
                        Some(_) => self.standing(&it.page),
                    }));
                }
            }
        }
        let end = match &last.block.shape {
            Shape::Page(_) => last.block.page.index.clone(),
            Shape::Run(run) => run.to.clone(),
        };
        let run = PageRun {
            first: span(first)?.0,
            last: span(last)?.1,
            from: first.block.index().clone(),
            to: end,
            pages,
            messages: messages.unwrap_or(0),
            calls,
            filter: self.outline.filter,
            form: PageRunForm::Line,
            requests,
            cited: Vec::new(),
            apart,
        };
        Some(self.cited(run, range, most))
    }

    /// Says what the line of a run tells of, and fills it with names.
    fn cited(&self, mut run: PageRun, range: Range<usize>, most: u64) -> PageRun {
        run.cited = self.items(range.clone());
        let tokens = |run: &PageRun| {
            let line = self.ground.quotes.line_of(&self.ground.writing.style, run);
            self.ground.counter.count(&line).0
        };
        let mut taken = tokens(&run);
        // What happened longest ago goes first; what was written and what came of it stay longest.
        for at in 0..run.cited.len().saturating_sub(1) {
            if taken > most && run.cited[at].told > CitationDetail::Wrote {
                run.cited[at].told = CitationDetail::Wrote;
                taken = tokens(&run);
            }
        }
        while taken > most && run.cited.len() > 1 {
            let half = run.cited.len().div_ceil(2).min(run.cited.len() - 1);
            run.cited.drain(..half.min(4));
            taken = tokens(&run);
        }
        // Lines that are merged had to lose their names already.
        let pages = self.items[range.clone()].iter();
        let pages = pages.filter(|item| item.block.as_page().is_some()).count() as u64;
        let names = (NAMES_PER_PAGE * pages).min(most.saturating_sub(taken));
        if names < LEAST_NAMES {
            return run;
        }
        for named in self.choose_words(range, names) {
            match run.cited.iter_mut().find(|cited| cited.page == named.page) {
                Some(cited) => cited.words = named.words,
                None => run.cited.push(named),
            }
        }
        let places: HashMap<&PageIndex, u64> = run
            .cited
            .iter()
            .filter_map(|cited| {
                let page = self.ground.quotes.pages.get(&cited.page)?;
                Some((&page.index, page.place.0))
            })
            .collect();
        let mut order: Vec<(u64, usize)> = run
            .cited
            .iter()
            .enumerate()
            .map(|(at, cited)| (places.get(&cited.page).copied().unwrap_or(0), at))
            .collect();
        order.sort_unstable();
        run.cited = order.into_iter().map(|(_, at)| run.cited[at].clone()).collect();
        run
    }

    /// Chooses what is told of the pages of a range: of each turn in it what was asked and what came of
    /// it, of the last also what failed, and which files were written last.
    fn items(&self, range: Range<usize>) -> Vec<Citation> {
        let quotes = self.ground.quotes;
        let mut known: Vec<(&PageIndex, &Digest, CitationDetail)> = Vec::new();
        for item in &self.items[range] {
            match &item.block.shape {
                Shape::Page(_) => {
                    let digest = self.digest(item);
                    known
                        .extend(digest.map(|it| (&item.block.page.index, it, CitationDetail::All)));
                }
                Shape::Run(run) => known.extend(run.cited.iter().filter_map(|cited| {
                    let page = quotes.pages.get(&cited.page)?;
                    Some((&page.index, quotes.digest(page)?, cited.told))
                })),
            }
        }
        let last_turn =
            known.iter().rposition(|(_, digest, _)| digest.asked.is_some()).unwrap_or(0);
        let mut wrote: HashSet<&str> = HashSet::new();
        let (mut failed, mut asked) = (0, 0);
        let (mut said, mut concluded) = (0, false);
        let mut cited = Vec::new();
        for (at, (page, digest, before)) in known.into_iter().enumerate().rev() {
            let mut told = CitationDetail::Nothing;
            // What came of each turn: the last that was said in it.
            if before == CitationDetail::All
                && !concluded
                && digest.said().is_some()
                && said < CONCLUSIONS
            {
                (said, concluded) = (said + 1, true);
                told = CitationDetail::All;
            }
            if digest.asked.is_some() && before >= CitationDetail::Asked && asked < REQUESTS {
                asked += 1;
                told = told.max(CitationDetail::Asked);
            }
            concluded &= digest.asked.is_none();
            if matches!(before, CitationDetail::Wrote | CitationDetail::All) && wrote.len() < FILES
            {
                let files = digest.calls().flat_map(|call| &call.written);
                if files.filter(|file| wrote.insert(file)).count() > 0 {
                    told = told.max(CitationDetail::Wrote);
                }
            }
            if at >= last_turn
                && before == CitationDetail::All
                && digest.has_failures()
                && failed < 2
            {
                failed += 1;
                told = CitationDetail::All;
            }
            if told > CitationDetail::Nothing {
                cited.push(Citation { page: page.clone(), told, words: Vec::new() });
            }
        }
        cited.reverse();
        cited
    }

    /// Shortens lines when together they take more than they may, the oldest first, and merges the
    /// oldest that stand side by side.
    pub(super) fn merge_lines(&mut self, most: u64) {
        for at in 0..self.items.len() {
            if self.lines() <= most {
                return;
            }
            self.strip_names(at);
        }
        // From the oldest on, as many as it takes to come well below.
        let low = most * 3 / 4;
        let mut at = 0;
        while at < self.items.len() && self.lines() > low {
            let mut end = at;
            let mut saved = 0;
            let wanted = self.lines().saturating_sub(low);
            while end < self.items.len()
                && self.is_mergeable(end)
                && (end == at || self.neighbours(end - 1, end))
                && (saved < wanted || end < at + 2)
            {
                saved += self.items[end].tokens.saturating_sub(self.items[end].requests);
                end += 1;
            }
            if end > at + 1 {
                let made = self.make_run(at..end, (most / 2).max(LEAST_LINE));
                self.set_runs(made.into_iter().collect());
            }
            at += 1;
        }
    }

    fn is_mergeable(&self, at: usize) -> bool {
        let item = &self.items[at];
        self.is_in_scope(item)
            && (matches!(item.block.shape, Shape::Run(_))
                || (item.is_stub() && self.may_fold(item)))
    }

    /// Returns what lines take together.
    fn lines(&self) -> u64 {
        let lines = (0..self.items.len()).filter(|at| self.is_mergeable(*at));
        lines.map(|at| self.items[at].tokens.saturating_sub(self.items[at].requests)).sum()
    }

    /// Takes the names out of a line.
    fn strip_names(&mut self, at: usize) {
        let item = &self.items[at];
        let Shape::Run(run) = &item.block.shape else { return };
        if !self.is_in_scope(item) || run.cited.iter().all(|cited| cited.words.is_empty()) {
            return;
        }
        let mut run = run.clone();
        run.cited.iter_mut().for_each(|cited| cited.words.clear());
        run.cited.retain(|cited| cited.told > CitationDetail::Nothing);
        self.replace_run(at, run);
    }

    /// Puts a run in the place of one over the same pages.
    pub(super) fn replace_run(&mut self, at: usize, run: PageRun) {
        let directory = self.items[at].block.page.index.clone();
        let Some((_, stored)) = self.directory_of(&directory) else { return };
        let mut entry = self.entry(&directory, &stored);
        let swap = |old: &PageRun| if old.first == run.first { run.clone() } else { old.clone() };
        entry.runs = entry.runs.iter().map(swap).collect::<Arc<[PageRun]>>();
        self.set_entry(&directory, &stored, entry);
        let mut item = self.items[at].clone();
        item.block.shape = Shape::Run(run);
        self.dress(&mut item);
        self.items[at] = item;
        self.first_changed = self.first_changed.min(at);
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
fn span(item: &Item) -> Option<(crate::storage::Place, crate::storage::Place)> {
    match &item.block.shape {
        Shape::Page(_) => Some((item.block.page.place, item.block.page.place)),
        Shape::Run(run) => Some((run.first, run.last)),
    }
}
