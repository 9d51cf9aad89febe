//! Adoption: what a directory takes in stays as visible as it was, in every view.

use std::collections::BTreeSet;

use contexture_core::{
    Actor, PageIndex, Visibility,
    storage::{Fold, LevelEntry, PageRun, PageRunForm, PageStanding, Place},
};

use super::{Doing, Model};

/// How the way to a page lies for a view.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Open,
    ClosedByView,
    ClosedForAll,
}

impl Model {
    /// Returns how a page looks in a view by what is said of itself, its fold included.
    fn looks(&self, view: &Actor, index: &PageIndex) -> Visibility {
        let lowered = self.fold_in_force(view, index).is_some_and(|fold| fold != Fold::Trimmed);
        if lowered { Visibility::Hidden } else { self.shown(view, index) }
    }

    /// Returns whether a view sees what lies in a directory, as far as the directory goes.
    fn door(&self, view: &Actor, directory: &PageIndex) -> Way {
        let archived = self.pages[directory].standing != PageStanding::InTree;
        if !archived && self.looks(view, directory) == Visibility::Expanded {
            return Way::Open;
        }
        let folded = self.fold_in_force(view, directory).is_some_and(|fold| fold != Fold::Trimmed);
        let hidden = self.entry(view, directory).shown == Some(Visibility::Hidden);
        let by_view = folded || (hidden && *view != Actor::System);
        if by_view && !archived { Way::ClosedByView } else { Way::ClosedForAll }
    }

    fn way_to(&self, view: &Actor, index: &PageIndex) -> Way {
        let above = self.above(index);
        let doors = above.iter().map(|directory| self.door(view, directory));
        let in_run = [index].into_iter().chain(&above).any(|it| self.run_of(view, it).is_some());
        let runs = if in_run { Way::ClosedByView } else { Way::Open };
        doors.chain([runs]).max().unwrap_or(Way::Open)
    }
}

impl Doing<'_> {
    pub(super) fn keep_visible(&mut self, parent: &PageIndex, children: &[PageIndex]) {
        if children.is_empty() || self.model.stands_in_full(parent) {
            return;
        }
        let views: BTreeSet<Actor> =
            self.model.levels.keys().map(|(view, _)| view.clone()).collect();
        let views = views.into_iter().filter(|view| *view != Actor::System);
        let views: Vec<Actor> = [Actor::System].into_iter().chain(views).collect();
        let stood = |view: &Actor| -> Vec<(Way, Visibility)> {
            let model = &self.model;
            children.iter().map(|it| (model.way_to(view, it), model.looks(view, it))).collect()
        };
        let before: Vec<_> = views.iter().map(stood).collect();
        for (view, before) in views.iter().zip(before) {
            self.keep_visible_in(view, parent, children, &before);
        }
    }

    fn keep_visible_in(
        &mut self,
        view: &Actor,
        parent: &PageIndex,
        children: &[PageIndex],
        before: &[(Way, Visibility)],
    ) {
        for child in children {
            if let Some((directory, at)) = self.model.run_of(view, child) {
                let mut entry = self.model.entry(view, &directory);
                let mut runs = entry.runs.to_vec();
                runs[at].pages = runs[at].pages.saturating_sub(1);
                runs.retain(|run| {
                    run.pages > 0 || !run.requests.is_empty() || !run.apart.is_empty()
                });
                entry.runs = runs.into();
                self.put_entry(view, &directory, entry);
            }
        }
        let way = self.model.way_to(view, parent).max(self.model.door(view, parent));
        match way {
            Way::Open => {}
            Way::ClosedByView if before.iter().any(|(way, _)| *way == Way::Open) => {
                self.open_up(view, parent, children);
            }
            Way::ClosedByView | Way::ClosedForAll => return,
        }
        for (child, (way, looked)) in children.iter().zip(before) {
            let entry = self.model.entry(view, child);
            let looks = self.model.looks(view, child);
            let after = match way {
                _ if self.model.pinned(view, child) => continue,
                Way::Open => LevelEntry {
                    shown: if looks == *looked { entry.shown } else { Some(*looked) },
                    ..entry
                },
                Way::ClosedForAll if *view == Actor::System => {
                    LevelEntry { shown: Some(Visibility::Hidden), ..entry }
                }
                Way::ClosedForAll if looks == Visibility::Hidden => continue,
                Way::ClosedForAll | Way::ClosedByView => {
                    LevelEntry { fold: Some(Fold::Gist), ..entry }
                }
            };
            self.put_entry(view, child, after);
        }
    }

    /// From the outermost door that the view has closed on, all are opened, and what lies beside the
    /// way is a line.
    fn open_up(&mut self, view: &Actor, parent: &PageIndex, leaving: &[PageIndex]) {
        let mut way: Vec<PageIndex> = self.model.above(parent);
        way.insert(0, parent.clone());
        way.reverse();
        let mut closed = false;
        for (at, directory) in way.iter().enumerate() {
            let inner = way.get(at + 1);
            let mut entry = self.model.entry(view, directory);
            closed |= self.model.door(view, directory) == Way::ClosedByView;
            if closed {
                let mut beside = self.model.under(directory);
                beside.retain(|page| {
                    self.model.pages[page].standing == PageStanding::InTree
                        && !leaving.contains(page)
                        && inner != Some(page)
                });
                entry.shown = Some(Visibility::Expanded);
                entry.fold = None;
                entry.runs = self.line(&beside, inner).into_iter().collect();
                self.put_entry(view, directory, entry);
            } else if let Some(inner) = inner
                && let Some((_, at)) = self.model.run_of(view, inner)
            {
                closed = true;
                let mut runs = entry.runs.to_vec();
                runs[at].apart.push(inner.clone());
                entry.runs = runs.into();
                self.put_entry(view, directory, entry);
            }
        }
    }

    fn line(&self, pages: &[PageIndex], beside: Option<&PageIndex>) -> Option<PageRun> {
        let (from, to) = (pages.first()?.clone(), pages.last()?.clone());
        Some(PageRun {
            first: Place(self.model.pages[&from].rank),
            last: Place(self.model.pages[&to].rank),
            pages: pages.len() as u64,
            messages: 0,
            calls: 0,
            filter: Default::default(),
            form: PageRunForm::Gist,
            requests: Vec::new(),
            cited: Vec::new(),
            apart: beside.into_iter().cloned().collect(),
            from,
            to,
        })
    }
}
