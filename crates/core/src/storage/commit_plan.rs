//! How a commit is decided, for storages that read first, decide, and then write.
//!
//! ```text
//! CommitReads::of(change) ──► the storage reads ──► CommitState ──► plan_commit ──► CommitWrites
//!                                    ▲                   │                  the storage writes it
//!                                    └─────── unread ────┘
//! ```
//!
//! Nothing here waits: the storage sees to it that what it read cannot move before it has written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Commit, Committed, SessionInfo, StorageError, StorageResult};
use crate::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId,
    storage::{
        Assigned, Change, ChunkKey, ContentHash, CustomKey, LevelChunk, LevelDelta, Mark,
        PageDelta, Place, RunKey, RunPut, RunRecord, ViewId,
    },
};

/// The largest number, place or revision: what every database can hold.
pub const MOST: u64 = i64::MAX as u64;

/// What must be read before a change can be settled. The session's head is always wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitReads {
    /// Pages.
    pub pages: BTreeSet<PageIndex>,
    /// Directories whose largest place matters.
    pub lists: BTreeSet<PageIndex>,
    /// Segments.
    pub segments: BTreeSet<SegmentId>,
    /// Chunks of level state.
    pub chunks: BTreeSet<ChunkKey>,
    /// Views whose focus matters.
    pub focus: BTreeSet<ViewId>,
    /// Custom state.
    pub custom: BTreeSet<CustomKey>,
    /// History entries.
    pub entries: BTreeSet<Revision>,
    /// Run records.
    pub runs: BTreeSet<RunKey>,
}

impl CommitReads {
    /// Returns what a change wants.
    pub fn of(change: &Change) -> Self {
        let basis = &change.basis;
        let mut wanted = Self::default();
        wanted.pages.extend(basis.pages.iter().map(|(index, _)| index.clone()));
        wanted.pages.extend(basis.standing.iter().map(|(index, _)| index.clone()));
        let known = change.pages.iter().filter(|delta| !is_claimed(change, delta));
        wanted.pages.extend(known.map(|delta| delta.index.clone()));
        wanted.lists.extend(basis.lists.iter().map(|(parent, _)| parent.clone()));
        wanted.segments.extend(basis.segments.iter().map(|(id, _)| id.clone()));
        wanted.segments.extend(change.segments.iter().map(|delta| delta.after.id.clone()));
        wanted.segments.extend(change.numbers.iter().map(|claim| claim.segment.clone()));
        wanted.segments.extend(change.floors.iter().map(|(id, _)| id.clone()));
        wanted.segments.extend(change.touched_segments().into_iter().cloned());
        wanted.chunks.extend(basis.levels.iter().map(|(view, page, _)| ChunkKey::of(view, page)));
        // Those of pages that are still to get their number come later.
        let known = change.levels.iter().map(|delta| ChunkKey::of(&delta.view, &delta.page));
        wanted.chunks.extend(known);
        wanted.focus.extend(basis.focus.iter().map(|(view, _)| view.clone()));
        wanted.custom.extend(basis.custom.iter().map(|(key, _)| key.clone()));
        wanted.entries.extend(change.marks.iter().map(|mark| mark.revision));
        if change.purge {
            wanted.entries.extend(change.pages.iter().filter_map(|delta| delta.previous));
        }
        wanted.runs.extend(change.runs.iter().map(|put| put.key.clone()));
        wanted
    }

    /// Tells whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what else is wanted.
    pub fn extend(&mut self, more: Self) {
        self.pages.extend(more.pages);
        self.lists.extend(more.lists);
        self.segments.extend(more.segments);
        self.chunks.extend(more.chunks);
        self.focus.extend(more.focus);
        self.custom.extend(more.custom);
        self.entries.extend(more.entries);
        self.runs.extend(more.runs);
    }
}

/// What stands now, of what is wanted. What is not in it is not there.
#[derive(Debug, Clone, Default)]
pub struct CommitState {
    /// The session's head; none when there is no session.
    pub info: Option<SessionInfo>,
    /// Segments.
    pub segments: BTreeMap<SegmentId, Segment>,
    /// Pages.
    pub pages: BTreeMap<PageIndex, Page>,
    /// The largest place under each directory, of whatever standing.
    pub last_places: BTreeMap<PageIndex, Place>,
    /// Chunks of level state.
    pub chunks: BTreeMap<ChunkKey, LevelChunk>,
    /// Focus by view.
    pub focus: BTreeMap<ViewId, PageIndex>,
    /// Custom state.
    pub custom: BTreeMap<CustomKey, String>,
    /// History entries.
    pub entries: BTreeMap<Revision, HistoryEntry>,
    /// Run records.
    pub runs: BTreeMap<RunKey, RunRecord>,
}

/// All that a commit writes.
#[derive(Debug, Clone)]
pub struct CommitWrites {
    /// What is answered once it is written.
    pub committed: Committed,
    /// Whether the session is new.
    pub creates: bool,
    /// The session's head.
    pub info: SessionInfo,
    /// Segments that changed, with their counters.
    pub segments: Vec<Segment>,
    /// Views that this edit changed, as of its revision.
    pub views: BTreeSet<ViewId>,
    /// Pages put, replaced or taken away.
    pub pages: Vec<PageWrite>,
    /// Chunks of level state; an empty one goes.
    pub levels: BTreeMap<ChunkKey, LevelChunk>,
    /// Focus set or taken away.
    pub focus: Vec<(ViewId, Option<PageIndex>)>,
    /// Custom state set or taken away.
    pub custom: Vec<(CustomKey, Option<String>)>,
    /// Run records that move on.
    pub runs: Vec<RunPut>,
    /// Earlier history entries that changed.
    pub amended: Vec<HistoryEntry>,
    /// The new history entry; none when only the session is made.
    pub entry: Option<HistoryEntry>,
    /// Contents newly referred to, once for each reference.
    pub referred: Vec<ContentHash>,
    /// Contents no longer referred to, once for each reference.
    pub freed: Vec<ContentHash>,
    /// Whether all records of the session's ledgers are to be scrubbed.
    pub scrubs_ledgers: bool,
}

/// A page as it stood and as it will.
#[derive(Debug, Clone)]
pub struct PageWrite {
    /// Which.
    pub index: PageIndex,
    /// As it stands now; none when it is new.
    pub before: Option<Page>,
    /// As it will; none when it goes.
    pub after: Option<Page>,
}

impl CommitState {
    /// Returns what a change wants beyond what was `asked` for so far: some of it is only known once
    /// the rest is read. Read it too, and ask again until there is nothing more.
    pub fn unread(&self, change: &Change, asked: &CommitReads) -> CommitReads {
        let mut more = CommitReads::default();
        let mut positions = Positions::default();
        for delta in change.pages.iter().filter(|_| change.purge) {
            let mut next = delta.previous;
            while let Some(revision) = next {
                let Some(entry) = self.entries.get(&revision) else {
                    more.entries.insert(revision);
                    break;
                };
                let position = positions.of(entry, &delta.index);
                next = position.and_then(|position| entry.inverse.pages[position].previous);
            }
        }
        for claim in &change.numbers {
            let Some(actual) = self.next_number(change, &claim.segment) else { continue };
            for LevelDelta { view, page, .. } in &change.levels {
                if *page.segment() == claim.segment && page.number() >= claim.first {
                    let number = page.number() - claim.first + actual;
                    let page = PageIndex::new(claim.segment.clone(), number);
                    more.chunks.insert(ChunkKey::of(view, &page));
                }
            }
        }
        more.entries.retain(|revision| !asked.entries.contains(revision));
        more.chunks.retain(|key| !asked.chunks.contains(key));
        more
    }

    /// Returns the number a claim on a segment will begin with.
    fn next_number(&self, change: &Change, id: &SegmentId) -> Option<u64> {
        let mut added = change.segments.iter().map(|delta| &delta.after);
        let segment = self.segments.get(id).or_else(|| added.find(|segment| segment.id == *id))?;
        let floors = change.floors.iter().filter(|(floored, _)| floored == id);
        Some(floors.map(|(_, floor)| *floor).fold(segment.next_number, u64::max))
    }

    /// Refuses a change when a run or something it was based on has moved.
    fn check(&self, change: &Change) -> StorageResult<()> {
        change.runs.iter().try_for_each(|put| check_run_version(self.runs.get(&put.key), put))?;
        match self.moved(change) {
            Some(subject) => Err(StorageError::Conflict { subject }),
            None => Ok(()),
        }
    }

    /// Names the first thing that has moved.
    fn moved(&self, change: &Change) -> Option<String> {
        let basis = &change.basis;
        for (index, version) in &basis.pages {
            if self.pages.get(index).map(|page| page.version) != *version {
                return Some(format!("page {index}"));
            }
        }
        for (index, parent) in &basis.standing {
            let stands = |page: &Page| page.standing.is_listed() && page.parent == *parent;
            if !self.pages.get(index).is_some_and(stands) {
                return Some(format!("the place of page {index}"));
            }
        }
        for (id, version) in &basis.segments {
            if self.segments.get(id).map(|segment| segment.version) != *version {
                return Some(format!("segment {id}"));
            }
        }
        for (parent, last) in &basis.lists {
            if self.last_places.get(parent) != last.as_ref() {
                return Some(format!("the list of pages in {parent}"));
            }
        }
        for (view, page, entry) in &basis.levels {
            let chunk = self.chunks.get(&ChunkKey::of(view, page));
            if chunk.map(|chunk| chunk.entry(page.number())).unwrap_or_default() != *entry {
                return Some(format!("the level of {page} in view {view}"));
            }
        }
        for (view, focus) in &basis.focus {
            if self.focus.get(view) != focus.as_ref() {
                return Some(format!("the focus of view {view}"));
            }
        }
        for (key, value) in &basis.custom {
            if self.custom.get(key) != value.as_ref() {
                return Some(format!("custom state '{key}'"));
            }
        }
        for mark in &change.marks {
            if self.entries.get(&mark.revision).and_then(|entry| entry.undone_by) != mark.before {
                return Some(format!("revision {}", mark.revision));
            }
        }
        None
    }
}

/// Refuses a put when the record is not at the version expected.
pub fn check_run_version(stored: Option<&RunRecord>, put: &RunPut) -> StorageResult<()> {
    if stored.map(|record| record.version) == put.expect {
        return Ok(());
    }
    Err(StorageError::RunMoved { key: put.key.clone() })
}

/// Decides a commit on what stands now. On an error nothing is to be written.
///
/// `mark` is the one a new session gets when none is given with it.
pub fn plan_commit(
    mut present: CommitState,
    session: &SessionId,
    commit: Commit,
    mark: impl FnOnce() -> Mark,
) -> StorageResult<CommitWrites> {
    let creates = commit.create.is_some();
    let info = match (commit.create, present.info.take()) {
        (Some(_), Some(_)) => {
            return Err(StorageError::SessionExists { session: session.clone() });
        }
        (None, None) => return Err(StorageError::SessionMissing { session: session.clone() }),
        (None, Some(info)) => info,
        (Some(new), None) => SessionInfo {
            id: session.clone(),
            app: new.app,
            revision: Revision(0),
            next_place: Place(1),
            created_at: new.at,
            updated_at: new.at,
            mark: new.mark.unwrap_or_else(mark),
        },
    };
    let Some(mut change) = commit.change else {
        return Ok(CommitWrites::only_session(info, creates));
    };
    present.check(&change)?;
    let mut ground = Ground { info, segments: present.segments, changed: BTreeSet::new() };
    let assigned = ground.assign(&change)?;
    change.assign(&assigned);
    let Ground { info, mut segments, changed } = ground;
    let mut pages = present.pages;
    let pages = change.pages.iter().map(|delta| PageWrite {
        index: delta.index.clone(),
        before: pages.remove(&delta.index),
        after: delta.after.clone(),
    });
    let pages = pages.collect();
    let mut levels = BTreeMap::new();
    for delta in &change.levels {
        let key = ChunkKey::of(&delta.view, &delta.page);
        let stored = || present.chunks.remove(&key).unwrap_or_default();
        let chunk: &mut LevelChunk = levels.entry(key.clone()).or_insert_with(stored);
        chunk.set(delta.page.number(), delta.after.clone());
    }
    let mut entries = Entries { stored: present.entries, changed: BTreeSet::new() };
    let freed = entries.amend(&change, assigned.revision);
    Ok(CommitWrites {
        creates,
        info,
        segments: changed.iter().filter_map(|id| segments.remove(id)).collect(),
        views: change.touched_views(),
        pages,
        levels,
        focus: change.focus.iter().map(|to| (to.view.clone(), to.after.clone())).collect(),
        custom: change.custom.iter().map(|to| (to.key.clone(), to.after.clone())).collect(),
        runs: change.runs.clone(),
        amended: entries.changed(),
        entry: Some(change.history_entry(assigned.revision)),
        referred: change.pages.iter().filter_map(PageDelta::assigned_content).collect(),
        freed,
        scrubs_ledgers: change.purge,
        committed: Committed { revision: assigned.revision, change: Some(change) },
    })
}

impl CommitWrites {
    fn only_session(info: SessionInfo, creates: bool) -> Self {
        Self {
            committed: Committed { revision: info.revision, change: None },
            creates,
            info,
            segments: Vec::new(),
            views: BTreeSet::new(),
            pages: Vec::new(),
            levels: BTreeMap::new(),
            focus: Vec::new(),
            custom: Vec::new(),
            runs: Vec::new(),
            amended: Vec::new(),
            entry: None,
            referred: Vec::new(),
            freed: Vec::new(),
            scrubs_ledgers: false,
        }
    }
}

/// What numbers and places are taken from.
struct Ground {
    info: SessionInfo,
    segments: BTreeMap<SegmentId, Segment>,
    changed: BTreeSet<SegmentId>,
}

impl Ground {
    fn assign(&mut self, change: &Change) -> StorageResult<Assigned> {
        let revision = Revision(add(self.info.revision.0, 1, "revision")?);
        self.info.revision = revision;
        change.stamp(&mut self.info);
        let place = self.info.next_place;
        self.info.next_place = Place(add(place.0, change.places.count, "place")?);
        // Segments come first: claims may be on one that this very change adds.
        for delta in &change.segments {
            let mut after = Segment { revision, ..delta.after.clone() };
            if let Some(stored) = self.segments.get(&after.id) {
                after.next_number = stored.next_number;
                after.touched = stored.touched;
            }
            self.changed.insert(after.id.clone());
            self.segments.insert(after.id.clone(), after);
        }
        for (id, floor) in &change.floors {
            if let Some(segment) = self.change(id) {
                segment.next_number = segment.next_number.max(*floor);
            }
        }
        let mut numbers = Vec::with_capacity(change.numbers.len());
        for claim in &change.numbers {
            let Some(segment) = self.change(&claim.segment) else {
                let what = format!("segment {}", claim.segment);
                return Err(StorageError::Corrupt {
                    what,
                    reason: "it no longer exists".to_owned(),
                });
            };
            numbers.push(segment.next_number);
            segment.next_number = add(segment.next_number, claim.count, "page number")?;
        }
        for id in change.touched_segments() {
            if let Some(segment) = self.change(id) {
                segment.touched = revision;
            }
        }
        Ok(Assigned { revision, numbers, place })
    }

    fn change(&mut self, id: &SegmentId) -> Option<&mut Segment> {
        let segment = self.segments.get_mut(id)?;
        self.changed.insert(id.clone());
        Some(segment)
    }
}

fn add(number: u64, count: u64, what: &str) -> StorageResult<u64> {
    let sum = number.checked_add(count).filter(|sum| *sum <= MOST);
    sum.ok_or_else(|| StorageError::ReadOnly {
        what: format!("{what} {number}"),
        reason: format!("the largest number is {MOST}"),
    })
}

/// Tells whether a change is to give the page a number nobody had before.
fn is_claimed(change: &Change, delta: &PageDelta) -> bool {
    let index = &delta.index;
    let mut claims = change.numbers.iter();
    delta.before.is_none()
        && claims.any(|claim| index.number() >= claim.first && *index.segment() == claim.segment)
}

/// Where history entries hold which page, for those that were asked.
#[derive(Debug, Default)]
pub(super) struct Positions(HashMap<Revision, HashMap<PageIndex, usize>>);

impl Positions {
    /// Returns where in its inverse an entry holds a page.
    pub(super) fn of(&mut self, entry: &HistoryEntry, page: &PageIndex) -> Option<usize> {
        let known = self.0.entry(entry.revision);
        known.or_insert_with(|| entry.inverse.positions()).get(page).copied()
    }
}

/// History entries, some of them changed.
struct Entries {
    stored: BTreeMap<Revision, HistoryEntry>,
    changed: BTreeSet<Revision>,
}

impl Entries {
    /// Scrubs what a change purges and sets its marks; returns the content references that frees.
    fn amend(&mut self, change: &Change, revision: Revision) -> Vec<ContentHash> {
        let mut freed = Vec::new();
        let mut positions = Positions::default();
        for delta in change.pages.iter().filter(|_| change.purge) {
            let mut next = delta.previous;
            while let Some(revision) = next {
                let Some(entry) = self.stored.get_mut(&revision) else { break };
                let Some(position) = positions.of(entry, &delta.index) else { break };
                let before = &mut entry.inverse.pages[position];
                next = before.previous;
                freed.extend(before.scrub());
                self.changed.insert(revision);
            }
        }
        for mark in &change.marks {
            if let Some(entry) = self.stored.get_mut(&mark.revision) {
                entry.mark(mark, revision);
                self.changed.insert(mark.revision);
            }
        }
        freed
    }

    fn changed(mut self) -> Vec<HistoryEntry> {
        self.changed.iter().filter_map(|revision| self.stored.remove(revision)).collect()
    }
}
