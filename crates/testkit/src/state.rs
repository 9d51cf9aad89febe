//! Snapshots: everything a session holds, read from its storage, versions, revisions, times of
//! change and counters aside.

use std::collections::BTreeMap;

use contexture_core::{
    ContextSystem, Page, PageIndex, PageStorage, Revision, Segment, SegmentId, SessionId,
    Timestamp,
    storage::{ChunkKey, CustomKey, LevelChunk, ScanQuery, StandingFilter, Version, ViewId},
};

/// What a session holds. Two of them are equal when undo has done its work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionState {
    /// The segments; one that was never added (its addition undone) is left out.
    pub segments: BTreeMap<SegmentId, Segment>,
    /// Every page of whatever standing.
    pub pages: BTreeMap<PageIndex, Page>,
    /// Every view's level state.
    pub levels: BTreeMap<ChunkKey, LevelChunk>,
    /// Every view's focus.
    pub focus: BTreeMap<ViewId, PageIndex>,
    /// The session's custom state.
    pub custom: BTreeMap<CustomKey, String>,
}

/// Takes a snapshot of a session.
pub async fn state(system: &ContextSystem) -> SessionState {
    read(&*system.storage(), system.session()).await
}

/// Takes a snapshot of a session in a storage.
pub async fn read(storage: &dyn PageStorage, session: &SessionId) -> SessionState {
    let mut state = SessionState::default();
    let views = storage.views(session).await.expect("views can be read");
    for segment in storage.segments(session).await.expect("segments can be read") {
        for page in scan(storage, session, &segment.id).await {
            state.pages.insert(page.index.clone(), still(page));
        }
        for view in views.iter().map(|head| &head.view) {
            for chunk in 0..=segment.next_number / LevelChunk::SPAN {
                let segment = segment.id.clone();
                let key = ChunkKey { view: view.clone(), segment, chunk };
                let keys = std::slice::from_ref(&key);
                let read = storage.levels(session, keys).await.expect("levels can be read");
                state.levels.extend(
                    read.into_iter()
                        .filter(|chunk| !chunk.is_empty())
                        .map(|chunk| (key.clone(), chunk)),
                );
            }
        }
        if !segment.removed || state.pages.contains_key(&segment.root()) {
            let still = Segment {
                next_number: 0,
                touched: Revision(0),
                version: Version(0),
                revision: Revision(0),
                updated_at: Timestamp::from_millis(0),
                ..segment
            };
            state.segments.insert(still.id.clone(), still);
        }
    }
    state.focus = views.into_iter().filter_map(|head| Some((head.view, head.focus?))).collect();
    let custom = storage.custom(session).await.expect("custom state can be read");
    state.custom = custom.into_iter().collect();
    state
}

/// Reads all pages of a segment.
pub async fn scan(
    storage: &dyn PageStorage,
    session: &SessionId,
    segment: &SegmentId,
) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    loop {
        let query = ScanQuery {
            segment: segment.clone(),
            standing: StandingFilter::Any,
            after: pages.last().map(|page| page.index.number()),
            limit: 500,
        };
        let batch = storage.scan(session, &query).await.expect("pages can be read");
        let done = batch.len() < query.limit;
        pages.extend(batch);
        if done {
            return pages;
        }
    }
}

fn still(page: Page) -> Page {
    Page {
        version: Version(0),
        revision: Revision(0),
        updated_at: Timestamp::from_millis(0),
        ..page
    }
}

impl SessionState {
    /// Says where two states differ; empty when they are equal.
    pub fn differences(&self, other: &SessionState) -> Vec<String> {
        let mut found = Vec::new();
        differ(&self.segments, &other.segments, &mut found);
        differ(&self.pages, &other.pages, &mut found);
        differ(&self.levels, &other.levels, &mut found);
        differ(&self.focus, &other.focus, &mut found);
        differ(&self.custom, &other.custom, &mut found);
        found
    }

    /// Returns what must be put over this state to get `earlier` back.
    pub fn back_to(&self, earlier: &SessionState) -> Step {
        Step {
            segments: back(&self.segments, &earlier.segments),
            pages: back(&self.pages, &earlier.pages),
            levels: back(&self.levels, &earlier.levels),
            focus: back(&self.focus, &earlier.focus),
            custom: back(&self.custom, &earlier.custom),
        }
    }

    /// Goes a step back.
    pub fn step_back(&mut self, step: Step) {
        put(&mut self.segments, step.segments);
        put(&mut self.pages, step.pages);
        put(&mut self.levels, step.levels);
        put(&mut self.focus, step.focus);
        put(&mut self.custom, step.custom);
    }
}

/// The difference between a state and an earlier one, small where little happened.
#[derive(Debug, Clone)]
pub struct Step {
    segments: Vec<(SegmentId, Option<Segment>)>,
    pages: Vec<(PageIndex, Option<Page>)>,
    levels: Vec<(ChunkKey, Option<LevelChunk>)>,
    focus: Vec<(ViewId, Option<PageIndex>)>,
    custom: Vec<(CustomKey, Option<String>)>,
}

fn back<K: Ord + Clone, V: PartialEq + Clone>(
    now: &BTreeMap<K, V>,
    earlier: &BTreeMap<K, V>,
) -> Vec<(K, Option<V>)> {
    let gone = now.keys().filter(|key| !earlier.contains_key(key)).map(|key| (key.clone(), None));
    let other = earlier.iter().filter(|(key, value)| now.get(key) != Some(value));
    gone.chain(other.map(|(key, value)| (key.clone(), Some(value.clone())))).collect()
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, entries: Vec<(K, Option<V>)>) {
    for (key, value) in entries {
        match value {
            Some(value) => map.insert(key, value),
            None => map.remove(&key),
        };
    }
}

fn differ<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    left: &BTreeMap<K, V>,
    right: &BTreeMap<K, V>,
    found: &mut Vec<String>,
) {
    for (key, value) in left {
        if right.get(key) != Some(value) {
            found.push(format!("{key:?}: {value:?}\n   is not {:?}", right.get(key)));
        }
    }
    let only_right = right.keys().filter(|key| !left.contains_key(key));
    found.extend(only_right.map(|key| format!("{key:?}: only on the other side")));
}
