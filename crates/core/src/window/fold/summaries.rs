//! Summaries: the description of the page that begins a turn stands in the turn's line.
//!
//! A description may be written at any time, by a person or from a model's answer. Lines that stand
//! keep their bytes; the next fold puts the new descriptions into them, while what it leaves still
//! fits. Lines that are not changed by it stay where they are in the provider's cache.

use super::Folding;
use crate::{
    Page, PageIndex,
    storage::{Citation, CitationDetail, PageRun, PageRunForm},
    window::outline::{Section, Shape},
};

impl Folding<'_> {
    /// Puts descriptions of turns into their lines, if anything folds at all.
    pub(super) fn tell_summaries(&mut self, budget: Option<u64>) {
        if self.entries.values().all(|step| step.before == step.after) {
            return;
        }
        let quotes = self.ground.quotes;
        let mut described: Vec<&Page> =
            quotes.pages.values().map(|page| &**page).filter(|page| is_described(page)).collect();
        described.sort_by_key(|page| page.place);
        for at in 0..self.items.len() {
            let item = &self.items[at];
            let Shape::Run(run) = &item.block.shape else { continue };
            if let Some(run) = self.with_summary(run, &item.block.page.index, &described) {
                self.tell_summary(at, run, budget);
            }
        }
    }

    /// Returns a run whose line tells the description of its last turn; none where there is none, or
    /// where it does so already.
    fn with_summary(
        &self,
        run: &PageRun,
        directory: &PageIndex,
        described: &[&Page],
    ) -> Option<PageRun> {
        let quotes = self.ground.quotes;
        let within = |page: &&&Page| {
            page.parent.as_ref() == Some(directory) && run.stands_for(&page.index, page.place)
        };
        let page = described.iter().rev().find(within)?;
        let asks = |page: &Page| quotes.digest(page).is_some_and(|digest| digest.asked.is_some());
        let is_later = |cited: &Citation| {
            let cited = quotes.pages.get(&cited.page);
            cited.is_some_and(|cited| cited.place > page.place && asks(cited))
        };
        if run.form != PageRunForm::Line || !asks(page) || run.cited.iter().any(is_later) {
            return None;
        }
        let mut run = run.clone();
        match run.cited.iter_mut().find(|cited| cited.page == page.index) {
            Some(cited) if cited.told == CitationDetail::Summary => return None,
            Some(cited) => cited.told = CitationDetail::Summary,
            None => {
                let place = |cited: &Citation| quotes.pages.get(&cited.page).map(|page| page.place);
                let before =
                    |cited: &Citation| place(cited).is_some_and(|place| place < page.place);
                let at = run.cited.iter().take_while(|cited| before(cited)).count();
                let told = CitationDetail::Summary;
                run.cited
                    .insert(at, Citation { page: page.index.clone(), told, words: Vec::new() });
            }
        }
        Some(run)
    }

    /// Puts a run in the place of one over the same pages, unless the window or its segment is too
    /// large then.
    fn tell_summary(&mut self, at: usize, run: PageRun, budget: Option<u64>) {
        let section = self.items[at].section;
        let mut item = self.items[at].clone();
        item.block.shape = Shape::Run(run.clone());
        self.dress(&mut item);
        let more = item.tokens.saturating_sub(self.items[at].tokens);
        let fits = |most: u64, taken: u64| taken + more <= most || more == 0;
        let taken: u64 = self.items.iter().map(|item| item.tokens).sum();
        let here = self.items.iter().filter(|item| item.section == section);
        let here: u64 = here.map(|item| item.tokens).sum();
        let Section { segment, .. } = &self.outline.sections[section];
        let capacity = Some(segment.capacity.0).filter(|capacity| *capacity > 0);
        if budget.is_none_or(|most| fits(most, taken))
            && capacity.is_none_or(|most| fits(most, here))
        {
            self.replace_run(at, run);
        }
    }
}

/// Tells whether a page begins a turn that somebody described.
fn is_described(page: &Page) -> bool {
    !page.description.is_empty() && page.turn.as_ref() == Some(&page.index)
}
