//! Undo: everything an edit touched as it was before, if nobody has touched it since.

use contexture_core::{
    Actor, ErrorKind, PageIndex, Permission, SegmentKind, Visibility, storage::PageStanding,
};

use super::{Answer, Doing, Model, Past, is_listed, put};

impl Model {
    fn past(&self, revision: u64) -> Option<&Past> {
        self.past.get(usize::try_from(revision.checked_sub(1)?).ok()?)
    }

    /// Marks an edit undone; what that one had undone is in force again, and so on.
    pub(super) fn mark(&mut self, undoes: Option<u64>, by: u64) {
        let (mut next, mut undone) = (undoes, true);
        while let Some(revision) = next {
            let at = usize::try_from(revision - 1).expect("the past fits in memory");
            let past = &mut self.past[at];
            past.undone_by = undone.then_some(by);
            past.redone_by = (!undone).then_some(by);
            (next, undone) = (past.undoes, !undone);
        }
    }
}

impl Doing<'_> {
    pub(super) fn undo(&mut self, revision: Option<u64>) -> Answer {
        let actor = self.caller.actor();
        let revision = match revision {
            Some(revision) => revision,
            None => {
                let undoable = |past: &Past| {
                    past.actor == actor && past.undoes.is_none() && past.undone_by.is_none()
                };
                let newest = self.model.past.iter().rposition(undoable);
                newest.ok_or(ErrorKind::NotFound)? as u64 + 1
            }
        };
        let past = self.model.past(revision).cloned().ok_or(ErrorKind::NotFound)?;
        self.may_undo(&past)?;
        if past.undone_by.is_some() || past.lost {
            return Err(ErrorKind::Conflict);
        }
        // An edit that was redone is in force through the edit that redid it.
        let source = past.redone_by.unwrap_or(revision);
        let mut force = self.model.past(source).cloned().ok_or(ErrorKind::NotFound)?;
        if force.lost {
            return Err(ErrorKind::Conflict);
        }
        // What a redo left to other views is put back with the original.
        let of_others = |view: &Actor| *view != past.view;
        for (at, touch) in past.touched.levels.iter().filter(|((view, _), _)| of_others(view)) {
            force.touched.levels.entry(at.clone()).or_insert_with(|| touch.clone());
        }
        for (view, touch) in past.touched.focus.iter().filter(|(view, _)| of_others(view)) {
            force.touched.focus.entry(view.clone()).or_insert_with(|| touch.clone());
        }
        self.untouched(&force)?;
        self.put_back(&force);
        self.can_stand(source, &force)?;
        self.undoes = Some(revision);
        self.view = past.view;
        self.named = force.named.into_iter().collect();
        Ok(())
    }

    fn may_undo(&self, past: &Past) -> Answer {
        let Some(view) = self.caller.view() else { return Ok(()) };
        let own = Actor::Agent(view.agent.clone());
        if past.actor != own && !past.actor.is_system_side() {
            return Err(ErrorKind::NotFound);
        }
        let pages = past.named.iter().map(PageIndex::segment);
        let segments = || past.touched.segments.keys();
        for id in pages.chain(segments()) {
            self.model.would_see(self.caller, id).ok_or(ErrorKind::NotFound)?;
        }
        if past.actor.is_system_side() {
            return Err(ErrorKind::PermissionDenied);
        }
        for page in past.touched.pages.keys() {
            self.may_write(page)?;
        }
        for id in segments() {
            let segment = &self.model.segments[id];
            let managed = segment.permission == Permission::SystemManaged;
            if !managed || segment.kind == SegmentKind::System {
                return Err(ErrorKind::PermissionDenied);
            }
        }
        for ((_, page), (before, _)) in &past.touched.levels {
            if before.as_ref().is_some_and(|said| said.shown == Some(Visibility::Hidden)) {
                self.may_hide(page)?;
            }
        }
        Ok(())
    }

    /// Checks that everything is still as the edit left it.
    fn untouched(&self, force: &Past) -> Answer {
        let touched = &force.touched;
        let pages = touched.pages.iter().all(|(index, (_, after))| {
            let now = self.model.pages.get(index);
            now.map(|page| page.stamp) == after.as_ref().map(|page| page.stamp)
        });
        let segments = touched.segments.iter().all(|(id, (_, after))| {
            let now = self.model.segments.get(id);
            now.map(|segment| segment.stamp) == after.as_ref().map(|segment| segment.stamp)
        });
        // What other views have said since is theirs.
        let levels = touched.levels.iter().all(|((view, page), (_, after))| {
            *view != force.view || self.model.entry(view, page) == after.clone().unwrap_or_default()
        });
        let focus = touched.focus.iter().all(|(view, (_, after))| {
            *view != force.view || self.model.focus.get(view) == after.as_ref()
        });
        let custom = touched
            .custom
            .iter()
            .all(|(key, (_, after))| self.model.custom.get(key) == after.as_ref());
        let untouched = pages && segments && levels && focus && custom;
        if untouched { Ok(()) } else { Err(ErrorKind::Conflict) }
    }

    /// Tells whether no later edit went on with the turn of a page that went.
    fn ends_its_turn(&self, index: &PageIndex, force: &Past) -> bool {
        let Some(page) = force.touched.pages[index].1.as_ref().filter(|page| page.turn.is_some())
        else {
            return true;
        };
        let later = self.model.pages.iter().filter(|(other, later)| {
            later.turn.is_some()
                && is_listed(&later.standing)
                && later.author == page.author
                && other.segment() == index.segment()
                && later.rank > page.rank
        });
        later.min_by_key(|(_, later)| later.rank).is_none_or(|(_, next)| next.turn != page.turn)
    }

    fn put_back(&mut self, force: &Past) {
        for (index, (before, _)) in &force.touched.pages {
            self.put_page(index, before.clone());
        }
        for (id, (before, _)) in &force.touched.segments {
            // A segment's numbers are remembered for ever, so its record stays.
            let mut segment = self.model.segments[id].clone();
            (segment.removed, segment.stamp) = (true, 0);
            self.put_segment(id, before.clone().unwrap_or(segment));
        }
        for ((view, page), (before, after)) in &force.touched.levels {
            if self.model.entry(view, page) == after.clone().unwrap_or_default() {
                self.put_entry(view, page, before.clone().unwrap_or_default());
            }
        }
        for (view, (before, after)) in &force.touched.focus {
            if self.model.focus.get(view) == after.as_ref() {
                self.put_focus(view, before.clone());
            }
        }
        for (key, (before, _)) in &force.touched.custom {
            put(&mut self.model.custom, &mut self.touched.custom, key, before.clone());
        }
    }

    /// Checks that what came back has a place to stand and what went leaves nothing behind.
    fn can_stand(&self, source: u64, force: &Past) -> Answer {
        for index in force.touched.pages.keys() {
            let stands = match self.model.pages.get(index) {
                Some(page) if is_listed(&page.standing) => {
                    let above = self.model.above(index);
                    let complete = above.last().is_none_or(PageIndex::is_root);
                    // What was archived already when the edit was made may stay so.
                    let as_before = above.iter().all(|above| {
                        self.model.pages.get(above).is_some_and(|above| match above.standing {
                            PageStanding::InTree | PageStanding::HotArchived => true,
                            PageStanding::ColdArchived => above.stamp < source,
                            PageStanding::Moved(_) => false,
                        })
                    });
                    complete && !above.contains(index) && as_before
                }
                Some(_) => true,
                None => self.model.under(index).is_empty() && self.ends_its_turn(index, force),
            };
            if !stands {
                return Err(ErrorKind::Conflict);
            }
        }
        for ((_, page), (before, _)) in &force.touched.levels {
            let hides = before.as_ref().is_some_and(|said| said.shown == Some(Visibility::Hidden));
            let kind = self.model.segments.get(page.segment()).map(|segment| segment.kind);
            if hides && page.is_root() && kind == Some(SegmentKind::System) {
                return Err(ErrorKind::Conflict);
            }
        }
        Ok(())
    }
}
