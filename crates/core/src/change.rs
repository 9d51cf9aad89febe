//! Changes: what an edit does to the storage, what it was based on, and how it is taken back.
//!
//! A [`Change`] holds the state before and after of everything it touches, so its inverse is the
//! same thing read backwards. Numbers and places of new pages are provisional until the commit settles
//! them ([`Change::assign`]); that is why appends never conflict with each other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    Actor, HistoryEntry, Operation, Page, PageIndex, Revision, Segment, SegmentId, Timestamp,
    receipt,
    storage::{
        Content, ContentHash, CustomKey, Inverse, LevelEntry, PageBefore, PageStanding, Place,
        RunPut, SegmentBefore, SessionInfo, Version, ViewId,
    },
    view::entries,
    window::FoldReport,
};

/// What an edit does to the storage.
#[derive(Debug, Clone)]
pub struct Change {
    /// What it is recorded as.
    pub operation: Operation,
    /// Who makes it.
    pub actor: Actor,
    /// In which view.
    pub view: ViewId,
    /// When.
    pub at: Timestamp,
    /// The edit it takes back, when it is an undo.
    pub undoes: Option<Revision>,
    /// Marks to set on earlier history entries: by which edit they are now undone.
    pub marks: Vec<UndoneMark>,
    /// Pages put, replaced or taken away.
    pub pages: Vec<PageDelta>,
    /// Segments put or replaced; a segment's row is never taken away.
    pub segments: Vec<SegmentDelta>,
    /// Level entries changed.
    pub levels: Vec<LevelDelta>,
    /// Focus changed.
    pub focus: Vec<FocusDelta>,
    /// Custom state changed.
    pub custom: Vec<CustomDelta>,
    /// Run records that move on with it, each at most once. They are checked like the basis and are
    /// no part of the inverse.
    pub runs: Vec<RunPut>,
    /// What it saves and costs, when it is a fold.
    pub fold: Option<FoldReport>,
    /// Content that pages of this change refer to; stored already when it was known before.
    pub contents: Vec<Content>,
    /// Runs of new numbers, one per segment at most.
    pub numbers: Vec<NumberClaim>,
    /// The run of new places.
    pub places: PlaceClaim,
    /// Numbers that a segment's counter must lie beyond.
    pub floors: Vec<(SegmentId, u64)>,
    /// The times the session has from now on, when a document that gives them fills it.
    pub times: Option<SessionTimes>,
    /// Whether pages taken away are to be scrubbed from history too.
    pub purge: bool,
    /// What a caller wants to hear of: the pages made or acted on, in order.
    pub subjects: Vec<PageIndex>,
    /// Pages that got a new index, old to new.
    pub moved: Vec<(PageIndex, PageIndex)>,
    /// What was read to decide it.
    pub basis: Basis,
}

/// When a session was made and last changed, as a document says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTimes {
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A page before and after.
#[derive(Debug, Clone)]
pub struct PageDelta {
    /// Which.
    pub index: PageIndex,
    /// As it was; none when it is new.
    pub before: Option<Page>,
    /// As it will be; none when it goes.
    pub after: Option<Page>,
    /// The edit that touched it before this one, also where that took it away.
    pub previous: Option<Revision>,
    /// The edit whose work `after` is, where an undo brings that back.
    pub restores: Option<Revision>,
}

/// A segment before and after.
#[derive(Debug, Clone)]
pub struct SegmentDelta {
    /// As it was; none when it is new.
    pub before: Option<Segment>,
    /// As it will be. Its `next_number` is not written: claims and floors advance it.
    pub after: Segment,
    /// The edit whose work `after` is, where an undo brings that back.
    pub restores: Option<Revision>,
}

/// What a view says of a page, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelDelta {
    /// Whose level state.
    pub view: ViewId,
    /// Which page.
    pub page: PageIndex,
    /// As it was.
    pub before: LevelEntry,
    /// As it will be.
    pub after: LevelEntry,
}

/// A view's focus, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FocusDelta {
    /// Whose focus.
    pub view: ViewId,
    /// As it was.
    pub before: Option<PageIndex>,
    /// As it will be.
    pub after: Option<PageIndex>,
}

/// An entry of the custom state, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomDelta {
    /// Which.
    pub key: CustomKey,
    /// As it was.
    pub before: Option<String>,
    /// As it will be.
    pub after: Option<String>,
}

/// A mark on an earlier history entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneMark {
    /// The entry.
    pub revision: Revision,
    /// What its mark was when read.
    pub before: Option<Revision>,
    /// Whether this change undoes it (or redoes it).
    pub undone: bool,
}

/// A run of numbers wanted in a segment. `first` is provisional until settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberClaim {
    /// Where.
    pub segment: SegmentId,
    /// The first number; all new pages of the segment number from here.
    pub first: u64,
    /// How many.
    pub count: u64,
}

/// A run of places wanted in the session. `first` is provisional until settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlaceClaim {
    /// The first place.
    pub first: Place,
    /// How many.
    pub count: u64,
}

/// What a change was based on. A commit conflicts when any of it has moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Basis {
    /// Versions of the pages read; none where there was no page.
    pub pages: Vec<(PageIndex, Option<Version>)>,
    /// Pages that must still be listed, under the same parent (none for a root). Where only this
    /// matters, a change of a directory's name does not get in the way of appending to it.
    pub standing: Vec<(PageIndex, Option<PageIndex>)>,
    /// Versions of the segments read; none where there was no segment.
    pub segments: Vec<(SegmentId, Option<Version>)>,
    /// Child lists enumerated: the largest place in each, of whatever standing.
    pub lists: Vec<(PageIndex, Option<Place>)>,
    /// Level entries read.
    pub levels: Vec<(ViewId, PageIndex, LevelEntry)>,
    /// Focus read.
    pub focus: Vec<(ViewId, Option<PageIndex>)>,
    /// Custom state read.
    pub custom: Vec<(CustomKey, Option<String>)>,
}

/// What the commit assigned.
#[derive(Debug, Clone)]
pub struct Assigned {
    /// The number of the state after the change.
    pub revision: Revision,
    /// The first number of each claim, in order.
    pub numbers: Vec<u64>,
    /// The first place.
    pub place: Place,
}

impl Change {
    /// Replaces provisional numbers and places by the assigned ones and stamps the revision.
    ///
    /// Every index at or beyond a claim's first number names a page this change makes: provisional
    /// numbers lie beyond all that a stored page can have.
    pub fn assign(&mut self, assigned: &Assigned) {
        for (claim, &actual) in self.numbers.iter_mut().zip(&assigned.numbers) {
            if claim.first == actual {
                continue;
            }
            let (segment, provisional) = (claim.segment.clone(), claim.first);
            claim.first = actual;
            let shift = |index: &mut PageIndex| {
                if index.number() >= provisional && *index.segment() == segment {
                    *index = PageIndex::new(segment.clone(), index.number() - provisional + actual);
                }
            };
            self.pages.iter_mut().for_each(|delta| shift_page_delta(delta, &shift));
            self.levels.iter_mut().for_each(|delta| shift(&mut delta.page));
            self.focus.iter_mut().filter_map(|delta| delta.after.as_mut()).for_each(&shift);
            self.subjects.iter_mut().for_each(&shift);
            self.custom.iter_mut().for_each(|delta| shift_open(delta, &shift));
            for (from, to) in &mut self.moved {
                shift(from);
                shift(to);
            }
        }
        let provisional = self.places.first;
        self.places.first = assigned.place;
        for page in self.pages.iter_mut().filter_map(|delta| delta.after.as_mut()) {
            if self.places.count > 0 && page.place >= provisional {
                page.place = Place(page.place.0 - provisional.0 + assigned.place.0);
            }
            page.revision = assigned.revision;
        }
        for delta in &mut self.segments {
            delta.after.revision = assigned.revision;
        }
        for put in &mut self.runs {
            receipt::settle(put, assigned.revision, &self.subjects);
        }
    }

    /// Returns the history entry of a settled change.
    pub fn history_entry(&self, revision: Revision) -> HistoryEntry {
        let mut pages = self.subjects.clone();
        let touched = self.pages.iter().map(|delta| &delta.index);
        for index in touched.chain(self.levels.iter().map(|delta| &delta.page)) {
            // Small edits name their pages in full; for large ones the inverse holds the rest.
            if pages.len() < HistoryEntry::PAGES_NAMED && !pages.contains(index) {
                pages.push(index.clone());
            }
        }
        HistoryEntry {
            revision,
            at: self.at,
            actor: self.actor.clone(),
            view: self.view.clone(),
            operation: self.operation,
            pages,
            segments: self.segments.iter().map(|delta| delta.after.id.clone()).collect(),
            undoes: self.undoes,
            undone_by: None,
            redone_by: None,
            fold: self.fold,
            inverse: self.inverse(),
        }
    }

    fn inverse(&self) -> Inverse {
        let page = |delta: &PageDelta| PageBefore {
            index: delta.index.clone(),
            before: delta.before.clone().filter(|_| !self.purge),
            after: delta.after.as_ref().map(|page| page.version),
            previous: delta.previous,
            restores: delta.restores,
            assigned: delta.assigned_content(),
            purged: self.purge,
        };
        let segment = |delta: &SegmentDelta| SegmentBefore {
            id: delta.after.id.clone(),
            before: delta.before.clone(),
            after: delta.after.version,
            restores: delta.restores,
        };
        Inverse {
            pages: self.pages.iter().map(page).collect(),
            segments: self.segments.iter().map(segment).collect(),
            levels: self.levels.clone(),
            focus: self.focus.clone(),
            custom: self.custom.clone(),
        }
    }
}

impl Change {
    /// Writes the times of the session after it to its head.
    pub fn stamp(&self, info: &mut SessionInfo) {
        info.updated_at = self.at;
        if let Some(times) = self.times {
            info.created_at = times.created_at;
            info.updated_at = times.updated_at;
        }
    }

    /// Returns the segments whose pages it changes, each once.
    pub fn touched_segments(&self) -> BTreeSet<&SegmentId> {
        self.pages.iter().map(|delta| delta.index.segment()).collect()
    }

    /// Returns the views it changes, each once. Custom state counts as the system side's, but for what
    /// is kept there of a view.
    pub fn touched_views(&self) -> BTreeSet<ViewId> {
        let custom = self.custom.iter().map(|delta| entries::view_of(&delta.key));
        let custom = custom.map(|view| view.unwrap_or(ViewId::SYSTEM));
        let levels = self.levels.iter().map(|delta| delta.view.clone());
        let focus = self.focus.iter().map(|delta| delta.view.clone());
        levels.chain(focus).chain(custom).collect()
    }
}

impl PageDelta {
    /// Returns the content that this delta newly gives the page: one reference to be counted.
    pub fn assigned_content(&self) -> Option<ContentHash> {
        let content = |page: &Option<Page>| page.as_ref()?.detail().map(|detail| detail.content);
        let after = content(&self.after)?;
        (content(&self.before) != Some(after)).then_some(after)
    }
}

/// Replaces the provisional number of the page that an entry of an open exchange names.
fn shift_open(delta: &mut CustomDelta, shift: &impl Fn(&mut PageIndex)) {
    let Some(page) = delta.after.as_mut().filter(|_| entries::is_open_key(&delta.key)) else {
        return;
    };
    if let Ok(mut index) = page.parse::<PageIndex>() {
        shift(&mut index);
        *page = index.to_string();
    }
}

fn shift_page_delta(delta: &mut PageDelta, shift: &impl Fn(&mut PageIndex)) {
    if delta.before.is_none() {
        shift(&mut delta.index);
    }
    let Some(page) = &mut delta.after else { return };
    shift(&mut page.index);
    page.parent.iter_mut().for_each(shift);
    page.turn.iter_mut().for_each(shift);
    page.sources.iter_mut().for_each(shift);
    if let PageStanding::Moved(to) = &mut page.standing {
        shift(to);
    }
}
