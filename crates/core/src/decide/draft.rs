//! A change in the making: reads note what they saw, writes lie over what is known.

mod depth;
mod filtered;
mod reading;
mod whole;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use super::{Decision, EditRequest, Known};
use crate::{
    Error, Operation, Page, PageIndex, Revision, Segment, SegmentId,
    storage::{
        Basis, Change, Content, CustomDelta, CustomKey, FocusDelta, LevelDelta, LevelEntry,
        NumberClaim, PageDelta, Place, PlaceClaim, SegmentDelta, SessionTimes, UndoneMark, Version,
        ViewId,
    },
    window::FoldReport,
};

/// Numbers and places from here on are provisional: the commit assigns the real ones. No stored page
/// has such a number.
pub(crate) const PROVISIONAL: u64 = 1 << 63;

/// How often a page is followed that moved from segment to segment.
pub(crate) const MOST_MOVES: usize = 1_000;

/// A change in the making.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(super) request: &'a EditRequest<'a>,
    known: &'a Known,
    pub(super) view: ViewId,
    pages: Vec<PageDelta>,
    page_at: HashMap<PageIndex, usize>,
    segments: Vec<SegmentDelta>,
    levels: Vec<LevelDelta>,
    level_at: HashMap<(ViewId, PageIndex), usize>,
    focus: Vec<FocusDelta>,
    custom: Vec<CustomDelta>,
    pub(super) fold: Option<FoldReport>,
    pub(super) contents: Vec<Content>,
    numbers: Vec<NumberClaim>,
    places: PlaceClaim,
    pub(super) floors: Vec<(SegmentId, u64)>,
    pub(super) times: Option<SessionTimes>,
    pub(super) subjects: Vec<PageIndex>,
    pub(super) moved: Vec<(PageIndex, PageIndex)>,
    pub(super) undoes: Option<Revision>,
    pub(super) marks: Vec<UndoneMark>,
    pub(super) purge: bool,
    basis: Basis,
    read_pages: HashSet<PageIndex>,
    read_standing: HashSet<PageIndex>,
    read_segments: HashSet<SegmentId>,
    read_levels: HashSet<(ViewId, PageIndex)>,
    read_lists: HashSet<PageIndex>,
    /// The views of which it says anything.
    written_views: BTreeSet<ViewId>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(request: &'a EditRequest<'a>, known: &'a Known) -> Self {
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
            fold: None,
            contents: Vec::new(),
            numbers: Vec::new(),
            places: PlaceClaim { first: Place(PROVISIONAL), count: 0 },
            floors: Vec::new(),
            times: None,
            subjects: Vec::new(),
            moved: Vec::new(),
            undoes: None,
            marks: Vec::new(),
            purge: false,
            basis: Basis::default(),
            read_pages: HashSet::new(),
            read_standing: HashSet::new(),
            read_segments: HashSet::new(),
            read_levels: HashSet::new(),
            read_lists: HashSet::new(),
            written_views: BTreeSet::new(),
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
            runs: Vec::new(),
            fold: self.fold,
            contents: self.contents,
            numbers: self.numbers,
            places: self.places,
            floors: self.floors,
            times: self.times,
            purge: self.purge,
            subjects: self.subjects,
            moved: self.moved,
            basis: self.basis,
        }
    }

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

    /// Puts a segment into a session that holds none, as it is.
    pub(super) fn put_first_segment(&mut self, segment: Segment) {
        let before = self.any_segment(&segment.id);
        self.segments.push(SegmentDelta { before, after: segment, restores: None });
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
        if !self.written_views.contains(&delta.view) {
            self.written_views.insert(delta.view.clone());
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

    /// Counts the pages this draft takes out from under each directory.
    pub(super) fn leaving(&self) -> HashMap<PageIndex, usize> {
        let mut leaving: HashMap<PageIndex, usize> = HashMap::new();
        for PageDelta { before, after, .. } in &self.pages {
            let stood = before.as_ref().and_then(|page| page.parent.as_ref());
            let stands = after.as_ref().and_then(|page| page.parent.as_ref());
            if let Some(parent) = stood.filter(|_| stood != stands) {
                *leaving.entry(parent.clone()).or_default() += 1;
            }
        }
        leaving
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
