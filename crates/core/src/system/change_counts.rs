//! What has moved in this process since it began, by segment and by view: whether a window that was
//! read in many steps shows one state is judged by this, and not by the session's revision.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    SegmentId,
    storage::{Change, ViewId},
};

/// Counts the changes that were taken in.
#[derive(Debug, Default)]
pub(super) struct ChangeCounts(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Changes of segments and of the pages in them.
    segments: HashMap<SegmentId, u64>,
    /// Changes of what views say. Custom state is the system side's.
    views: HashMap<ViewId, u64>,
    /// Times when it was not known what had changed.
    all: u64,
}

/// What some segments and views had come to at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CountsSnapshot {
    segments: Vec<(SegmentId, u64)>,
    view: u64,
    system: u64,
    all: u64,
}

impl CountsSnapshot {
    /// Returns what it comes to by one change of what a view says.
    pub(super) fn after_one_of(mut self, view: &ViewId) -> Self {
        self.view += 1;
        self.system += u64::from(*view == ViewId::SYSTEM);
        self
    }
}

impl ChangeCounts {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a change that is taken in.
    pub(super) fn note(&self, change: &Change) {
        let mut counts = self.lock();
        let defined = change.segments.iter().map(|delta| &delta.after.id);
        for segment in change.touched_segments().into_iter().chain(defined) {
            *counts.segments.entry(segment.clone()).or_default() += 1;
        }
        for view in change.touched_views() {
            *counts.views.entry(view).or_default() += 1;
        }
    }

    /// Notes that anything may have changed.
    pub(super) fn note_all(&self) {
        self.lock().all += 1;
    }

    /// Returns what these segments, a view and the system side's view have come to.
    pub(super) fn of(
        &self,
        segments: impl Iterator<Item = SegmentId>,
        view: &ViewId,
    ) -> CountsSnapshot {
        let counts = self.lock();
        let count = |view: &ViewId| counts.views.get(view).copied().unwrap_or(0);
        let segments = segments.map(|segment| {
            let count = counts.segments.get(&segment).copied().unwrap_or(0);
            (segment, count)
        });
        CountsSnapshot {
            segments: segments.collect(),
            view: count(view),
            system: count(&ViewId::SYSTEM),
            all: counts.all,
        }
    }
}
