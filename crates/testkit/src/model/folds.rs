//! Folds: pages lowered, and runs that stand for several.

use contexture_core::{
    Actor, ErrorKind, PageIndex, SegmentKind, Visibility, WindowLevel,
    storage::{Fold, LevelEntry, PageRunForm, PageStanding, Place},
    window::FoldPlan,
};

use super::{Answer, Doing, Model};

impl Model {
    /// Returns which run of a view stands for a page; none for what is pinned.
    pub(crate) fn run_of(&self, view: &Actor, index: &PageIndex) -> Option<(PageIndex, usize)> {
        let stands = |_: &_| !self.pinned(view, index) && !self.stands_in_full(index);
        self.run_around(view, index).filter(stands)
    }

    /// Returns which run of a view lies around a page: its directory, and the run's position there.
    fn run_around(&self, view: &Actor, index: &PageIndex) -> Option<(PageIndex, usize)> {
        let page = self.pages.get(index)?;
        let parent = page.parent.clone()?;
        let place = Place(page.rank);
        let runs = self.entry(view, &parent).runs;
        let at = runs.iter().position(|run| {
            run.first <= place && place <= run.last && !run.apart.contains(index)
        })?;
        Some((parent, at))
    }

    /// Tells whether a view has pinned a page, by its own word or the system side's.
    pub(crate) fn pinned(&self, view: &Actor, index: &PageIndex) -> bool {
        let own = self.entry(view, index).pinned;
        own.or(self.entry(&Actor::System, index).pinned).unwrap_or(false)
    }

    /// Returns how much of a page in the tree stands in a view's window.
    pub(crate) fn window_level(&self, view: &Actor, index: &PageIndex) -> WindowLevel {
        let archived = |page: &PageIndex| self.pages[page].standing == PageStanding::HotArchived;
        let above = self.above(index);
        let closed = |page: &PageIndex| archived(page) || self.is_out_of_sight(view, page);
        if archived(index) || above.iter().any(closed) {
            return WindowLevel::Out;
        }
        if let Some((parent, at)) = self.run_of(view, index) {
            return match self.entry(view, &parent).runs[at].form {
                PageRunForm::Line | PageRunForm::Gist => WindowLevel::Run,
                PageRunForm::Out => WindowLevel::Out,
            };
        }
        match (self.shown(view, index), self.fold_in_force(view, index)) {
            _ if self.is_system_root(index) => WindowLevel::Full,
            (_, Some(Fold::Gist)) => WindowLevel::Gist,
            (Visibility::Hidden, _) | (_, Some(Fold::Summary | Fold::Rewritten | Fold::Log)) => {
                WindowLevel::Summary
            }
            (Visibility::Expanded, None | Some(Fold::Trimmed)) => WindowLevel::Full,
        }
    }

    /// Tells whether nothing below a page can be seen: hidden, folded away or in a run.
    pub(super) fn is_out_of_sight(&self, view: &Actor, index: &PageIndex) -> bool {
        let folded = self.fold_in_force(view, index).is_some_and(|fold| fold != Fold::Trimmed);
        folded
            || self.shown(view, index) == Visibility::Hidden
            || self.run_of(view, index).is_some()
    }

    /// Returns a page's fold; what is pinned or of the system's kind stands whatever was folded.
    pub(super) fn fold_in_force(&self, view: &Actor, index: &PageIndex) -> Option<Fold> {
        let system = self.segments[index.segment()].kind == SegmentKind::System;
        self.entry(view, index).fold.filter(|_| !system && !self.pinned(view, index))
    }

    fn is_system_root(&self, index: &PageIndex) -> bool {
        index.is_root() && self.segments[index.segment()].kind == SegmentKind::System
    }
}

impl Doing<'_> {
    pub(super) fn fold(&mut self, plan: &FoldPlan) -> Answer {
        if plan.steps.is_empty() {
            return Err(ErrorKind::Invalid);
        }
        for step in &plan.steps {
            self.find(&step.page)?;
            if self.model.segments[step.page.segment()].kind == SegmentKind::System {
                return Err(ErrorKind::Invalid);
            }
            let view = self.view.clone();
            let now = self.model.entry(&view, &step.page);
            if now != step.before {
                return Err(ErrorKind::Conflict);
            }
            let LevelEntry { shown, pinned, fold, .. } = &step.after;
            if (shown, pinned) != (&now.shown, &now.pinned) {
                return Err(ErrorKind::Invalid);
            }
            let lowers = fold.is_some() && *fold != now.fold;
            if lowers && self.model.pinned(&view, &step.page) {
                return Err(ErrorKind::Conflict);
            }
            self.put_entry(&view, &step.page, step.after.clone());
            self.named.push(step.page.clone());
        }
        Ok(())
    }

    /// A page that comes forward stands beside the run that stood for it.
    pub(super) fn leave_run(&mut self, index: &PageIndex) {
        let view = self.view.clone();
        let Some((parent, _)) = self.model.run_around(&view, index) else { return };
        let place = Place(self.model.pages[index].rank);
        let mut entry = self.model.entry(&view, &parent);
        let mut runs = entry.runs.to_vec();
        for run in &mut runs {
            let covers = run.first <= place && place <= run.last;
            if covers && !run.apart.contains(index) {
                run.apart.push(index.clone());
            }
        }
        entry.runs = runs.into();
        self.put_entry(&view, &parent, entry);
    }
}
