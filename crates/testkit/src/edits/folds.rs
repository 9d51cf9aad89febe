//! Random folds: pages lowered in the caller's view, and runs over some of a directory's pages.

use contexture_core::{
    Actor, Edit, PageIndex, Principal, SegmentKind,
    storage::{
        Citation, CitationDetail, Fold, KeptRequest, LevelEntry, PageRun, PageRunForm, Place,
    },
    window::{FoldPlan, FoldReport, FoldStep},
};

use super::Edits;
use crate::model::{Model, view_of};

impl Edits {
    /// Folds a few pages and directories.
    pub(super) fn fold(&mut self, model: &Model, caller: &Principal) -> Edit {
        let view = view_of(caller);
        let mut steps: Vec<FoldStep> = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let step = if self.random.chance(40) {
                self.run(model, &view)
            } else {
                self.lower(model, &view)
            };
            if steps.iter().all(|other| other.page != step.page) {
                steps.push(step);
            }
        }
        if self.random.chance(3) {
            // Planned on what no longer stands.
            steps[0].before.fold = Some(Fold::Gist);
        }
        let number = self.random.below(1_000);
        let report = FoldReport {
            folded: steps.len() as u64,
            saved_tokens: number,
            ..FoldReport::default()
        };
        Edit::FoldPages(FoldPlan { steps, report })
    }

    fn lower(&mut self, model: &Model, view: &Actor) -> FoldStep {
        let page =
            self.such(model, |model, index| may_fold(model, index) && !model.pinned(view, index));
        let before = model.entry(view, &page);
        let (log, rewritten) = (Some(Fold::Log), Some(Fold::Rewritten));
        let (stub, gist) = (Some(Fold::Summary), Some(Fold::Gist));
        let folds = [None, Some(Fold::Trimmed), log, rewritten, stub, gist];
        let after = LevelEntry { fold: *self.random.pick(&folds), ..before.clone() };
        FoldStep { page, before, after }
    }

    fn run(&mut self, model: &Model, view: &Actor) -> FoldStep {
        let page = self
            .such(model, |model, index| may_fold(model, index) && listed(model, index).len() > 1);
        let before = model.entry(view, &page);
        let mut runs = before.runs.to_vec();
        let children = listed(model, &page);
        if children.is_empty() || self.random.chance(15) {
            runs.clear();
        } else {
            let new = self.run_over(model, &children);
            runs.retain(|run| run.last < new.first || new.last < run.first);
            runs.push(new);
            runs.sort_by_key(|run| run.first);
        }
        let after = LevelEntry { runs: runs.into(), ..before };
        FoldStep { page, before, after }
    }

    fn run_over(&mut self, model: &Model, children: &[PageIndex]) -> PageRun {
        let count = children.len() as u64;
        let first = self.random.below(count);
        let last = first + self.random.below(count - first);
        let at = |at: u64| &children[usize::try_from(at).expect("it is below a length")];
        let (from, to) = (at(first).clone(), at(last).clone());
        let words = vec![u16::try_from(self.random.below(8)).expect("it is small")];
        let told = [
            CitationDetail::Nothing,
            CitationDetail::Asked,
            CitationDetail::Wrote,
            CitationDetail::All,
        ][usize::from(words[0]) % 4];
        let request = KeptRequest { page: from.clone(), brief: words[0] > 3 };
        let requests = if words[0] % 2 == 0 { vec![request] } else { Vec::new() };
        PageRun {
            first: Place(model.pages[&from].rank),
            last: Place(model.pages[&to].rank),
            pages: last - first + 1,
            messages: 0,
            calls: u64::from(words[0]),
            filter: Default::default(),
            form: *self.random.pick(&[PageRunForm::Line, PageRunForm::Gist, PageRunForm::Out]),
            requests,
            cited: vec![Citation { page: from.clone(), told, words }],
            apart: Vec::new(),
            from,
            to,
        }
    }
}

fn may_fold(model: &Model, index: &PageIndex) -> bool {
    let kind = model.segments.get(index.segment()).map(|segment| segment.kind);
    model.stands(index) && kind != Some(SegmentKind::System)
}

/// Returns the pages a directory lists, in order.
fn listed(model: &Model, index: &PageIndex) -> Vec<PageIndex> {
    let mut under = model.under(index);
    under.retain(|page| model.stands(page));
    under
}
