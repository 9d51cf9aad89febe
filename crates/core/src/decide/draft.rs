//! A change in the making: reads note what they saw, writes lie over what is known.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{ChildList, Decision, Halt, Known, Need, Request, Subject};
use crate::{
    Basis, Change, ChunkKey, Content, CustomDelta, CustomKey, Error, FocusDelta, HistoryEntry,
    LevelDelta, LevelEntry, NumberClaim, Operation, Page, PageDelta, PageIndex, Place, PlaceClaim,
    Revision, Segment, SegmentDelta, SegmentId, SegmentKind, Standing, UndoneMark, Version, View,
    ViewId, Visibility, permission,
};

/// Numbers and places from here on are provisional: the commit assigns the real ones. No stored page
/// has such a number.
pub(crate) const PROVISIONAL: u64 = 1 << 63;

/// How often a page is followed that moved from segment to segment.
pub(crate) const MOST_MOVES: usize = 1_000;

/// A change in the making.
#[derive(Debug)]
pub struct Draft<'a> {
    pub(super) request: &'a Request<'a>,
    known: &'a Known,
    pub(super) view: ViewId,
    pages: Vec<PageDelta>,
    page_at: HashMap<PageIndex, usize>,
    segments: Vec<SegmentDelta>,
    levels: Vec<LevelDelta>,
    level_at: HashMap<(ViewId, PageIndex), usize>,
    focus: Vec<FocusDelta>,
    custom: Vec<CustomDelta>,
    pub(super) contents: Vec<Content>,
    numbers: Vec<NumberClaim>,
    places: PlaceClaim,
    pub(super) floors: Vec<(SegmentId, u64)>,
    pub(super) subjects: Vec<PageIndex>,
    pub(super) moved: Vec<(PageIndex, PageIndex)>,
    pub(super) undoes: Option<Revision>,
    pub(super) marks: Vec<UndoneMark>,
    pub(super) purge: bool,
    basis: Basis,
    read_pages: HashSet<PageIndex>,
    read_standing: HashSet<PageIndex>,
    read_segments: HashSet<SegmentId>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(request: &'a Request<'a>, known: &'a Known) -> Self {
        Self {
            request,
            known,
            view: request.view.clone(),
            pages: Vec::new(),
            page_at: HashMap::new(),
            segments: Vec::new(),
            levels: Vec::new(),
            level_at: HashMap::new(),
            focus: Vec::new(),
            custom: Vec::new(),
            contents: Vec::new(),
            numbers: Vec::new(),
            places: PlaceClaim { first: Place(PROVISIONAL), count: 0 },
            floors: Vec::new(),
            subjects: Vec::new(),
            moved: Vec::new(),
            undoes: None,
            marks: Vec::new(),
            purge: false,
            basis: Basis::default(),
            read_pages: HashSet::new(),
            read_standing: HashSet::new(),
            read_segments: HashSet::new(),
        }
    }

    pub(super) fn finish(self, operation: Operation) -> Change {
        Change {
            operation,
            actor: self.request.actor.clone(),
            view: self.view,
            at: self.request.at,
            undoes: self.undoes,
            marks: self.marks,
            pages: self.pages,
            segments: self.segments,
            levels: self.levels,
            focus: self.focus,
            custom: self.custom,
            contents: self.contents,
            numbers: self.numbers,
            places: self.places,
            floors: self.floors,
            purge: self.purge,
            subjects: self.subjects,
            moved: self.moved,
            basis: self.basis,
        }
    }

    // --- reading -------------------------------------------------------------------------------

    /// Returns a page of whatever standing, as this draft would leave it; its version is noted.
    pub(super) fn page(&mut self, index: &PageIndex) -> Decision<Option<Arc<Page>>> {
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

    fn look(&self, index: &PageIndex) -> Decision<Option<Arc<Page>>> {
        if let Some(&at) = self.page_at.get(index) {
            return Ok(self.pages[at].after.clone().map(Arc::new));
        }
        let known = self.known.pages.get(index);
        known.cloned().ok_or_else(|| Halt::Need(Need::Lineage(index.clone())))
    }

    /// Returns a segment that is not removed, if the caller sees it.
    pub(super) fn segment(&mut self, id: &SegmentId) -> Decision<Option<Segment>> {
        let segment = self.any_segment(id);
        Ok(segment.filter(|segment| {
            !segment.removed && self.request.guard.is_none_or(|view| view.mounts(segment))
        }))
    }

    /// Returns a segment, removed or not, if the caller sees it or would see it.
    pub(super) fn seen_segment(&mut self, id: &SegmentId) -> Option<Segment> {
        let segment = self.any_segment(id)?;
        let present = Segment { removed: false, ..segment.clone() };
        self.request.guard.is_none_or(|view| view.mounts(&present)).then_some(segment)
    }

    /// Returns a segment, removed or not, seen or not.
    pub(super) fn any_segment(&mut self, id: &SegmentId) -> Option<Segment> {
        if let Some(delta) = self.segments.iter().rfind(|delta| delta.after.id == *id) {
            return Some(delta.after.clone());
        }
        let segment = self.known.segments.get(id);
        if self.read_segments.insert(id.clone()) {
            self.basis.segments.push((id.clone(), segment.map(|segment| segment.version)));
        }
        segment.map(|segment| (**segment).clone())
    }

    /// Tells whether a page is what agents are bound by and so always expanded (C04).
    pub(super) fn is_system_root(&mut self, page: &PageIndex) -> bool {
        let segment = self.any_segment(page.segment());
        page.is_root() && segment.is_some_and(|segment| segment.kind == SegmentKind::System)
    }

    pub(super) fn next_ordinal(&self) -> u64 {
        let known = self.known.segments.all().map(|segment| segment.ordinal);
        let new = self.segments.iter().map(|delta| delta.after.ordinal);
        known.chain(new).max().map_or(0, |last| last + 1)
    }

    pub(super) fn session_is_empty(&self) -> bool {
        self.known.segments.all().next().is_none() && self.segments.is_empty()
    }

    /// Returns a segment the caller sees, or the error that says there is none.
    pub(super) fn require_segment(&mut self, id: &SegmentId) -> Decision<Segment> {
        let missing = || Error::SegmentNotFound { segment: id.clone() };
        self.segment(id)?.ok_or_else(|| missing().into())
    }

    /// Returns a page in the tree with its ancestors, nearest first, if the caller sees it.
    pub(super) fn lineage(&mut self, index: &PageIndex) -> Decision<Lineage> {
        let missing = || Halt::from(Error::PageNotFound { page: index.clone() });
        let Some(segment) = self.segment(index.segment())? else {
            return Err(self.moved_away(index)?.unwrap_or_else(missing));
        };
        let Some(page) = self.standing_page(index)? else { return Err(missing()) };
        match &page.standing {
            Standing::InTree | Standing::HotArchived => {}
            Standing::ColdArchived => {
                return Err(Error::PageArchived { page: index.clone() }.into());
            }
            Standing::Moved(_) => return Err(self.moved_away(index)?.unwrap_or_else(missing)),
        }
        let ancestors = self.ancestors(&page)?;
        if ancestors.iter().any(|ancestor| !ancestor.standing.is_listed()) {
            return Err(Error::PageArchived { page: index.clone() }.into());
        }
        Ok(Lineage { segment, page, ancestors })
    }

    /// Returns the ancestors that exist, nearest first.
    pub(super) fn ancestors(&mut self, page: &Page) -> Decision<Vec<Arc<Page>>> {
        let mut ancestors: Vec<Arc<Page>> = Vec::new();
        let mut walked = HashSet::new();
        let mut next = page.parent.clone();
        while let Some(index) = next {
            let Some(ancestor) = self.standing_page(&index)? else { break };
            // Undo may have tied a knot that is yet to be noticed.
            if !walked.insert(index) {
                break;
            }
            next = ancestor.parent.clone();
            ancestors.push(ancestor);
        }
        Ok(ancestors)
    }

    /// Returns the error that says where a retired page went, if the caller sees that place.
    fn moved_away(&mut self, index: &PageIndex) -> Decision<Option<Halt>> {
        let mut target: Option<PageIndex> = None;
        let mut next = self.page(index)?;
        for _ in 0..MOST_MOVES {
            let Some(Standing::Moved(to)) = next.as_ref().map(|page| &page.standing) else { break };
            target = Some(to.clone());
            next = self.page(to)?;
        }
        let Some(to) = target else { return Ok(None) };
        let seen = self.segment(to.segment())?.is_some();
        Ok(seen.then(|| Error::PageMoved { page: index.clone(), to }.into()))
    }

    /// Returns a page in the tree on which the caller may do the operation.
    pub(super) fn allowed(&mut self, index: &PageIndex, operation: Operation) -> Decision<Lineage> {
        let lineage = self.lineage(index)?;
        self.check(&lineage.segment, index, operation)?;
        Ok(lineage)
    }

    /// Checks an operation on a page for an agent; the system side is not checked.
    pub(super) fn check(
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

    pub(super) fn guard(&self) -> Option<&'a View> {
        self.request.guard
    }

    /// Refuses agents what belongs to the system side alone.
    pub(super) fn system_side_only(&self, operation: Operation) -> Decision {
        match self.request.guard {
            None => Ok(()),
            Some(_) => {
                Err(Error::SystemSideOnly { what: format!("operation '{operation}'") }.into())
            }
        }
    }

    /// Returns the first pages under a directory, of whatever standing, as stored.
    pub(super) fn children(
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
    pub(super) fn listed_children(&mut self, parent: &PageIndex) -> Decision<Vec<Arc<Page>>> {
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
    pub(super) fn last_place(&mut self, parent: &PageIndex) -> Decision<Option<Place>> {
        let Some(&last) = self.known.last_places.get(parent) else {
            return Err(Halt::Need(Need::LastPlace(parent.clone())));
        };
        self.note_list(parent, last);
        let here = self.pages.iter().filter_map(|delta| delta.after.as_ref());
        let here = here.filter(|page| page.parent.as_ref() == Some(parent));
        Ok(here.map(|page| page.place).max().max(last))
    }

    fn note_list(&mut self, parent: &PageIndex, last: Option<Place>) {
        if !self.basis.lists.iter().any(|(noted, _)| noted == parent) {
            self.basis.lists.push((parent.clone(), last));
        }
    }

    /// Returns what a view says of a page, as this draft would leave it.
    pub(super) fn entry(&mut self, view: &ViewId, page: &PageIndex) -> Decision<LevelEntry> {
        if let Some(&at) = self.level_at.get(&(view.clone(), page.clone())) {
            return Ok(self.levels[at].after);
        }
        let key = ChunkKey::of(view, page);
        let Some(chunk) = self.known.chunks.get(&key) else {
            return Err(Halt::Need(Need::Chunks(vec![key])));
        };
        let entry = chunk.entry(page.number());
        let noted = |(v, p, _): &(ViewId, PageIndex, LevelEntry)| v == view && p == page;
        if !self.basis.levels.iter().any(noted) {
            self.basis.levels.push((view.clone(), page.clone(), entry));
        }
        Ok(entry)
    }

    /// Asks for all chunks that the visibility of these pages lies in, at once.
    pub(super) fn need_levels(&self, pages: &[&PageIndex]) -> Decision {
        let views = [&self.view, &ViewId::SYSTEM];
        let keys = pages.iter().flat_map(|page| views.map(|view| ChunkKey::of(view, page)));
        let missing: Vec<ChunkKey> =
            keys.filter(|key| !self.known.chunks.contains_key(key)).collect();
        if missing.is_empty() { Ok(()) } else { Err(Halt::Need(Need::Chunks(missing))) }
    }

    /// Returns how a page stands in the draft's view.
    pub(super) fn visibility(&mut self, segment: &Segment, page: &Page) -> Decision<Visibility> {
        if segment.kind == SegmentKind::System && page.index.is_root() {
            return Ok(Visibility::Expanded);
        }
        let view = self.view.clone();
        if let Some(shown) = self.entry(&view, &page.index)?.shown {
            return Ok(shown);
        }
        let system = self.entry(&ViewId::SYSTEM, &page.index)?;
        Ok(system.shown.unwrap_or(page.visibility))
    }

    fn stored_views(&self) -> Decision<&'a [(ViewId, Option<PageIndex>)]> {
        self.known.views.as_deref().ok_or(Halt::Need(Need::Views))
    }

    /// Returns the views that say anything of pages, as this draft would leave them.
    pub(super) fn views(&self) -> Decision<BTreeSet<ViewId>> {
        let stored = self.stored_views()?.iter().map(|(view, _)| view);
        let written = self.levels.iter().map(|delta| &delta.view);
        let focused = self.focus.iter().map(|delta| &delta.view);
        Ok(stored.chain(written).chain(focused).cloned().collect())
    }

    /// Returns a view's focus, as this draft would leave it.
    pub(super) fn focus(&mut self, view: &ViewId) -> Decision<Option<PageIndex>> {
        if let Some(delta) = self.focus.iter().find(|delta| delta.view == *view) {
            return Ok(delta.after.clone());
        }
        let views = self.stored_views()?;
        let focus = views.iter().find(|(id, _)| id == view).and_then(|(_, focus)| focus.clone());
        if !self.basis.focus.iter().any(|(noted, _)| noted == view) {
            self.basis.focus.push((view.clone(), focus.clone()));
        }
        Ok(focus)
    }

    /// Returns an entry of the custom state, as this draft would leave it.
    pub(super) fn custom(&mut self, key: &CustomKey) -> Decision<Option<String>> {
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
    pub(super) fn last_turn(&self, segment: &SegmentId) -> Decision<Option<Arc<Page>>> {
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
    pub(super) fn next_turn_page(&self, page: &Page) -> Decision<Option<Arc<Page>>> {
        let key = (page.index.segment().clone(), page.author.clone(), page.place);
        match self.known.next_turns.get(&key) {
            Some(next) => Ok(next.clone()),
            None => Err(Halt::Need(Need::NextTurn(key.0, key.1, key.2))),
        }
    }

    /// Returns a page this draft changes as it was before.
    pub(super) fn before(&self, index: &PageIndex) -> Option<&Page> {
        self.page_at.get(index).and_then(|&at| self.pages[at].before.as_ref())
    }

    pub(super) fn content(&self, page: &Page) -> Decision<Content> {
        let hash =
            page.detail().ok_or_else(|| Error::NotDetailPage { page: page.index.clone() })?;
        let new = self.contents.iter().find(|content| content.hash() == hash.content);
        let known = new.or_else(|| self.known.contents.get(&hash.content));
        known.cloned().ok_or(Halt::Need(Need::Content(hash.content)))
    }

    pub(super) fn history(&self, revision: Revision) -> Decision<Option<&'a HistoryEntry>> {
        match self.known.history.get(&revision) {
            Some(entry) => Ok(entry.as_ref()),
            None => Err(Halt::Need(Need::History(revision))),
        }
    }

    pub(super) fn newest_undoable(&self) -> Decision<Option<Revision>> {
        let actor = &self.request.actor;
        let known = self.known.undoable.get(actor);
        known.copied().ok_or_else(|| Halt::Need(Need::NewestUndoable(actor.clone())))
    }

    pub(super) fn later_edit(
        &self,
        after: Revision,
        subject: Subject,
    ) -> Decision<Option<Revision>> {
        let key = (after, subject);
        let known = self.known.later.get(&key).copied();
        known.ok_or(Halt::Need(Need::LaterEdit(key.0, key.1)))
    }

    // --- writing -------------------------------------------------------------------------------

    /// Returns the index a new page of the segment gets, and the place after all others.
    pub(super) fn claim(&mut self, segment: &Segment) -> (PageIndex, Place) {
        let at = self.numbers.iter().position(|claim| claim.segment == segment.id);
        let at = at.unwrap_or_else(|| {
            let segment = segment.id.clone();
            self.numbers.push(NumberClaim { segment, first: PROVISIONAL, count: 0 });
            self.numbers.len() - 1
        });
        let claim = &mut self.numbers[at];
        let number = claim.first + claim.count;
        claim.count += 1;
        (PageIndex::new(segment.id.clone(), number), self.claim_place())
    }

    /// Returns the place after all others.
    pub(super) fn claim_place(&mut self) -> Place {
        let place = Place(self.places.first.0 + self.places.count);
        self.places.count += 1;
        place
    }

    /// Puts a page that changes: its version goes up and its time is now.
    pub(super) fn change_page(&mut self, mut page: Page) -> Decision {
        page.version = self.page(&page.index)?.map_or(Version(1), |old| old.version.next());
        page.updated_at = self.request.at;
        self.put_page(page.index.clone(), Some(page), None)
    }

    /// Puts a page as it is, or takes it away. `previous` is given where its last edit took it away.
    pub(super) fn put_page(
        &mut self,
        index: PageIndex,
        after: Option<Page>,
        previous: Option<Revision>,
    ) -> Decision {
        if let Some(&at) = self.page_at.get(&index) {
            self.pages[at].after = after;
            return Ok(());
        }
        let is_new = index.number() >= PROVISIONAL;
        let before = if is_new { None } else { self.page(&index)?.map(|page| (*page).clone()) };
        let previous = before.as_ref().map(|page| page.revision).or(previous);
        self.page_at.insert(index.clone(), self.pages.len());
        self.pages.push(PageDelta { index, before, after, previous, restores: None });
        Ok(())
    }

    /// Puts a page into a session that holds none, where there is nothing to look at before.
    pub(super) fn put_first_page(&mut self, page: Page) {
        let index = page.index.clone();
        self.page_at.insert(index.clone(), self.pages.len());
        let (before, previous, restores) = (None, None, None);
        self.pages.push(PageDelta { index, before, after: Some(page), previous, restores });
    }

    /// Puts a segment that changes: its version goes up and its time is now.
    pub(super) fn change_segment(&mut self, mut segment: Segment) {
        let before = self.any_segment(&segment.id);
        segment.version = before.as_ref().map_or(Version(1), |before| before.version.next());
        segment.updated_at = self.request.at;
        let made_here = self.segments.iter_mut().find(|delta| delta.after.id == segment.id);
        match made_here {
            Some(delta) => delta.after = segment,
            None => self.segments.push(SegmentDelta { before, after: segment, restores: None }),
        }
    }

    /// Notes that a page was given back the state an edit had left it in.
    pub(super) fn note_restored_page(&mut self, index: &PageIndex, left_by: Option<Revision>) {
        if let Some(&at) = self.page_at.get(index) {
            self.pages[at].restores = left_by;
        }
    }

    /// Notes that a segment was given back the state an edit had left it in.
    pub(super) fn note_restored_segment(&mut self, id: &SegmentId, left_by: Option<Revision>) {
        if let Some(delta) = self.segments.iter_mut().find(|delta| delta.after.id == *id) {
            delta.restores = left_by;
        }
    }

    /// Sets what a view says of a page.
    pub(super) fn set_entry(
        &mut self,
        view: &ViewId,
        page: &PageIndex,
        after: LevelEntry,
    ) -> Decision {
        let before = self.entry(view, page)?;
        self.put_level(LevelDelta { view: view.clone(), page: page.clone(), before, after });
        Ok(())
    }

    /// Sets what a view says of a page this draft makes.
    pub(super) fn set_new_entry(&mut self, view: &ViewId, page: &PageIndex, after: LevelEntry) {
        let before = LevelEntry::default();
        self.put_level(LevelDelta { view: view.clone(), page: page.clone(), before, after });
    }

    fn put_level(&mut self, delta: LevelDelta) {
        let key = (delta.view.clone(), delta.page.clone());
        if let Some(&at) = self.level_at.get(&key) {
            self.levels[at].after = delta.after;
            return;
        }
        self.level_at.insert(key, self.levels.len());
        self.levels.push(delta);
    }

    pub(super) fn set_focus(&mut self, view: &ViewId, after: Option<PageIndex>) -> Decision {
        let before = self.focus(view)?;
        match self.focus.iter_mut().find(|delta| delta.view == *view) {
            Some(delta) => delta.after = after,
            None => self.focus.push(FocusDelta { view: view.clone(), before, after }),
        }
        Ok(())
    }

    pub(super) fn set_custom(&mut self, key: &CustomKey, after: Option<String>) -> Decision {
        let before = self.custom(key)?;
        match self.custom.iter_mut().find(|delta| delta.key == *key) {
            Some(delta) => delta.after = after,
            None => self.custom.push(CustomDelta { key: key.clone(), before, after }),
        }
        Ok(())
    }

    /// Returns the pages this draft takes out from under a directory.
    pub(super) fn left(&self, parent: &PageIndex) -> usize {
        let under = |page: &Option<Page>| {
            page.as_ref().and_then(|page| page.parent.as_ref()) == Some(parent)
        };
        self.pages.iter().filter(|delta| under(&delta.before) && !under(&delta.after)).count()
    }
}

/// A page in the tree with where it hangs.
#[derive(Debug)]
pub(super) struct Lineage {
    pub(super) segment: Segment,
    pub(super) page: Arc<Page>,
    pub(super) ancestors: Vec<Arc<Page>>,
}

impl Lineage {
    /// Refuses roots, which live and die with their segment.
    pub(super) fn not_a_root(self, verb: &'static str) -> Decision<Self> {
        if self.page.index.is_root() {
            return Err(Error::Root { page: self.page.index.clone(), verb }.into());
        }
        Ok(self)
    }

    /// Refuses leaves.
    pub(super) fn directory(self) -> Decision<Self> {
        if !self.page.is_contents() {
            return Err(Error::NotContentsPage { page: self.page.index.clone() }.into());
        }
        Ok(self)
    }
}
