//! Reading: what is known, as the draft would leave it, and a note of everything that was looked at.

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use super::{Draft, Lineage, MOST_MOVES, PROVISIONAL};
use crate::{
    Error, HistoryEntry, Level, Operation, Page, PageIndex, Revision, Segment, SegmentId,
    SegmentKind, View, Visibility,
    decide::{ChildList, Decision, Halt, Need, Subject, UndonePages},
    permission,
    storage::{ChunkKey, Content, CustomKey, LevelEntry, PageStanding, Place, ViewHead, ViewId},
};

impl<'a> Draft<'a> {
    /// Returns a page of whatever standing, as this draft would leave it; its version is noted.
    pub(in crate::decide) fn page(&mut self, index: &PageIndex) -> Decision<Option<Arc<Page>>> {
        let page = self.look(index)?;
        if !self.page_at.contains_key(index) && self.read_pages.insert(index.clone()) {
            self.basis.pages.push((index.clone(), page.as_ref().map(|page| page.version)));
        }
        Ok(page)
    }

    /// Returns a page as this draft would leave it; where it is listed, only that is noted.
    fn standing_page(&mut self, index: &PageIndex) -> Decision<Option<Arc<Page>>> {
        match self.look(index)? {
            Some(page) if page.standing.is_listed() => {
                if !self.page_at.contains_key(index) && self.read_standing.insert(index.clone()) {
                    self.basis.standing.push((index.clone(), page.parent.clone()));
                }
                Ok(Some(page))
            }
            _ => self.page(index),
        }
    }

    pub(super) fn look(&self, index: &PageIndex) -> Decision<Option<Arc<Page>>> {
        if let Some(&at) = self.page_at.get(index) {
            return Ok(self.pages[at].after.clone().map(Arc::new));
        }
        let known = self.known.pages.get(index);
        known.cloned().ok_or_else(|| Halt::Need(Need::Lineage(index.clone())))
    }

    /// Tells whether a page is known to be a directory, as stored.
    pub(in crate::decide) fn is_stored_directory(&self, index: &PageIndex) -> bool {
        let known = self.known.pages.get(index).and_then(Option::as_ref);
        known.is_some_and(|page| page.is_contents())
    }

    /// Returns a segment that is not removed, if the caller sees it.
    pub(in crate::decide) fn segment(&mut self, id: &SegmentId) -> Decision<Option<Segment>> {
        let segment = self.any_segment(id);
        Ok(segment.filter(|segment| {
            !segment.removed && self.request.guard.is_none_or(|view| view.mounts(segment))
        }))
    }

    /// Returns a segment, removed or not, if the caller sees it or would see it.
    pub(in crate::decide) fn seen_segment(&mut self, id: &SegmentId) -> Option<Segment> {
        let segment = self.any_segment(id)?;
        let present = Segment { removed: false, ..segment.clone() };
        self.request.guard.is_none_or(|view| view.mounts(&present)).then_some(segment)
    }

    /// Returns a segment, removed or not, seen or not.
    pub(in crate::decide) fn any_segment(&mut self, id: &SegmentId) -> Option<Segment> {
        if let Some(delta) = self.segments.iter().rfind(|delta| delta.after.id == *id) {
            return Some(delta.after.clone());
        }
        let segment = self.known.segments.get(id);
        if self.read_segments.insert(id.clone()) {
            self.basis.segments.push((id.clone(), segment.map(|segment| segment.version)));
        }
        segment.map(|segment| (**segment).clone())
    }

    /// Tells whether a page is what agents are bound by and so always expanded.
    pub(in crate::decide) fn is_system_root(&mut self, page: &PageIndex) -> bool {
        let segment = self.any_segment(page.segment());
        page.is_root() && segment.is_some_and(|segment| segment.kind == SegmentKind::System)
    }

    pub(in crate::decide) fn next_ordinal(&self) -> u64 {
        let known = self.known.segments.all().map(|segment| &**segment);
        Segment::behind(known.chain(self.segments.iter().map(|delta| &delta.after)))
    }

    pub(in crate::decide) fn session_is_empty(&self) -> bool {
        self.known.segments.all().next().is_none() && self.segments.is_empty()
    }

    /// Returns a segment the caller sees, or the error that says there is none.
    pub(in crate::decide) fn require_segment(&mut self, id: &SegmentId) -> Decision<Segment> {
        let missing = || Error::SegmentNotFound { segment: id.clone() };
        self.segment(id)?.ok_or_else(|| missing().into())
    }

    /// Returns a page in the tree with its ancestors, nearest first, if the caller sees it.
    pub(in crate::decide) fn lineage(&mut self, index: &PageIndex) -> Decision<Lineage> {
        let missing = || Halt::from(Error::PageNotFound { page: index.clone() });
        let Some(segment) = self.segment(index.segment())? else {
            return Err(self.moved_away(index)?.unwrap_or_else(missing));
        };
        let Some(page) = self.standing_page(index)? else { return Err(missing()) };
        // Where it went is told by what is seen there.
        let moved = matches!(page.standing, PageStanding::Moved(_));
        if !moved && !self.sees(&segment, &page)? {
            return Err(missing());
        }
        match &page.standing {
            PageStanding::InTree | PageStanding::HotArchived => {}
            PageStanding::ColdArchived => {
                return Err(Error::PageArchived { page: index.clone() }.into());
            }
            PageStanding::Moved(_) => return Err(self.moved_away(index)?.unwrap_or_else(missing)),
        }
        let ancestors = self.ancestors(&page)?;
        if ancestors.iter().any(|ancestor| !ancestor.standing.is_listed()) {
            return Err(Error::PageArchived { page: index.clone() }.into());
        }
        Ok(Lineage { segment, page, ancestors })
    }

    /// Returns the ancestors that exist, nearest first.
    pub(in crate::decide) fn ancestors(&mut self, page: &Page) -> Decision<Vec<Arc<Page>>> {
        Ok(self.ancestors_below(page, &HashSet::new())?.0)
    }

    /// Returns the ancestors that exist, nearest first, up to one of `known`; tells whether they end
    /// there or nowhere, as they must.
    pub(in crate::decide) fn ancestors_below(
        &mut self,
        page: &Page,
        known: &HashSet<PageIndex>,
    ) -> Decision<(Vec<Arc<Page>>, bool)> {
        let mut ancestors: Vec<Arc<Page>> = Vec::new();
        let mut walked = HashSet::new();
        let mut next = page.parent.clone();
        while let Some(index) = next.filter(|index| !known.contains(index)) {
            let Some(ancestor) = self.standing_page(&index)? else { break };
            // Undo may have tied a knot that is yet to be noticed.
            if !walked.insert(index) {
                return Ok((ancestors, false));
            }
            next = ancestor.parent.clone();
            ancestors.push(ancestor);
        }
        Ok((ancestors, true))
    }

    /// Returns the error that says where a retired page went, if the caller sees that place.
    fn moved_away(&mut self, index: &PageIndex) -> Decision<Option<Halt>> {
        let mut target: Option<PageIndex> = None;
        let mut next = self.page(index)?;
        for _ in 0..MOST_MOVES {
            let Some(PageStanding::Moved(to)) = next.as_ref().map(|page| &page.standing) else {
                break;
            };
            target = Some(to.clone());
            next = self.page(to)?;
        }
        let Some(to) = target else { return Ok(None) };
        let seen = self.segment(to.segment())?.is_some() && self.sees_page(&to)?;
        Ok(seen.then(|| Error::PageMoved { page: index.clone(), to }.into()))
    }

    /// Returns a page in the tree on which the caller may do the operation.
    pub(in crate::decide) fn allowed(
        &mut self,
        index: &PageIndex,
        operation: Operation,
    ) -> Decision<Lineage> {
        let lineage = self.lineage(index)?;
        self.check(&lineage.segment, index, operation)?;
        Ok(lineage)
    }

    /// Checks an operation on a page for an agent; the system side is not checked.
    pub(in crate::decide) fn check(
        &self,
        segment: &Segment,
        page: &PageIndex,
        operation: Operation,
    ) -> Decision {
        match self.request.guard {
            None => Ok(()),
            Some(_) => Ok(permission::check_page(segment, page, operation)?),
        }
    }

    pub(in crate::decide) fn guard(&self) -> Option<&'a View> {
        self.request.guard
    }

    /// Refuses agents what belongs to the system side alone.
    pub(in crate::decide) fn system_side_only(&self, operation: Operation) -> Decision {
        match self.request.guard {
            None => Ok(()),
            Some(_) => {
                Err(Error::SystemSideOnly { what: format!("operation '{operation}'") }.into())
            }
        }
    }

    /// Asks for all of these at once that are not known yet.
    pub(in crate::decide) fn need_all(&self, needs: impl IntoIterator<Item = Need>) -> Decision {
        let missing: Vec<Need> = needs.into_iter().filter(|need| !self.knows(need)).collect();
        if missing.is_empty() { Ok(()) } else { Err(Halt::Need(Need::Several(missing))) }
    }

    /// Tells whether a need is met: by what is known, or because this draft makes the page itself.
    fn knows(&self, need: &Need) -> bool {
        let known = self.known;
        match need {
            Need::Lineage(index) => {
                self.page_at.contains_key(index) || known.pages.contains_key(index)
            }
            Need::Children { parent, limit } => {
                known.children.contains_key(&(parent.clone(), *limit))
            }
            Need::LastPlace(parent) => known.last_places.contains_key(parent),
            Need::Chunks(keys) => keys.iter().all(|key| known.chunks.contains_key(key)),
            Need::Views => known.views.is_some(),
            Need::Custom => known.custom.is_some(),
            Need::LastTurn(segment, actor) => {
                known.last_turns.contains_key(&(segment.clone(), actor.clone()))
            }
            Need::NextTurn(segment, actor, after) => {
                known.next_turns.contains_key(&(segment.clone(), actor.clone(), *after))
            }
            Need::Content(hash) => known.contents.contains_key(hash),
            Need::History(revision) => known.history.contains_key(revision),
            Need::NewestUndoable(actor) => known.undoable.contains_key(actor),
            Need::LaterEdit(after, subject) => known.later.contains_key(&(*after, subject.clone())),
            Need::Height(page) => known.heights.contains_key(page),
            Need::UndonePages => known.undone_pages.is_some(),
            Need::Several(needs) => needs.iter().all(|need| self.knows(need)),
        }
    }

    /// Returns the first pages under a directory, of whatever standing, as stored.
    pub(in crate::decide) fn children(
        &mut self,
        parent: &PageIndex,
        limit: Option<usize>,
    ) -> Decision<ChildList> {
        let key = (parent.clone(), limit);
        let Some(list) = self.known.children.get(&key) else {
            return Err(Halt::Need(Need::Children { parent: key.0, limit }));
        };
        self.note_list(parent, list.last);
        Ok(list.clone())
    }

    /// Returns the pages listed under a directory, in order, as this draft would leave them.
    pub(in crate::decide) fn listed_children(
        &mut self,
        parent: &PageIndex,
    ) -> Decision<Vec<Arc<Page>>> {
        let stored = self.children(parent, None)?;
        let mut children = Vec::with_capacity(stored.pages.len());
        for child in &stored.pages {
            children.extend(self.look(&child.index)?);
        }
        let arrived = self.pages.iter().filter_map(|delta| delta.after.as_ref());
        let arrived = arrived.filter(|page| page.parent.as_ref() == Some(parent));
        for page in arrived {
            if !stored.pages.iter().any(|child| child.index == page.index) {
                children.push(Arc::new(page.clone()));
            }
        }
        children.retain(|page| page.standing.is_listed() && page.parent.as_ref() == Some(parent));
        children.sort_by_key(|page| page.place);
        Ok(children)
    }

    /// Returns the largest place under a directory, of whatever standing, as this draft would leave it.
    pub(in crate::decide) fn last_place(&mut self, parent: &PageIndex) -> Decision<Option<Place>> {
        let Some(&last) = self.known.last_places.get(parent) else {
            return Err(Halt::Need(Need::LastPlace(parent.clone())));
        };
        self.note_list(parent, last);
        let here = self.pages.iter().filter_map(|delta| delta.after.as_ref());
        let here = here.filter(|page| page.parent.as_ref() == Some(parent));
        Ok(here.map(|page| page.place).max().max(last))
    }

    fn note_list(&mut self, parent: &PageIndex, last: Option<Place>) {
        if self.read_lists.insert(parent.clone()) {
            self.basis.lists.push((parent.clone(), last));
        }
    }

    /// Returns what a view says of a page, as this draft would leave it.
    pub(in crate::decide) fn entry(
        &mut self,
        view: &ViewId,
        page: &PageIndex,
    ) -> Decision<LevelEntry> {
        if let Some(&at) = self.level_at.get(&(view.clone(), page.clone())) {
            return Ok(self.levels[at].after.clone());
        }
        let key = ChunkKey::of(view, page);
        let Some(chunk) = self.known.chunks.get(&key) else {
            return Err(Halt::Need(Need::Chunks(vec![key])));
        };
        let entry = chunk.entry(page.number());
        if self.read_levels.insert((view.clone(), page.clone())) {
            self.basis.levels.push((view.clone(), page.clone(), entry.clone()));
        }
        Ok(entry)
    }

    /// Asks for all chunks that the visibility of these pages lies in, at once.
    pub(in crate::decide) fn need_levels(&self, pages: &[&PageIndex]) -> Decision {
        let views = [&self.view, &ViewId::SYSTEM];
        let keys = pages.iter().flat_map(|page| views.map(|view| ChunkKey::of(view, page)));
        self.need_chunks(keys)
    }

    /// Asks for all of these chunks at once that are not known yet.
    pub(in crate::decide) fn need_chunks(
        &self,
        keys: impl IntoIterator<Item = ChunkKey>,
    ) -> Decision {
        let missing = keys.into_iter().filter(|key| !self.known.chunks.contains_key(key));
        let missing: BTreeSet<ChunkKey> = missing.collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Halt::Need(Need::Chunks(missing.into_iter().collect())))
    }

    /// Returns how a page stands in the draft's view.
    pub(in crate::decide) fn visibility(
        &mut self,
        segment: &Segment,
        page: &Page,
    ) -> Decision<Visibility> {
        self.visibility_in(&self.view.clone(), segment, page)
    }

    /// Returns how a page stands in a view.
    pub(in crate::decide) fn visibility_in(
        &mut self,
        view: &ViewId,
        segment: &Segment,
        page: &Page,
    ) -> Decision<Visibility> {
        let root = segment.kind == SegmentKind::System && page.index.is_root();
        if root || segment.stands_in_full() {
            return Ok(Visibility::Expanded);
        }
        let own = self.entry(view, &page.index)?;
        let folded = own.fold.is_some_and(|fold| fold.cap() < Level::Full);
        if let (false, Some(shown)) = (folded, own.shown) {
            return Ok(shown);
        }
        let system = self.entry(&ViewId::SYSTEM, &page.index)?;
        // What agents are bound by, and what is pinned, never folds.
        let pinned = own.pinned.or(system.pinned).unwrap_or(false);
        if folded && !pinned && !page.is_open() && segment.kind != SegmentKind::System {
            return Ok(Visibility::Hidden);
        }
        Ok(own.shown.or(system.shown).unwrap_or(page.visibility))
    }

    /// Tells whether a run stands for a page in the draft's view.
    pub(in crate::decide) fn in_run(&mut self, segment: &Segment, page: &Page) -> Decision<bool> {
        self.in_run_of(&self.view.clone(), segment, page)
    }

    /// Tells whether a run of a view stands for a page.
    pub(in crate::decide) fn in_run_of(
        &mut self,
        view: &ViewId,
        segment: &Segment,
        page: &Page,
    ) -> Decision<bool> {
        let Some(parent) = page.parent.as_ref().filter(|_| !segment.stands_in_full()) else {
            return Ok(false);
        };
        let covered = self.entry(view, parent)?.run_over(&page.index, page.place).is_some();
        Ok(covered && !self.is_pinned_in(view, &page.index)?)
    }

    /// Tells whether a page is pinned in the draft's view, by its own word or the system side's.
    pub(in crate::decide) fn is_pinned(&mut self, page: &PageIndex) -> Decision<bool> {
        self.is_pinned_in(&self.view.clone(), page)
    }

    /// Tells whether a page is pinned in a view, by its own word or the system side's.
    pub(in crate::decide) fn is_pinned_in(
        &mut self,
        view: &ViewId,
        page: &PageIndex,
    ) -> Decision<bool> {
        Ok(match self.entry(view, page)?.pinned {
            Some(pinned) => pinned,
            None => self.entry(&ViewId::SYSTEM, page)?.pinned.unwrap_or(false),
        })
    }

    fn stored_views(&self) -> Decision<&'a [ViewHead]> {
        self.known.views.as_deref().ok_or(Halt::Need(Need::Views))
    }

    /// Returns the views that say anything of pages, as this draft would leave them.
    pub(in crate::decide) fn views(&self) -> Decision<BTreeSet<ViewId>> {
        let stored = self.stored_views()?.iter().map(|head| &head.view);
        let focused = self.focus.iter().map(|delta| &delta.view);
        Ok(stored.chain(&self.written_views).chain(focused).cloned().collect())
    }

    /// Returns a view's focus, as this draft would leave it.
    pub(in crate::decide) fn focus(&mut self, view: &ViewId) -> Decision<Option<PageIndex>> {
        if let Some(delta) = self.focus.iter().find(|delta| delta.view == *view) {
            return Ok(delta.after.clone());
        }
        let views = self.stored_views()?;
        let focus =
            views.iter().find(|head| head.view == *view).and_then(|head| head.focus.clone());
        if !self.basis.focus.iter().any(|(noted, _)| noted == view) {
            self.basis.focus.push((view.clone(), focus.clone()));
        }
        Ok(focus)
    }

    /// Returns an entry of the custom state, as this draft would leave it.
    pub(in crate::decide) fn custom(&mut self, key: &CustomKey) -> Decision<Option<String>> {
        if let Some(delta) = self.custom.iter().find(|delta| delta.key == *key) {
            return Ok(delta.after.clone());
        }
        let custom = self.known.custom.as_ref().ok_or(Halt::Need(Need::Custom))?;
        let value = custom.get(key).cloned();
        if !self.basis.custom.iter().any(|(noted, _)| noted == key) {
            self.basis.custom.push((key.clone(), value.clone()));
        }
        Ok(value)
    }

    /// Returns the caller's last page of a turn in a segment, as this draft would leave it.
    pub(in crate::decide) fn last_turn(&self, segment: &SegmentId) -> Decision<Option<Arc<Page>>> {
        let actor = &self.request.actor;
        let here = self.pages.iter().filter_map(|delta| delta.after.as_ref()).filter(|page| {
            page.index.segment() == segment
                && page.turn.is_some()
                && page.author == *actor
                && page.standing.is_listed()
        });
        if let Some(page) =
            here.filter(|page| page.place.0 >= PROVISIONAL).max_by_key(|page| page.place)
        {
            return Ok(Some(Arc::new(page.clone())));
        }
        let key = (segment.clone(), actor.clone());
        match self.known.last_turns.get(&key) {
            Some(page) => Ok(page.clone()),
            None => Err(Halt::Need(Need::LastTurn(key.0, key.1))),
        }
    }

    /// Returns the next page of its author's turns after a page, as stored.
    pub(in crate::decide) fn next_turn_page(&self, page: &Page) -> Decision<Option<Arc<Page>>> {
        let key = (page.index.segment().clone(), page.author.clone(), page.place);
        match self.known.next_turns.get(&key) {
            Some(next) => Ok(next.clone()),
            None => Err(Halt::Need(Need::NextTurn(key.0, key.1, key.2))),
        }
    }

    /// Returns a page this draft changes as it was before.
    pub(in crate::decide) fn before(&self, index: &PageIndex) -> Option<&Page> {
        self.page_at.get(index).and_then(|&at| self.pages[at].before.as_ref())
    }

    pub(in crate::decide) fn content(&self, page: &Page) -> Decision<Content> {
        let hash =
            page.detail().ok_or_else(|| Error::NotDetailPage { page: page.index.clone() })?;
        let new = self.contents.iter().find(|content| content.hash() == hash.content);
        let known = new.or_else(|| self.known.contents.get(&hash.content));
        known.cloned().ok_or(Halt::Need(Need::Content(hash.content)))
    }

    pub(in crate::decide) fn history(
        &self,
        revision: Revision,
    ) -> Decision<Option<&'a HistoryEntry>> {
        match self.known.history.get(&revision) {
            Some(entry) => Ok(entry.as_ref()),
            None => Err(Halt::Need(Need::History(revision))),
        }
    }

    pub(in crate::decide) fn newest_undoable(&self) -> Decision<Option<Revision>> {
        let actor = &self.request.actor;
        let known = self.known.undoable.get(actor);
        known.copied().ok_or_else(|| Halt::Need(Need::NewestUndoable(actor.clone())))
    }

    /// Returns the pages that undos took away, as stored.
    pub(in crate::decide) fn undone_pages(&self) -> Decision<&'a UndonePages> {
        self.known.undone_pages.as_deref().ok_or(Halt::Need(Need::UndonePages))
    }

    pub(in crate::decide) fn later_edit(
        &self,
        after: Revision,
        subject: Subject,
    ) -> Decision<Option<Revision>> {
        let key = (after, subject);
        let known = self.known.later.get(&key).copied();
        known.ok_or(Halt::Need(Need::LaterEdit(key.0, key.1)))
    }
}
