//! Reading pages for the index.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use contexture_core::{
    Message, Page, PageIndex, SegmentId, SessionId,
    storage::{ContentHash, PageStanding, ScanQuery, StandingFilter, StorageResult},
};

use crate::index::{Entry, SearchIndex, Space, entries, turn_hash};

/// How many pages are read at a time.
const PAGES: usize = 500;

/// A page and its documents; none where it is gone.
pub(super) type ReadPage = (PageIndex, Vec<Entry>);

impl SearchIndex {
    /// Reads pages as they stand now.
    pub(super) async fn read(
        &self,
        session: &SessionId,
        indices: BTreeSet<PageIndex>,
    ) -> StorageResult<Vec<ReadPage>> {
        let indices: Vec<PageIndex> = indices.into_iter().collect();
        let mut read = Vec::with_capacity(indices.len());
        for indices in indices.chunks(PAGES) {
            let pages = self.inner.storage.pages(session, indices).await?;
            let gone = indices.iter().zip(&pages).filter(|(_, page)| page.is_none());
            read.extend(gone.map(|(index, _)| (index.clone(), Vec::new())));
            let pages: Vec<Page> = pages.into_iter().flatten().collect();
            read.extend(self.entries_of(session, &pages).await?);
        }
        Ok(read)
    }

    /// Reads the pages of a segment behind a number.
    pub(super) async fn scan(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        after: Option<u64>,
    ) -> StorageResult<Vec<ReadPage>> {
        let query = ScanQuery {
            segment: segment.clone(),
            standing: StandingFilter::Any,
            after,
            limit: PAGES,
        };
        let pages = self.inner.storage.scan(session, &query).await?;
        self.entries_of(session, &pages).await
    }

    /// Returns the pages of turns, named by their first pages, that are indexed.
    pub(super) fn others_of_turns(
        &self,
        session: &SessionId,
        firsts: &BTreeSet<&PageIndex>,
    ) -> BTreeSet<PageIndex> {
        let turns: BTreeSet<u64> = firsts.iter().map(|first| turn_hash(first)).collect();
        let followed = self.inner.followed(session);
        let mut others = followed.pages_of(&turns);
        let snapshot = self.inner.snapshot();
        let indexed = snapshot.state.sessions.get(session);
        for (segment, space) in indexed.into_iter().flat_map(|indexed| &indexed.spaces) {
            for block in snapshot.blocks.iter() {
                let pages = block.pages_of(Space(*space), &turns);
                let index = |page: u32| PageIndex::new(segment.clone(), u64::from(page));
                others.extend(pages.into_iter().map(index));
            }
        }
        others
    }

    async fn entries_of(
        &self,
        session: &SessionId,
        pages: &[Page],
    ) -> StorageResult<Vec<ReadPage>> {
        let contents = self.contents(session, pages).await?;
        let firsts = self.firsts(session, pages).await?;
        let entries_of = |page: &Page| {
            if matches!(page.standing, PageStanding::Moved(_)) {
                return (page.index.clone(), Vec::new());
            }
            let content = page.detail().and_then(|detail| contents.get(&detail.content));
            let messages = content.map(Vec::as_slice).unwrap_or_default();
            let first = page.turn.as_ref().and_then(|first| firsts.get(first));
            let began = first.copied().unwrap_or(page.created_at);
            (page.index.clone(), entries(page, messages, began))
        };
        Ok(pages.iter().map(entries_of).collect())
    }

    /// Reads what pages say. A content that is lost says nothing.
    async fn contents(
        &self,
        session: &SessionId,
        pages: &[Page],
    ) -> StorageResult<HashMap<ContentHash, Vec<Message>>> {
        let hashes = pages.iter().filter_map(|page| Some(page.detail()?.content));
        let mut hashes: Vec<ContentHash> = hashes.collect();
        let mut seen = HashSet::new();
        hashes.retain(|hash| seen.insert(*hash));
        let mut messages = HashMap::new();
        for content in self.inner.storage.contents(session, &hashes).await?.into_iter().flatten() {
            match content.messages() {
                Ok(said) => {
                    messages.insert(content.hash(), said);
                }
                Err(reason) => {
                    tracing::warn!(hash = %content.hash(), "cannot be searched: {reason}");
                }
            }
        }
        Ok(messages)
    }

    /// Reads when turns began.
    async fn firsts(
        &self,
        session: &SessionId,
        pages: &[Page],
    ) -> StorageResult<BTreeMap<PageIndex, contexture_core::Timestamp>> {
        let known = pages.iter().map(|page| (page.index.clone(), page.created_at));
        let mut firsts: BTreeMap<PageIndex, contexture_core::Timestamp> = known.collect();
        let missing = pages.iter().filter_map(|page| page.turn.clone());
        let missing: BTreeSet<PageIndex> =
            missing.filter(|first| !firsts.contains_key(first)).collect();
        let missing: Vec<PageIndex> = missing.into_iter().collect();
        for indices in missing.chunks(PAGES) {
            let found = self.inner.storage.pages(session, indices).await?;
            firsts.extend(found.into_iter().flatten().map(|page| (page.index, page.created_at)));
        }
        Ok(firsts)
    }
}
