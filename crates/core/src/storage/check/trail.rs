//! The trail of a session: where its history speaks of pages and segments that are not there, or not
//! as it left them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::BATCH;
use crate::{
    Actor, HistoryEntry, Operation, Page, PageIndex, PageStorage, Revision, Segment, SegmentId,
    SegmentKind, SessionId,
    storage::{
        ContentHash, CustomDelta, HistoryQuery, PageBefore, ScanQuery, StandingFilter,
        StorageResult, Version,
    },
};

/// What history says beyond what is there.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// The newest edit of each page that is not there, or is older than that edit.
    touches: BTreeMap<PageIndex, Touch>,
    /// The segments that are not there, each as it was before its newest edit, where that is known.
    segments: BTreeMap<SegmentId, Option<Segment>>,
    /// The places in the order of segments that some had before an edit.
    places: BTreeSet<u64>,
    /// Whether some of its entries are lost, and nobody accepted that.
    has_holes: bool,
}

/// What the newest edit of a page did to it.
#[derive(Debug, Clone)]
pub(super) struct Touch {
    pub(super) revision: Revision,
    pub(super) actor: Actor,
    pub(super) operation: Operation,
    /// The page as it was before, where that is known.
    pub(super) before: Option<Page>,
    /// The version the edit gave it; none when the edit took it away.
    pub(super) after: Option<Version>,
    /// The content the edit newly gave it.
    pub(super) assigned: Option<ContentHash>,
    /// Whether it must be there.
    leaves: bool,
}

impl Touch {
    fn of(entry: &HistoryEntry, before: &PageBefore) -> Self {
        Self {
            revision: entry.revision,
            actor: entry.actor.clone(),
            operation: entry.operation,
            before: before.before.clone(),
            after: before.after,
            assigned: before.assigned,
            leaves: entry.leaves(before),
        }
    }
}

/// The pages of a session by segment and number, each with the edit that last changed it.
pub(super) type Stands = HashMap<SegmentId, HashMap<u64, Revision>>;

impl Trail {
    /// Compares the whole history of a session with what is there.
    pub(super) async fn of(storage: &dyn PageStorage, session: &SessionId) -> StorageResult<Self> {
        let mut stands = Stands::new();
        for segment in storage.segments(session).await? {
            let pages = numbers(storage, session, &segment.id).await?;
            stands.insert(segment.id, pages);
        }
        Self::beside(storage, session, &stands).await
    }

    /// Compares it with pages that were read already.
    pub(super) async fn beside(
        storage: &dyn PageStorage,
        session: &SessionId,
        stands: &Stands,
    ) -> StorageResult<Self> {
        let mut trail = Self::default();
        let newest = storage.session(session).await?.map_or(Revision(0), |info| info.revision);
        let accepted = accepted_losses(storage, session).await?;
        let (mut before, mut known) = (None, 0_u64);
        loop {
            let query = HistoryQuery { before, limit: BATCH, ..HistoryQuery::default() };
            let entries = storage.history(session, &query).await?;
            for entry in &entries {
                before = Some(entry.revision);
                if entry.operation != Operation::Lost {
                    known += u64::from(entry.revision > accepted && entry.revision <= newest);
                    trail.note(entry, stands);
                }
            }
            if entries.len() < BATCH {
                break;
            }
        }
        trail.has_holes = known < newest.0.saturating_sub(accepted.0);
        Ok(trail)
    }

    fn note(&mut self, entry: &HistoryEntry, stands: &Stands) {
        let changed = entry.inverse.segments.iter();
        for (id, before) in changed.map(|changed| (&changed.id, changed.before.as_ref())) {
            self.places.extend(before.map(|before| before.ordinal));
            if !stands.contains_key(id) {
                let removed = entry.operation == Operation::RemoveSegment;
                let before = before.map(|before| Segment { removed, ..before.clone() });
                self.segments.entry(id.clone()).or_insert(before);
            }
        }
        for before in &entry.inverse.pages {
            let (index, segment) = (&before.index, before.index.segment());
            let stands_since = stands.get(segment).and_then(|pages| pages.get(&index.number()));
            if stands_since.is_some_and(|revision| *revision >= entry.revision)
                || self.touches.contains_key(index)
            {
                continue;
            }
            self.touches.insert(index.clone(), Touch::of(entry, before));
        }
    }

    /// Returns the segments that history knows and that are not there: those of pages it left, too.
    pub(super) fn lost_segments(&self, known: &[Segment]) -> BTreeMap<SegmentId, Option<&Segment>> {
        let named = self.segments.iter().map(|(id, before)| (id, before.as_ref()));
        let of_pages = self.left().map(|(index, _)| (index.segment(), None));
        let mut lost: BTreeMap<SegmentId, Option<&Segment>> = BTreeMap::new();
        for (id, before) in named.chain(of_pages) {
            if !known.iter().any(|segment| segment.id == *id) {
                lost.entry(id.clone()).or_insert(before);
            }
        }
        lost
    }

    /// Returns the pages that history left in the session, and that are gone or older than that.
    pub(super) fn left(&self) -> impl Iterator<Item = (&PageIndex, &Touch)> {
        self.touches.iter().filter(|(_, touch)| touch.leaves)
    }

    /// Returns those of one segment.
    pub(super) fn left_in<'a>(
        &'a self,
        segment: &'a SegmentId,
    ) -> impl Iterator<Item = (u64, &'a Touch)> {
        let of_segment = self.left().filter(move |(index, _)| index.segment() == segment);
        of_segment.map(|(index, touch)| (index.number(), touch))
    }
}

impl Trail {
    /// Returns the first number a segment of system prompts gave out of which nothing is left, not even in
    /// the history. Where that is whole it was never used; where edits are lost, it may be a page that is.
    pub(super) fn untold(&self, segment: &Segment, stands: impl Fn(u64) -> bool) -> Option<u64> {
        if !self.has_holes || segment.kind != SegmentKind::System || segment.removed {
            return None;
        }
        let index = |number| PageIndex::new(segment.id.clone(), number);
        let is_told = |number| self.touches.contains_key(&index(number));
        (1..segment.next_number).find(|number| !stands(*number) && !is_told(*number))
    }

    /// Returns the first place in the order of segments that none has: where edits are lost, one that
    /// stood there may be lost with them.
    pub(super) fn untold_segment(&self, segments: &[Segment]) -> Option<u64> {
        if self.has_holes { Segment::first_gap(segments, &self.places) } else { None }
    }
}

/// The custom state that says up to which edit losses were accepted.
const ACCEPTED: &str = "contexture.losses-accepted";

/// Returns the edit up to which it was accepted that edits are lost.
pub async fn accepted_losses(
    storage: &dyn PageStorage,
    session: &SessionId,
) -> StorageResult<Revision> {
    let custom = storage.custom(session).await?;
    let value = custom.into_iter().find(|(key, _)| key.as_str() == ACCEPTED);
    Ok(Revision(value.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)))
}

/// Returns the change of the custom state that accepts it.
pub(super) fn acceptance(before: Revision, now: Revision) -> CustomDelta {
    let text = |revision: Revision| revision.0.to_string();
    CustomDelta {
        key: ACCEPTED.parse().expect("it is a valid key"),
        before: (before > Revision(0)).then(|| text(before)),
        after: Some(text(now)),
    }
}

/// Returns the pages of a segment, each with the edit that last changed it.
async fn numbers(
    storage: &dyn PageStorage,
    session: &SessionId,
    segment: &SegmentId,
) -> StorageResult<HashMap<u64, Revision>> {
    let mut pages = HashMap::new();
    let mut after = None;
    loop {
        let standing = StandingFilter::Any;
        let query = ScanQuery { segment: segment.clone(), standing, after, limit: BATCH };
        let batch = storage.scan(session, &query).await?;
        for page in &batch {
            after = Some(page.index.number());
            pages.insert(page.index.number(), page.revision);
        }
        if batch.len() < BATCH {
            return Ok(pages);
        }
    }
}
