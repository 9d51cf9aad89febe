//! Repairs a session after some of its records were lost, on any storage.
//!
//! ```text
//! history ──► Trail: what it left and is not there ──┐
//! pages   ──► Plan: links, places, texts ────────────┴──► edits
//! ```
//!
//! Every repair is an ordinary edit of the system side: it is recorded and deletes nothing. Damage that
//! cannot be repaired here stays, and [`check_session`](super::check_session) reports it.

mod accept;
mod adopt;
mod edit;
mod missing;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{BATCH, Seen, rebuild::Remains, seen, trail::Trail};
use crate::{
    Actor, Page, PageIndex, PageStorage, Revision, Segment, SegmentKind, SessionId, Timestamp,
    Trust, Visibility,
    decide::PROVISIONAL,
    storage::{
        Change, ChunkKey, LevelDelta, PageBody, PageStanding, Place, ScanQuery, SegmentDelta,
        StandingFilter, StorageError, StorageResult, Version,
    },
};
use adopt::Replacement;
use edit::{commit, empty, page, put};
use missing::Missing;

pub use accept::accept_losses;

/// How many pages are repaired in one edit.
const AT_ONCE: usize = 500;

/// How often a race with other writers is tried again.
const ATTEMPTS: usize = 8;

/// Repairs a session after a loss; returns what was done, one sentence per repair.
///
/// Segments and pages that history left and that are gone are made again. Pages whose directory is gone
/// go to the nearest directory above that stands, mostly the segment's root; a root that is missing is
/// made; counters are raised beyond what they gave out; a page whose content is lost says so, unless its
/// damaged record still says something that can be adopted.
pub async fn repair_session(
    storage: &dyn PageStorage,
    session: &SessionId,
    at: Timestamp,
) -> StorageResult<Vec<String>> {
    let mut done = Vec::new();
    again(async || {
        done.extend(add_lost_segments(storage, session, at).await?);
        Ok(())
    })
    .await?;
    let trail = Trail::of(storage, session).await?;
    let ids = storage.segments(session).await?.into_iter().map(|segment| segment.id);
    for id in ids {
        again(async || {
            let segments = storage.segments(session).await?;
            let Some(segment) = segments.into_iter().find(|segment| segment.id == id) else {
                return Ok(());
            };
            let plan = Plan::of(storage, session, &segment, &trail, at).await?;
            done.extend(plan.carry_out(storage, session, at).await?);
            Ok(())
        })
        .await?;
    }
    Ok(done)
}

/// Does something again while others get in its way.
async fn again(mut work: impl AsyncFnMut() -> StorageResult<()>) -> StorageResult<()> {
    for _ in 1..ATTEMPTS {
        match work().await {
            Err(StorageError::Conflict { .. }) => {}
            done => return done,
        }
    }
    work().await
}

/// Makes the segments again that history knows and that are not there.
async fn add_lost_segments(
    storage: &dyn PageStorage,
    session: &SessionId,
    at: Timestamp,
) -> StorageResult<Vec<String>> {
    let Some(info) = storage.session(session).await? else { return Ok(Vec::new()) };
    let known = storage.segments(session).await?;
    let trail = Trail::of(storage, session).await?;
    let mut behind = Segment::behind(&known);
    let mut done = Vec::new();
    for (id, before) in trail.lost_segments(&known) {
        let revision = info.revision;
        let remains = Remains { id: &id, pages: &[], before, behind, revision, at };
        let segment = remains.rebuild();
        behind = behind.max(segment.ordinal + 1);
        let mut change = empty(&segment, at);
        change.basis.segments = vec![(id.clone(), None)];
        done.push(format!(
            "segment {id} was lost and was rebuilt from the history, with kind {} and permission {}: \
             change them if they are wrong",
            segment.kind, segment.permission
        ));
        change.segments.push(SegmentDelta { before: None, after: segment, restores: None });
        commit(storage, session, change).await?;
    }
    Ok(done)
}

/// The repairs to make in a segment.
struct Plan<'a> {
    segment: &'a Segment,
    pages: BTreeMap<u64, Seen>,
    /// Pages that go elsewhere, with where to.
    moves: BTreeMap<u64, u64>,
    /// Pages that need a place of their own.
    places: BTreeSet<u64>,
    /// Pages whose content is lost.
    lost: BTreeSet<u64>,
    /// Pages that history left and that are gone, as they are made again.
    missing: BTreeMap<u64, Missing>,
    /// Pages that are older than history left them, with the version and revision it speaks of.
    behind: BTreeMap<u64, (Version, Revision)>,
    /// By how much the session's place counter is too low.
    places_short: u64,
}

impl<'a> Plan<'a> {
    async fn of(
        storage: &dyn PageStorage,
        session: &SessionId,
        segment: &'a Segment,
        trail: &Trail,
        at: Timestamp,
    ) -> StorageResult<Self> {
        let mut plan = Self {
            segment,
            pages: BTreeMap::new(),
            moves: BTreeMap::new(),
            places: BTreeSet::new(),
            lost: BTreeSet::new(),
            missing: BTreeMap::new(),
            behind: BTreeMap::new(),
            places_short: 0,
        };
        let next_place = storage.session(session).await?.map_or(Place(0), |info| info.next_place);
        let mut after = None;
        loop {
            let query = ScanQuery {
                segment: segment.id.clone(),
                standing: StandingFilter::Any,
                after,
                limit: BATCH,
            };
            let batch = storage.scan(session, &query).await?;
            plan.note_lost(storage, session, &batch).await?;
            for page in &batch {
                let number = page.index.number();
                after = Some(number);
                let beyond = (page.place.0.saturating_add(1)).saturating_sub(next_place.0);
                if !page.index.is_root() && page.place.0 < PROVISIONAL {
                    plan.places_short = plan.places_short.max(beyond);
                }
                let misplaced = match &page.parent {
                    Some(parent) => parent.segment() != page.index.segment(),
                    None => !page.index.is_root(),
                };
                if misplaced {
                    plan.moves.insert(number, 0);
                }
                plan.pages.insert(number, seen(page));
            }
            if batch.len() < BATCH {
                break;
            }
        }
        plan.note_missing(storage, session, trail, next_place, at).await?;
        plan.note_moves();
        plan.note_places();
        Ok(plan)
    }

    async fn note_lost(
        &mut self,
        storage: &dyn PageStorage,
        session: &SessionId,
        pages: &[Page],
    ) -> StorageResult<()> {
        let leaves: Vec<(u64, _)> = pages
            .iter()
            .filter_map(|page| Some((page.index.number(), page.detail()?.content)))
            .collect();
        for chunk in leaves.chunks(64) {
            let hashes: Vec<_> = chunk.iter().map(|(_, hash)| *hash).collect();
            match storage.contents(session, &hashes).await {
                Ok(contents) => {
                    let missing = chunk.iter().zip(contents).filter(|(_, read)| read.is_none());
                    self.lost.extend(missing.map(|((number, _), _)| *number));
                }
                // Contents that cannot be read are repaired by the storage.
                Err(StorageError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Finds the pages whose own link to their directory does not hold.
    fn note_moves(&mut self) {
        let mut sound: HashSet<u64> = HashSet::new();
        let mut moves = std::mem::take(&mut self.moves);
        for (&number, page) in &self.pages {
            let Some(parent) = page.parent.filter(|_| !moves.contains_key(&number)) else {
                continue;
            };
            let listed = page.standing.is_listed() && !self.segment.removed;
            let broken = match self.pages.get(&parent) {
                None => listed,
                Some(above) if !above.is_contents => true,
                Some(above) => listed && matches!(above.standing, PageStanding::Moved(_)),
            };
            if broken {
                moves.insert(number, self.standing_above(number));
            }
        }
        for &number in self.pages.keys() {
            let mut walked = Vec::new();
            let mut next = Some(number);
            while let Some(here) = next.filter(|here| !sound.contains(here)) {
                if let Some(start) = walked.iter().position(|earlier| *earlier == here) {
                    // Its own ancestor: the circle is cut at its first page.
                    moves.extend(walked[start..].iter().min().map(|first| (*first, 0)));
                    break;
                }
                walked.push(here);
                let page = self.pages.get(&here).filter(|_| !moves.contains_key(&here));
                next = page.and_then(|page| page.parent);
            }
            sound.extend(walked);
        }
        moves.remove(&0);
        self.moves = moves;
    }

    /// Returns the nearest directory above a page that stands in the tree; the root where there is none.
    fn standing_above(&self, number: u64) -> u64 {
        let mut walked = HashSet::from([number]);
        let mut next = self.pages.get(&number).and_then(|page| page.parent);
        while let Some(above) = next.filter(|above| walked.insert(*above)) {
            let Some(page) = self.pages.get(&above) else { break };
            if page.is_contents && page.standing.is_listed() {
                return above;
            }
            next = page.parent;
        }
        0
    }

    fn note_places(&mut self) {
        let mut taken = HashSet::new();
        for (number, page) in &self.pages {
            let parent = self.moves.get(number).copied().or(page.parent);
            if parent.is_some_and(|parent| !taken.insert((parent, page.place))) {
                self.places.insert(*number);
            }
        }
    }

    async fn carry_out(
        &self,
        storage: &dyn PageStorage,
        session: &SessionId,
        at: Timestamp,
    ) -> StorageResult<Vec<String>> {
        let mut done = Vec::new();
        let mut first = self.first_change(storage, session, at, &mut done).await?;
        let numbers: BTreeSet<u64> = self
            .moves
            .keys()
            .chain(&self.places)
            .chain(&self.lost)
            .chain(self.missing.keys())
            .chain(self.behind.keys())
            .copied()
            .collect();
        let numbers: Vec<u64> = numbers.into_iter().collect();
        for some in numbers.chunks(AT_ONCE) {
            let mut change = first.take().unwrap_or_else(|| self.change(at));
            self.mend_pages(storage, session, some, &mut change, &mut done).await?;
            commit(storage, session, change).await?;
        }
        if let Some(change) = first {
            commit(storage, session, change).await?;
        }
        Ok(done)
    }

    /// Makes what the rest rests on: the root, the counters, and system roots that are shown.
    async fn first_change(
        &self,
        storage: &dyn PageStorage,
        session: &SessionId,
        at: Timestamp,
        done: &mut Vec<String>,
    ) -> StorageResult<Option<Change>> {
        let (mut change, before) = (self.change(at), done.len());
        let root = self.segment.root();
        match self.pages.get(&0) {
            None if !self.segment.removed => {
                change.basis.pages.push((root.clone(), None));
                put(&mut change, None, self.root_page(at));
                done.push(format!("the root {root} was missing and was created"));
            }
            Some(seen) if !self.segment.removed && seen.standing != PageStanding::InTree => {
                if let Some(page) = page(storage, session, &root).await? {
                    let after = Page { standing: PageStanding::InTree, ..page.clone() };
                    put(&mut change, Some(page), after);
                    done.push(format!("the root {root} was put back into the tree"));
                }
            }
            _ => {}
        }
        let beyond = self.pages.last_key_value().map_or(1, |(last, _)| last.saturating_add(1));
        if self.segment.next_number < beyond && beyond < PROVISIONAL {
            change.floors.push((self.segment.id.clone(), beyond));
            done.push(format!("the counter of segment {} was raised to {beyond}", self.segment.id));
        }
        if self.places_short > 0 {
            change.places.count = self.places_short;
            done.push(format!("the place counter was raised by {}", self.places_short));
        }
        if self.segment.kind == SegmentKind::System {
            for view in storage.views(session).await?.into_iter().map(|head| head.view) {
                let key = ChunkKey::of(&view, &root);
                let chunk = storage.levels(session, &[key]).await?.pop().unwrap_or_default();
                let before = chunk.entry(0);
                if before.shown == Some(Visibility::Hidden) {
                    let mut after = before.clone();
                    after.shown = None;
                    done.push(format!("system root {root} is shown again in view {view}"));
                    change.basis.levels.push((view.clone(), root.clone(), before.clone()));
                    change.levels.push(LevelDelta { view, page: root.clone(), before, after });
                }
            }
        }
        Ok((done.len() > before).then_some(change))
    }

    async fn mend_pages(
        &self,
        storage: &dyn PageStorage,
        session: &SessionId,
        numbers: &[u64],
        change: &mut Change,
        done: &mut Vec<String>,
    ) -> StorageResult<()> {
        let index = |number: u64| PageIndex::new(self.segment.id.clone(), number);
        let indices: Vec<PageIndex> = numbers.iter().map(|number| index(*number)).collect();
        let pages = storage.pages(session, &indices).await?;
        for (number, page) in numbers.iter().zip(pages) {
            let name = &index(*number);
            let mut after = match (&page, self.missing.get(number)) {
                (Some(page), _) => page.clone(),
                (None, Some(missing)) => missing.make(change, done),
                (None, None) => continue,
            };
            if let Some(to) = self.moves.get(number) {
                after.parent = Some(index(*to));
                done.push(format!(
                    "page {name} could not be reached and was moved to {}",
                    index(*to)
                ));
            }
            if self.places.contains(number) {
                after.place = Place(PROVISIONAL + change.places.count);
                change.places.count += 1;
                if page.is_some() {
                    done.push(format!(
                        "page {name} shared its place with a sibling and was given its own"
                    ));
                }
            }
            if self.lost.contains(number) {
                let found = Replacement::of(storage, session, self.segment, &after).await?;
                change.contents.push(found.put_into(&mut after, done));
            }
            let mut previous = page.as_ref().map(|page| page.revision);
            if let Some((version, revision)) = self.behind.get(number) {
                after.version = after.version.max(*version);
                previous = Some(*revision);
                done.push(format!(
                    "page {name} is older than revision {revision} left it; it was kept as it is"
                ));
            }
            if let Some(missing) = self.missing.get(number).filter(|_| page.is_none()) {
                change.basis.pages.push((name.clone(), None));
                previous = Some(missing.revision);
            }
            put(change, page, after);
            if let Some(delta) = change.pages.last_mut() {
                delta.previous = previous;
            }
        }
        Ok(())
    }

    fn root_page(&self, at: Timestamp) -> Page {
        Page {
            index: self.segment.root(),
            parent: None,
            place: Place(0),
            body: PageBody::Contents,
            name: self.segment.name.clone(),
            description: self.segment.description.clone(),
            visibility: Visibility::Expanded,
            standing: PageStanding::InTree,
            author: Actor::System,
            rewritten_by: None,
            trust: Trust::System,
            sources: Vec::new(),
            turn: None,
            // Beyond any version that the lost one can have had.
            version: Version(self.segment.touched.0),
            revision: Revision(0),
            created_at: at,
            updated_at: at,
        }
    }

    fn change(&self, at: Timestamp) -> Change {
        empty(self.segment, at)
    }
}
