//! What a transaction knows of its session: what it read, and what its own commits made of that.
//!
//! Several commits share a transaction, and nothing is written before all of them are decided. So
//! each is decided on what the database held, overlaid with what those before it will write.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId, SessionId,
    storage::{
        ChunkKey, CustomKey, LedgerKey, LevelChunk, Place, RunKey, RunRecord, SentWindow, ViewId,
        commit_plan::{CommitReads, CommitState, CommitWrites, PageWrite},
    },
};
use deadpool_postgres::ClientWrapper;
use futures::future::{join, join3, join5};

use super::{error::FaultResult, fetch, rows::SessionRow};

/// What must be read before something can be decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) wanted: CommitReads,
    /// Ledgers whose last number matters.
    pub(crate) ledgers: BTreeSet<LedgerKey>,
    /// Records of ledgers.
    pub(crate) windows: BTreeSet<(LedgerKey, u64)>,
}

impl Needs {
    pub(crate) fn of(wanted: CommitReads) -> Self {
        Self { wanted, ..Self::default() }
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.wanted.extend(more.wanted);
        self.ledgers.extend(more.ledgers);
        self.windows.extend(more.windows);
    }

    /// Leaves out what was asked for already.
    fn retain_new(&mut self, asked: &Self) {
        let (wanted, old) = (&mut self.wanted, &asked.wanted);
        wanted.pages.retain(|key| !old.pages.contains(key));
        wanted.lists.retain(|key| !old.lists.contains(key));
        wanted.segments.retain(|key| !old.segments.contains(key));
        wanted.chunks.retain(|key| !old.chunks.contains(key));
        wanted.focus.retain(|key| !old.focus.contains(key));
        wanted.custom.retain(|key| !old.custom.contains(key));
        wanted.entries.retain(|key| !old.entries.contains(key));
        wanted.runs.retain(|key| !old.runs.contains(key));
        self.ledgers.retain(|key| !asked.ledgers.contains(key));
        self.windows.retain(|key| !asked.windows.contains(key));
    }
}

/// What is known of a session.
#[derive(Default)]
pub(crate) struct Known {
    /// None when there is no session.
    pub(crate) session: Option<SessionRow>,
    /// What need not be read any more, because it was, or because it will be written.
    asked: Needs,
    segments: BTreeMap<SegmentId, Segment>,
    pages: BTreeMap<PageIndex, Page>,
    last_places: BTreeMap<PageIndex, Place>,
    /// Directories that lose a page which may have had the largest place.
    unsure: BTreeSet<PageIndex>,
    chunks: BTreeMap<ChunkKey, LevelChunk>,
    focus: BTreeMap<ViewId, PageIndex>,
    custom: BTreeMap<CustomKey, String>,
    entries: BTreeMap<Revision, HistoryEntry>,
    pub(crate) runs: BTreeMap<RunKey, RunRecord>,
    last_windows: BTreeMap<LedgerKey, u64>,
    windows: BTreeMap<(LedgerKey, u64), SentWindow>,
}

impl Known {
    /// Reads what is needed and not known, all at once.
    ///
    /// What the first question is put behind on the connection is answered before it.
    pub(crate) async fn load(
        &mut self,
        db: &ClientWrapper,
        session: &SessionId,
        mut needs: Needs,
    ) -> FaultResult<()> {
        needs.retain_new(&self.asked);
        let wanted = &needs.wanted;
        // Questions that ask for nothing are not put.
        macro_rules! put {
            ($read:ident, $keys:expr) => {
                async {
                    if $keys.is_empty() {
                        return Ok(Vec::new());
                    }
                    fetch::$read(db, session, $keys.iter()).await
                }
            };
        }
        let (one, two, three) = join3(
            join5(
                put!(segments, wanted.segments),
                put!(pages, wanted.pages),
                put!(last_places, wanted.lists),
                put!(chunks, wanted.chunks),
                put!(focus, wanted.focus),
            ),
            join3(
                put!(custom, wanted.custom),
                put!(entries, wanted.entries),
                put!(runs, wanted.runs),
            ),
            join(put!(last_windows, needs.ledgers), put!(windows, needs.windows)),
        )
        .await;
        let (segments, pages, last_places, chunks, focus) = one;
        let (custom, entries, runs) = two;
        let (last_windows, windows) = three;
        self.segments.extend(segments?.into_iter().map(|segment| (segment.id.clone(), segment)));
        self.pages.extend(pages?.into_iter().map(|page| (page.index.clone(), page)));
        for (parent, place) in last_places? {
            self.grow(parent, place);
        }
        self.chunks.extend(chunks?);
        self.focus.extend(focus?);
        self.custom.extend(custom?);
        self.entries.extend(entries?.into_iter().map(|entry| (entry.revision, entry)));
        self.runs.extend(runs?.into_iter().map(|record| (record.key.clone(), record)));
        self.last_windows.extend(last_windows?);
        let named = |(key, sent): (LedgerKey, SentWindow)| ((key, sent.number), sent);
        self.windows.extend(windows?.into_iter().map(named));
        self.asked.extend(needs);
        Ok(())
    }

    /// Tells whether what a change wants can still be known: not where only the database could
    /// say, once it was written to.
    pub(crate) fn can_tell(&self, wanted: &CommitReads) -> bool {
        wanted.lists.is_disjoint(&self.unsure)
    }

    /// Returns what stands of what a change wants.
    pub(crate) fn present(&self, wanted: &CommitReads) -> CommitState {
        fn pick<K: Ord + Clone, V: Clone>(
            from: &BTreeMap<K, V>,
            keys: &BTreeSet<K>,
        ) -> BTreeMap<K, V> {
            let picked = keys.iter().filter_map(|key| from.get_key_value(key));
            picked.map(|(key, value)| (key.clone(), value.clone())).collect()
        }
        CommitState {
            info: self.session.as_ref().map(|session| session.info.clone()),
            segments: pick(&self.segments, &wanted.segments),
            pages: pick(&self.pages, &wanted.pages),
            last_places: pick(&self.last_places, &wanted.lists),
            chunks: pick(&self.chunks, &wanted.chunks),
            focus: pick(&self.focus, &wanted.focus),
            custom: pick(&self.custom, &wanted.custom),
            entries: pick(&self.entries, &wanted.entries),
            runs: pick(&self.runs, &wanted.runs),
        }
    }

    /// Takes in what a commit will write.
    pub(crate) fn overlay(&mut self, writes: &CommitWrites) {
        if let Some(session) = &mut self.session {
            session.info = writes.info.clone();
        }
        for segment in &writes.segments {
            self.asked.wanted.segments.insert(segment.id.clone());
            self.segments.insert(segment.id.clone(), segment.clone());
        }
        writes.pages.iter().for_each(|page| self.overlay_page(page));
        for (key, chunk) in &writes.levels {
            set(&mut self.chunks, key, Some(chunk.clone()).filter(|chunk| !chunk.is_empty()));
            self.asked.wanted.chunks.insert(key.clone());
        }
        for (view, page) in &writes.focus {
            set(&mut self.focus, view, page.clone());
            self.asked.wanted.focus.insert(view.clone());
        }
        for (key, value) in &writes.custom {
            set(&mut self.custom, key, value.clone());
            self.asked.wanted.custom.insert(key.clone());
        }
        for put in &writes.runs {
            self.overlay_run(&put.key, put.record());
        }
        for entry in writes.amended.iter().chain(&writes.entry) {
            self.asked.wanted.entries.insert(entry.revision);
            self.entries.insert(entry.revision, entry.clone());
        }
    }

    fn overlay_page(&mut self, write: &PageWrite) {
        let stands = |page: &Option<Page>| {
            page.as_ref().and_then(|page| Some((page.parent.clone()?, page.place)))
        };
        let (before, after) = (stands(&write.before), stands(&write.after));
        if before != after {
            if let Some((parent, place)) = before {
                // Only where a larger one is known does its going make no difference.
                if self.last_places.get(&parent).is_none_or(|last| *last <= place) {
                    self.unsure.insert(parent);
                }
            }
            if let Some((parent, place)) = after {
                self.grow(parent, place);
            }
        }
        set(&mut self.pages, &write.index, write.after.clone());
        self.asked.wanted.pages.insert(write.index.clone());
    }

    fn grow(&mut self, parent: PageIndex, place: Place) {
        let last = self.last_places.entry(parent).or_insert(place);
        *last = (*last).max(place);
    }

    /// Takes in what becomes of a run's record.
    pub(crate) fn overlay_run(&mut self, key: &RunKey, record: Option<RunRecord>) {
        set(&mut self.runs, key, record);
        self.asked.wanted.runs.insert(key.clone());
    }

    /// Returns the number that the next record of a ledger must have.
    pub(crate) fn next_window(&self, key: &LedgerKey) -> Option<u64> {
        self.last_windows.get(key).map_or(Some(1), |last| last.checked_add(1))
    }

    pub(crate) fn window(&self, key: &(LedgerKey, u64)) -> Option<&SentWindow> {
        self.windows.get(key)
    }

    /// Takes in a record of a ledger, new or changed.
    pub(crate) fn overlay_window(&mut self, key: &LedgerKey, sent: SentWindow) {
        let last = self.last_windows.entry(key.clone()).or_default();
        *last = (*last).max(sent.number);
        self.asked.ledgers.insert(key.clone());
        self.asked.windows.insert((key.clone(), sent.number));
        self.windows.insert((key.clone(), sent.number), sent);
    }
}

fn set<K: Ord + Clone, V>(map: &mut BTreeMap<K, V>, key: &K, value: Option<V>) {
    match value {
        Some(value) => map.insert(key.clone(), value),
        None => map.remove(key),
    };
}
