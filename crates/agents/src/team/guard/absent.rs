//! What is counted and not there: whether it is gone rightly, by what history says.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    Error, HistoryEntry, Operation, Page, Revision, Segment, SegmentId,
    storage::{HistoryQuery, check::accepted_losses},
};
use serde::{Deserialize, Serialize};

use super::{BATCH, Team, lost};
use crate::Result;

/// What was not there and was found to be gone rightly, so that nobody looks for it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absences {
    /// How many segments there were, for the last place in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    segments: Option<Tally>,
    /// How many pages each segment had, for the numbers it gave out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pages: BTreeMap<SegmentId, Tally>,
}

/// What was given out, what of it is there, and the edit that last changed any of it: every lawful change
/// moves that, so with the same one nothing but a loss can make them fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Tally {
    given: u64,
    there: u64,
    changed: Revision,
}

impl Absences {
    /// Tells whether nothing was ever missed.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A search through history for what is not there.
pub(super) struct Search {
    segments: Vec<Segment>,
    /// Places in their order that some had before an edit.
    freed: BTreeSet<u64>,
    /// What is counted of them, where there is a place that none has.
    gap: Option<Tally>,
    holes: BTreeMap<SegmentId, Holes>,
}

/// The numbers of a segment without a page.
struct Holes {
    tally: Tally,
    pages: BTreeSet<u64>,
    /// Those that history spoke of.
    accounted: BTreeSet<u64>,
}

impl Search {
    pub(super) fn new(segments: &[Segment], known: &Absences) -> Self {
        let last = segments.iter().map(|segment| segment.ordinal).max().unwrap_or(0);
        let changed = segments.iter().map(|segment| segment.revision).max().unwrap_or_default();
        let tally = Tally { given: last, there: segments.len() as u64, changed };
        let gap = Segment::first_gap(segments, &BTreeSet::new());
        let gap = gap.filter(|_| known.segments != Some(tally));
        Self {
            segments: segments.to_vec(),
            freed: BTreeSet::new(),
            gap: gap.map(|_| tally),
            holes: BTreeMap::new(),
        }
    }

    /// Counts the pages of a segment.
    pub(super) fn count(
        &mut self,
        segment: &Segment,
        pages: &BTreeMap<u64, Page>,
        known: &Absences,
    ) {
        let numbered = pages.range(..segment.next_number).count() as u64;
        let changed = segment.touched.max(segment.revision);
        let tally = Tally { given: segment.next_number, there: numbered, changed };
        if tally.there < tally.given && known.pages.get(&segment.id) != Some(&tally) {
            let pages = pages.keys().copied().collect();
            let holes = Holes { tally, pages, accounted: BTreeSet::new() };
            self.holes.insert(segment.id.clone(), holes);
        }
    }

    /// Tells whether there is still something to look for.
    pub(super) fn is_open(&self) -> bool {
        self.gap.is_some() || self.holes.values().any(Holes::is_open)
    }

    /// Notes what was found to be gone rightly.
    pub(super) fn note(self, known: &mut Absences) {
        known.segments = self.gap.or(known.segments);
        known.pages.extend(self.holes.into_iter().map(|(id, holes)| (id, holes.tally)));
    }

    /// Takes in an edit; those after it were taken in before.
    fn take(&mut self, entry: &HistoryEntry) -> Result<()> {
        for changed in entry.inverse.segments.iter().filter(|_| self.gap.is_some()) {
            if self.segments.iter().all(|segment| segment.id != changed.id) {
                return Err(lost(format!("segment {} is", changed.id)));
            }
            self.freed.extend(changed.before.as_ref().map(|before| before.ordinal));
        }
        for touched in &entry.inverse.pages {
            let (index, number) = (&touched.index, touched.index.number());
            let Some(holes) = self.holes.get_mut(index.segment()) else { continue };
            // The newest edit of a page says whether it should be there.
            let is_hole = number < holes.tally.given && !holes.pages.contains(&number);
            if !is_hole || !holes.accounted.insert(number) {
                continue;
            }
            if entry.leaves(touched) {
                return Err(lost(format!("page {index} is")));
            }
        }
        Ok(())
    }

    /// Judges what no edit spoke of: where all of them are there, the session was loaded without it.
    fn judge(&self, is_whole: bool) -> Result<()> {
        if is_whole {
            return Ok(());
        }
        let open = self.holes.iter().find_map(|(id, holes)| Some((id, holes.first()?)));
        let gap = self.gap.and_then(|_| Segment::first_gap(&self.segments, &self.freed));
        match (open, gap) {
            (Some((id, number)), _) => Err(lost(format!("page {id}-{number} is"))),
            (None, Some(place)) => Err(lost(format!("segment number {place} is"))),
            (None, None) => Ok(()),
        }
    }
}

impl Holes {
    fn is_open(&self) -> bool {
        self.tally.there + (self.accounted.len() as u64) < self.tally.given
    }

    fn first(&self) -> Option<u64> {
        let is_open =
            |number: &u64| !self.pages.contains(number) && !self.accounted.contains(number);
        (1..self.tally.given).find(is_open)
    }
}

impl Team {
    /// Looks through history until everything is found, or there is no more of it.
    pub(super) async fn search(&self, mut search: Search) -> Result<Search> {
        let (storage, session) = (self.system.storage(), self.system.session());
        let info = storage.session(session).await.map_err(Error::from)?;
        let newest = info.map_or(Revision(0), |info| info.revision);
        let accepted = accepted_losses(&*storage, session).await.map_err(Error::from)?;
        let (mut before, mut known) = (None, 0);
        while search.is_open() {
            let query = HistoryQuery { before, limit: BATCH, ..HistoryQuery::default() };
            let entries = storage.history(session, &query).await.map_err(Error::from)?;
            for entry in &entries {
                before = Some(entry.revision);
                if entry.operation != Operation::Lost {
                    known += u64::from(entry.revision > accepted && entry.revision <= newest);
                    search.take(entry)?;
                }
            }
            if entries.len() < BATCH {
                search.judge(known >= newest.0.saturating_sub(accepted.0))?;
                break;
            }
        }
        Ok(search)
    }
}
