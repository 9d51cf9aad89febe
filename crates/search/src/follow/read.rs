//! Reading pages for the index.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use contexture_core::{
    Page, PageIndex, SegmentId, SessionId, Timestamp,
    storage::{Content, ContentHash, PageStanding, ScanQuery, StandingFilter, StorageResult},
};

use crate::index::{Entry, SearchIndex, Space, entries, turn_hash};

/// How many pages are read at a time.
const PAGES: usize = 500;

/// A page and its documents; none where it is gone.
pub(super) type ReadPage = (PageIndex, Vec<Entry>);

/// Pages as they were read.
pub(super) struct RawPages {
    pages: Vec<Page>,
    contents: HashMap<ContentHash, Content>,
    firsts: BTreeMap<PageIndex, Timestamp>,
    /// Whether vectors are made of their texts.
    pieces: bool,
}

impl RawPages {
    /// Returns the number of the last page.
    pub(super) fn last(&self) -> Option<u64> {
        self.pages.last().map(|page| page.index.number())
    }

    /// Cuts them into documents.
    pub(super) fn cut(&self) -> Vec<ReadPage> {
        self.pages.iter().map(|page| (page.index.clone(), self.entries(page))).collect()
    }

    fn entries(&self, page: &Page) -> Vec<Entry> {
        if matches!(page.standing, PageStanding::Moved(_)) {
            return Vec::new();
        }
        let content = page.detail().and_then(|detail| self.contents.get(&detail.content));
        // A content that is lost says nothing.
        let messages = content.map(Content::messages).unwrap_or_else(|| Ok(Vec::new()));
        let messages = messages.unwrap_or_else(|reason| {
            tracing::warn!(page = %page.index, "cannot be searched: {reason}");
            Vec::new()
        });
        let began = first_elsewhere(page).and_then(|first| self.firsts.get(first));
        entries(page, &messages, began.copied().unwrap_or(page.created_at), self.pieces)
    }
}

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
            read.extend(self.with_contents(session, pages).await?.cut());
        }
        Ok(read)
    }

    /// Reads the pages of a segment behind a number.
    pub(super) async fn scan(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        after: Option<u64>,
    ) -> StorageResult<RawPages> {
        let query = ScanQuery {
            segment: segment.clone(),
            standing: StandingFilter::Any,
            after,
            limit: PAGES,
        };
        let pages = self.inner.storage.scan(session, &query).await?;
        self.with_contents(session, pages).await
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

    /// Reads what pages say, and when their turns began.
    async fn with_contents(
        &self,
        session: &SessionId,
        pages: Vec<Page>,
    ) -> StorageResult<RawPages> {
        let hashes = pages.iter().filter_map(|page| Some(page.detail()?.content));
        let mut seen = HashSet::new();
        let hashes: Vec<ContentHash> = hashes.filter(|hash| seen.insert(*hash)).collect();
        let contents = self.inner.storage.contents(session, &hashes).await?;
        let contents = contents.into_iter().flatten().map(|content| (content.hash(), content));
        let firsts = self.firsts(session, &pages).await?;
        Ok(RawPages {
            contents: contents.collect(),
            firsts,
            pages,
            pieces: self.inner.has_embedder(),
        })
    }

    /// Reads when the turns began whose first page is another one.
    async fn firsts(
        &self,
        session: &SessionId,
        pages: &[Page],
    ) -> StorageResult<BTreeMap<PageIndex, Timestamp>> {
        let mut missing: BTreeSet<&PageIndex> = pages.iter().filter_map(first_elsewhere).collect();
        let known = pages.iter().filter(|page| missing.remove(&page.index));
        let mut firsts: BTreeMap<PageIndex, Timestamp> =
            known.map(|page| (page.index.clone(), page.created_at)).collect();
        let missing: Vec<PageIndex> = missing.into_iter().cloned().collect();
        for indices in missing.chunks(PAGES) {
            let found = self.inner.storage.pages(session, indices).await?;
            firsts.extend(found.into_iter().flatten().map(|page| (page.index, page.created_at)));
        }
        Ok(firsts)
    }
}

/// Returns the first page of a page's turn, unless that is the page itself.
fn first_elsewhere(page: &Page) -> Option<&PageIndex> {
    page.turn.as_ref().filter(|first| **first != page.index)
}
