//! What a view sees in part, and must therefore leave whole.
//!
//! An edit that replaces, moves, removes, archives, restores or adopts something takes along all that
//! it holds. An agent may do that only where its view shows all of it: a page with all its messages,
//! a directory with all that it holds at any depth, archived pages included. A view without a filter
//! pays nothing for that; one with a filter reads what it takes along.

use std::{collections::HashSet, sync::Arc};

use super::{Draft, filtered::SeenExtent};
use crate::{
    Error, Operation, Page, PageIndex, Segment, View,
    decide::{Decision, Halt, Need},
    storage::PageStanding,
};

/// How many pages are judged at a time: what they need is loaded together.
const BATCH: usize = 64;

impl Draft<'_> {
    /// Refuses an operation that would take along or replace what the caller does not see.
    pub(in crate::decide) fn whole(
        &mut self,
        segment: &Segment,
        page: &Page,
        operation: Operation,
    ) -> Decision {
        if self.sees_whole(segment, vec![Arc::new(page.clone())])? {
            return Ok(());
        }
        Err(Error::SeenInPart { operation, page: page.index.clone() }.into())
    }

    /// Tells whether the caller sees all that a directory holds, at any depth.
    pub(in crate::decide) fn sees_within(
        &mut self,
        segment: &Segment,
        directory: &PageIndex,
    ) -> Decision<bool> {
        if self.filtered().is_none() {
            return Ok(true);
        }
        let held = self.held(directory)?;
        self.sees_whole(segment, held)
    }

    /// Tells whether the caller sees pages with all that they hold, at any depth.
    fn sees_whole(&mut self, segment: &Segment, pages: Vec<Arc<Page>>) -> Decision<bool> {
        let Some(view) = self.filtered() else { return Ok(true) };
        let mut level = pages;
        let mut walked: HashSet<PageIndex> = HashSet::new();
        while !level.is_empty() {
            for pages in level.chunks(BATCH) {
                self.need_to_judge(view, segment, pages)?;
                for page in pages {
                    if self.seen_extent(segment, page)? != SeenExtent::Whole {
                        return Ok(false);
                    }
                }
            }
            // A page met twice ends its line: undo may have tied a knot that is yet to be noticed.
            level.retain(|page| page.is_contents() && walked.insert(page.index.clone()));
            self.need_children(&level)?;
            let mut below = Vec::new();
            for directory in &level {
                below.extend(self.held(&directory.index)?);
            }
            level = below;
        }
        Ok(true)
    }

    /// Asks for all that judging these pages reads, at once.
    fn need_to_judge(&self, view: &View, segment: &Segment, pages: &[Arc<Page>]) -> Decision {
        let mut needs = Vec::new();
        let unknown = |index: &PageIndex| self.look(index).is_err();
        for page in pages {
            if !view.filter.without.is_empty()
                && let Some(source) = page.sources.first().filter(|source| unknown(source))
            {
                needs.push(Need::Lineage(source.clone()));
            }
            let Some(filter) = view.judged(segment, page) else { continue };
            if filter.since.is_some()
                && let Some(first) = page.turn.as_ref().filter(|first| unknown(first))
            {
                needs.push(Need::Lineage(first.clone()));
            }
            if filter.speech_of(page).is_some_and(|speech| !speech.is_all())
                && page.detail().is_some()
                && let Err(Halt::Need(need)) = self.content(page)
            {
                needs.push(need);
            }
        }
        self.need_all(needs)
    }

    /// Asks for what these directories hold, at once.
    fn need_children(&self, directories: &[Arc<Page>]) -> Decision {
        let need = |page: &Arc<Page>| Need::Children { parent: page.index.clone(), limit: None };
        self.need_all(directories.iter().map(need))
    }

    /// Returns what a directory holds, archived or not, as this draft would leave it.
    fn held(&mut self, parent: &PageIndex) -> Decision<Vec<Arc<Page>>> {
        let stored = self.children(parent, None)?.pages;
        let mut held = Vec::with_capacity(stored.len());
        for child in &stored {
            held.extend(self.page(&child.index)?);
        }
        let listed: HashSet<&PageIndex> = stored.iter().map(|child| &child.index).collect();
        let here = self.pages.iter().filter_map(|delta| delta.after.as_ref());
        let arrived = here.filter(|page| !listed.contains(&page.index));
        held.extend(arrived.map(|page| Arc::new(page.clone())));
        // A retired page lives on elsewhere.
        let holds = |page: &Page| {
            page.parent.as_ref() == Some(parent) && !matches!(page.standing, PageStanding::Moved(_))
        };
        held.retain(|page| holds(page));
        Ok(held)
    }
}
