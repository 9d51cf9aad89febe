//! How deep pages stand: at most [`MAX_DEPTH`] directories deep, whatever edit put them there.

use std::collections::HashMap;

use super::{Draft, PROVISIONAL};
use crate::{
    Error, Page, PageIndex,
    decide::{Decision, Halt, Need},
    storage::{MAX_DEPTH, PageStanding},
};

impl Draft<'_> {
    /// Refuses the draft if a page it puts elsewhere, or one below such a page, stands too deep.
    ///
    /// Below a page that this draft puts somewhere stand only pages that it leaves alone, or others
    /// that it puts somewhere: so it is enough to look at each of those with what is stored below it.
    pub(in crate::decide) fn refuse_too_deep(&mut self) -> Decision {
        let mut depths: HashMap<PageIndex, usize> = HashMap::new();
        let mut missing = Vec::new();
        for at in 0..self.pages.len() {
            let delta = &self.pages[at];
            let stood = delta.before.as_ref().map(|before| &before.parent);
            let put = |page: &&Page| {
                stood != Some(&page.parent) && !matches!(page.standing, PageStanding::Moved(_))
            };
            let Some(page) = delta.after.as_ref().filter(put).cloned() else { continue };
            let Some(parent) = &page.parent else { continue };
            let depth = match depths.get(parent) {
                Some(depth) => depth + 1,
                None => {
                    let depth = self.ancestors(&page)?.len();
                    depths.insert(parent.clone(), depth.saturating_sub(1));
                    depth
                }
            };
            let depth = match self.height(at, &page, depth) {
                Ok(height) => depth + height,
                // Asked for together with those of the pages behind it.
                Err(Halt::Need(need)) => {
                    missing.push(need);
                    continue;
                }
                Err(refused) => return Err(refused),
            };
            if depth > MAX_DEPTH {
                let under = self.nearest_stored(&page)?;
                return Err(Error::TooDeep { under, depth, limit: MAX_DEPTH }.into());
            }
        }
        self.need_all(missing)
    }

    /// Returns how many levels of pages are stored below a page that now stands deeper than before;
    /// 0 where it does not, for then nothing below it can stand too deep because of this draft.
    fn height(&self, at: usize, page: &Page, depth: usize) -> Decision<usize> {
        let stored = page.index.number() < PROVISIONAL;
        let before = self.pages[at].before.as_ref().and_then(|before| self.stored_depth(before));
        if !page.is_contents() || !stored || before.is_some_and(|before| depth <= before) {
            return Ok(0);
        }
        let known = self.known.heights.get(&page.index).copied();
        known.ok_or_else(|| Halt::Need(Need::Height(page.index.clone())))
    }

    /// Returns how deep a page stood before this draft, where that is known.
    fn stored_depth(&self, page: &Page) -> Option<usize> {
        let mut depth = 0;
        let mut next = page.parent.clone();
        while let Some(index) = next.filter(|_| depth <= MAX_DEPTH) {
            depth += 1;
            next = self.known.pages.get(&index)?.as_ref()?.parent.clone();
        }
        Some(depth)
    }

    /// Returns the page, or the nearest above it, that has a number of its own already.
    fn nearest_stored(&mut self, page: &Page) -> Decision<PageIndex> {
        let above = self.ancestors(page)?;
        let line = std::iter::once(&page.index).chain(above.iter().map(|above| &above.index));
        let stored = line.into_iter().find(|index| index.number() < PROVISIONAL);
        Ok(stored.unwrap_or(&page.index).clone())
    }
}
