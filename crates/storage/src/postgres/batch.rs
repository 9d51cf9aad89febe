//! What a transaction writes, gathered from all that is decided in it: each row once, each table by
//! one statement ([`statements`]).

mod statements;
mod upsert;

use std::collections::BTreeMap;

use contexture_core::{
    HistoryEntry, Page, PageIndex, Revision, Segment, SegmentId,
    storage::{
        ChunkKey, ContentHash, CustomKey, LedgerKey, LevelChunk, RunKey, RunRecord, SentWindow,
        ViewId, commit_plan::CommitWrites,
    },
};
use tokio_postgres::types::ToSql;

use crate::packing::Packed;

pub(crate) use statements::write_windows;

/// Values to be bound.
pub(crate) type Values = Vec<Box<dyn ToSql + Sync + Send>>;

/// A statement with what is bound to it.
pub(crate) type Bound = (&'static str, Values);

/// What is to be written of a session.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) pages: BTreeMap<PageIndex, Option<Page>>,
    /// By how many the count of pages listed in a directory changes.
    listed: BTreeMap<PageIndex, i64>,
    pub(crate) segments: BTreeMap<SegmentId, Segment>,
    pub(crate) levels: BTreeMap<ChunkKey, LevelChunk>,
    pub(crate) views: BTreeMap<ViewId, Revision>,
    pub(crate) focus: BTreeMap<ViewId, Option<PageIndex>>,
    pub(crate) custom: BTreeMap<CustomKey, Option<String>>,
    pub(crate) runs: BTreeMap<RunKey, Option<RunRecord>>,
    pub(crate) entries: BTreeMap<Revision, HistoryEntry>,
    amended: BTreeMap<Revision, HistoryEntry>,
    /// New references to contents, and those that are given back.
    pub(crate) referred: BTreeMap<ContentHash, i64>,
    freed: BTreeMap<ContentHash, i64>,
    /// Contents that may not be stored yet.
    pub(crate) contents: BTreeMap<ContentHash, StoredContent>,
    pub(crate) windows: BTreeMap<(LedgerKey, u64), SentWindow>,
    /// Whether all records of the session's ledgers are to be scrubbed.
    pub(crate) scrubs_ledgers: bool,
}

/// A content as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredContent {
    raw: Option<i64>,
    data: Vec<u8>,
}

impl StoredContent {
    /// Returns how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        self.data.len()
    }

    pub(crate) fn of(content: &contexture_core::storage::Content) -> (ContentHash, Self) {
        let packed = Packed::of_content(content);
        let data = packed.stored(content.bytes()).to_vec();
        (content.hash(), Self { raw: packed.raw, data })
    }
}

impl Batch {
    /// Adds what a commit writes.
    pub(crate) fn add(&mut self, writes: CommitWrites) {
        self.segments.extend(writes.segments.into_iter().map(|it| (it.id.clone(), it)));
        for view in writes.views {
            self.views.insert(view, writes.info.revision);
        }
        for write in writes.pages {
            self.count(write.before.as_ref(), -1);
            self.count(write.after.as_ref(), 1);
            self.pages.insert(write.index, write.after);
        }
        self.levels.extend(writes.levels);
        self.focus.extend(writes.focus);
        self.custom.extend(writes.custom);
        self.runs.extend(writes.runs.into_iter().map(|put| (put.key.clone(), put.record())));
        for entry in writes.amended {
            let entries = match self.entries.contains_key(&entry.revision) {
                true => &mut self.entries,
                false => &mut self.amended,
            };
            entries.insert(entry.revision, entry);
        }
        self.entries.extend(writes.entry.map(|entry| (entry.revision, entry)));
        for hash in writes.referred {
            *self.referred.entry(hash).or_default() += 1;
        }
        for hash in writes.freed {
            *self.freed.entry(hash).or_default() += 1;
        }
        self.scrubs_ledgers |= writes.scrubs_ledgers;
    }

    /// Adds a page that is new.
    pub(crate) fn add_page(&mut self, page: Page) {
        self.count(Some(&page), 1);
        self.pages.insert(page.index.clone(), Some(page));
    }

    /// Counts a page that its directory lists from now on, or no longer.
    fn count(&mut self, page: Option<&Page>, by: i64) {
        let Some(page) = page.filter(|page| page.standing.is_listed()) else { return };
        if let Some(parent) = &page.parent {
            *self.listed.entry(parent.clone()).or_default() += by;
        }
    }
}
