//! One session in memory: what it holds, and how a commit is checked and written.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use super::ledgers::Ledgers;
use crate::{
    Actor, HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId,
    storage::{
        Assigned, Basis, Change, ChunkKey, ContentHash, CustomKey, LevelChunk, Mark, NewSession,
        Place, RunKey, RunPut, RunRecord, SessionInfo, StorageError, StorageResult, ViewId,
        commit_plan::Positions,
    },
};

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) info: SessionInfo,
    pub(super) segments: BTreeMap<SegmentId, Segment>,
    pub(super) pages: BTreeMap<PageIndex, Page>,
    /// Every page with a parent, by parent and place.
    pub(super) children: BTreeSet<(PageIndex, Place, PageIndex)>,
    /// Every listed page of a turn, by segment, author and place.
    pub(super) turns: BTreeMap<(SegmentId, Actor, Place), PageIndex>,
    pub(super) levels: BTreeMap<ChunkKey, LevelChunk>,
    pub(super) focus: BTreeMap<ViewId, PageIndex>,
    pub(super) custom: BTreeMap<CustomKey, String>,
    pub(super) runs: BTreeMap<RunKey, RunRecord>,
    pub(super) history: BTreeMap<Revision, HistoryEntry>,
    /// The edits that last changed each view.
    pub(super) views: BTreeMap<ViewId, Revision>,
    pub(super) ledgers: Ledgers,
}

impl Session {
    pub(super) fn new(id: &SessionId, new: NewSession) -> Self {
        let info = SessionInfo {
            id: id.clone(),
            app: new.app,
            revision: Revision(0),
            next_place: Place(1),
            created_at: new.at,
            updated_at: new.at,
            mark: new.mark.unwrap_or_else(|| Mark::of_session(id, new.at)),
        };
        Self {
            info,
            segments: BTreeMap::new(),
            pages: BTreeMap::new(),
            children: BTreeSet::new(),
            turns: BTreeMap::new(),
            levels: BTreeMap::new(),
            focus: BTreeMap::new(),
            custom: BTreeMap::new(),
            runs: BTreeMap::new(),
            history: BTreeMap::new(),
            views: BTreeMap::new(),
            ledgers: Ledgers::default(),
        }
    }

    /// Returns the contents that its history refers to, once for each reference.
    pub(super) fn references(&self) -> Vec<ContentHash> {
        let pages = self.history.values().flat_map(|entry| &entry.inverse.pages);
        pages.filter_map(|before| before.assigned).collect()
    }

    pub(super) fn under(&self, parent: &PageIndex) -> impl DoubleEndedIterator<Item = &Page> {
        let nowhere: PageIndex = PageIndex::new(parent.segment().clone(), 0);
        let from = (parent.clone(), Place(0), nowhere.clone());
        let to = (parent.clone(), Place(u64::MAX), nowhere);
        self.children.range(from..to).filter_map(|(_, _, index)| self.pages.get(index))
    }

    /// Returns the listed pages beyond a place that belong to turns of an author, in order.
    pub(super) fn turn_pages(
        &self,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> impl DoubleEndedIterator<Item = &Page> {
        let key = |place| (segment.clone(), author.clone(), place);
        let places = (Bound::Excluded(key(after)), Bound::Included(key(Place(u64::MAX))));
        self.turns.range(places).filter_map(|(_, index)| self.pages.get(index))
    }

    pub(super) fn check(&self, change: &Change) -> StorageResult<()> {
        change.runs.iter().try_for_each(|put| self.check_run(put))?;
        let basis: &Basis = &change.basis;
        let moved = |subject: String| Err(StorageError::Conflict { subject });
        for (index, version) in &basis.pages {
            if self.pages.get(index).map(|page| page.version) != *version {
                return moved(format!("page {index}"));
            }
        }
        for (index, parent) in &basis.standing {
            let stands = |page: &Page| page.standing.is_listed() && page.parent == *parent;
            if !self.pages.get(index).is_some_and(stands) {
                return moved(format!("the place of page {index}"));
            }
        }
        for (id, version) in &basis.segments {
            if self.segments.get(id).map(|segment| segment.version) != *version {
                return moved(format!("segment {id}"));
            }
        }
        for (parent, last) in &basis.lists {
            if self.under(parent).next_back().map(|page| page.place) != *last {
                return moved(format!("the list of pages in {parent}"));
            }
        }
        for (view, page, entry) in &basis.levels {
            let chunk = self.levels.get(&ChunkKey::of(view, page));
            if chunk.map(|chunk| chunk.entry(page.number())).unwrap_or_default() != *entry {
                return moved(format!("the level of {page} in view {view}"));
            }
        }
        for (view, focus) in &basis.focus {
            if self.focus.get(view) != focus.as_ref() {
                return moved(format!("the focus of view {view}"));
            }
        }
        for (key, value) in &basis.custom {
            if self.custom.get(key) != value.as_ref() {
                return moved(format!("custom state '{key}'"));
            }
        }
        for mark in &change.marks {
            if self.history.get(&mark.revision).and_then(|entry| entry.undone_by) != mark.before {
                return moved(format!("revision {}", mark.revision));
            }
        }
        Ok(())
    }

    pub(super) fn check_run(&self, put: &RunPut) -> StorageResult<()> {
        if self.runs.get(&put.key).map(|record| record.version) == put.expect {
            return Ok(());
        }
        Err(StorageError::RunMoved { key: put.key.clone() })
    }

    pub(super) fn keep_run(&mut self, put: &RunPut) {
        match put.record() {
            Some(record) => self.runs.insert(put.key.clone(), record),
            None => self.runs.remove(&put.key),
        };
    }

    pub(super) fn assign(&mut self, change: &Change) -> Assigned {
        let revision = self.info.revision.next();
        self.info.revision = revision;
        change.stamp(&mut self.info);
        let place = self.info.next_place;
        self.info.next_place = Place(place.0 + change.places.count);
        self.write_segments(change, revision);
        let mut numbers = Vec::with_capacity(change.numbers.len());
        for claim in &change.numbers {
            let segment = self.segments.get_mut(&claim.segment);
            let segment = segment.expect("a claim names a segment that was read or is being added");
            numbers.push(segment.next_number);
            segment.next_number += claim.count;
        }
        for id in change.touched_segments() {
            if let Some(segment) = self.segments.get_mut(id) {
                segment.touched = revision;
            }
        }
        for view in change.touched_views() {
            self.views.insert(view, revision);
        }
        Assigned { revision, numbers, place }
    }

    /// Segments come first: claims may be on one that this very change adds.
    pub(super) fn write_segments(&mut self, change: &Change, revision: Revision) {
        for delta in &change.segments {
            let mut after = Segment { revision, ..delta.after.clone() };
            if let Some(stored) = self.segments.get(&after.id) {
                after.next_number = stored.next_number;
                after.touched = stored.touched;
            }
            self.segments.insert(after.id.clone(), after);
        }
        for (id, floor) in &change.floors {
            if let Some(segment) = self.segments.get_mut(id) {
                segment.next_number = segment.next_number.max(*floor);
            }
        }
    }

    pub(super) fn write(&mut self, change: &Change) {
        for delta in &change.pages {
            self.put_page(&delta.index, delta.after.clone());
        }
        for delta in &change.levels {
            let key = ChunkKey::of(&delta.view, &delta.page);
            let chunk = self.levels.entry(key.clone()).or_default();
            chunk.set(delta.page.number(), delta.after.clone());
            if chunk.is_empty() {
                self.levels.remove(&key);
            }
        }
        for delta in &change.focus {
            match &delta.after {
                Some(page) => self.focus.insert(delta.view.clone(), page.clone()),
                None => self.focus.remove(&delta.view),
            };
        }
        for delta in &change.custom {
            match &delta.after {
                Some(value) => self.custom.insert(delta.key.clone(), value.clone()),
                None => self.custom.remove(&delta.key),
            };
        }
        change.runs.iter().for_each(|put| self.keep_run(put));
    }

    pub(super) fn put_page(&mut self, index: &PageIndex, after: Option<Page>) {
        let link = |page: &Page| {
            page.parent.clone().map(|parent| (parent, page.place, page.index.clone()))
        };
        let turn = |page: &Page| {
            let listed = page.turn.is_some() && page.standing.is_listed();
            listed.then(|| (page.index.segment().clone(), page.author.clone(), page.place))
        };
        if let Some(old) = self.pages.remove(index) {
            if let Some(link) = link(&old) {
                self.children.remove(&link);
            }
            if let Some(turn) = turn(&old) {
                self.turns.remove(&turn);
            }
        }
        if let Some(page) = after {
            self.children.extend(link(&page));
            self.turns.extend(turn(&page).map(|turn| (turn, page.index.clone())));
            self.pages.insert(index.clone(), page);
        }
    }

    /// Follows each purged page through history and scrubs it; returns the content references freed.
    pub(super) fn scrub(&mut self, change: &Change) -> Vec<ContentHash> {
        self.ledgers.scrub();
        let mut freed = Vec::new();
        let mut positions = Positions::default();
        for delta in &change.pages {
            let mut next = delta.previous;
            while let Some(revision) = next {
                let Some(entry) = self.history.get_mut(&revision) else { break };
                let Some(position) = positions.of(entry, &delta.index) else { break };
                let before = &mut entry.inverse.pages[position];
                next = before.previous;
                freed.extend(before.scrub());
            }
        }
        freed
    }
}
