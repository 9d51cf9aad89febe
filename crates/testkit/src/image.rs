//! What a storage holds of a session, read in few calls, and errors told rather than raised.

use contexture_core::{
    HistoryEntry, Page, PageStorage, Revision, Segment, SessionId,
    storage::{
        ChunkKey, Content, CustomKey, HistoryQuery, LedgerKey, LedgerQuery, LevelChunk, RunRecord,
        ScanQuery, SentWindow, SessionInfo, StandingFilter, StorageResult, ViewHead,
    },
};

/// All that a session holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Its head; none where there is no such session.
    pub info: Option<SessionInfo>,
    /// Every segment.
    pub segments: Vec<Segment>,
    /// Every page, segment by segment.
    pub pages: Vec<Page>,
    /// The contents of those that have one.
    pub contents: Vec<Option<Content>>,
    levels: Vec<(ChunkKey, LevelChunk)>,
    views: Vec<ViewHead>,
    custom: Vec<(CustomKey, String)>,
    runs: Vec<RunRecord>,
    history: Vec<HistoryEntry>,
    ledgers: Vec<(LedgerKey, Vec<SentWindow>)>,
}

impl Image {
    /// Reads all of it.
    pub async fn read(storage: &dyn PageStorage, id: &SessionId) -> StorageResult<Self> {
        let segments = storage.segments(id).await?;
        let mut pages: Vec<Page> = Vec::new();
        for segment in &segments {
            let mut after = None;
            loop {
                let (standing, limit) = (StandingFilter::Any, 500);
                let query = ScanQuery { segment: segment.id.clone(), standing, after, limit };
                let batch = storage.scan(id, &query).await?;
                let done = batch.len() < limit;
                after = batch.last().map(|page| page.index.number());
                pages.extend(batch);
                if done {
                    break;
                }
            }
        }
        let hashes: Vec<_> = pages.iter().filter_map(|page| Some(page.detail()?.content)).collect();
        let keys = storage.level_keys(id).await?;
        let chunks = storage.levels(id, &keys).await?;
        let all = HistoryQuery { limit: 1 << 30, ..HistoryQuery::default() };
        let mut ledgers = Vec::new();
        for key in storage.ledgers(id).await? {
            let sent =
                storage.ledger(id, &key, &LedgerQuery { upto: None, limit: 1 << 30 }).await?;
            ledgers.push((key, sent));
        }
        let mut history = storage.history(id, &all).await?;
        for before in history.iter_mut().flat_map(|entry| &mut entry.inverse.segments) {
            // Whoever decided noted the counter as far as it knew, and nobody ever reads it there.
            if let Some(segment) = &mut before.before {
                (segment.next_number, segment.touched) = (0, Revision(0));
            }
        }
        Ok(Self {
            info: storage.session(id).await?,
            contents: storage.contents(id, &hashes).await?,
            levels: keys.into_iter().zip(chunks).collect(),
            views: storage.views(id).await?,
            custom: storage.custom(id).await?,
            runs: storage.runs(id, "").await?,
            history,
            segments,
            pages,
            ledgers,
        })
    }

    /// Says where it differs from what it must be.
    pub fn difference(&self, expected: &Self) -> String {
        difference(&format!("{self:#?}"), &format!("{expected:#?}"))
    }
}

/// Returns the first line in which two texts differ.
pub fn difference(left: &str, right: &str) -> String {
    let differ = left.lines().zip(right.lines()).find(|(left, right)| left != right);
    let (left, right) = differ.unwrap_or(("more lines", "or fewer"));
    let short = |text: &str| text.chars().take(600).collect::<String>();
    format!("is\n  {}\nmust be\n  {}", short(left), short(right))
}
