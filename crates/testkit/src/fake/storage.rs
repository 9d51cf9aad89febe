//! What a watched storage answers: what the one behind it does, counted, held back, lost or failed.

use std::sync::{Arc, atomic::Ordering};

use async_trait::async_trait;
use contexture_core::{
    Actor, HistoryEntry, Message, Page, PageIndex, PageStorage, Segment, SegmentId, SessionId,
    Tokens,
    storage::{
        Capabilities, ChildQuery, ChunkKey, Commit, Committed, Content, ContentHash, CountKey,
        CustomKey, Hints, HistoryQuery, ImportPart, Keep, LedgerKey, LedgerQuery, LevelChunk,
        Place, Quarantine, RunRecord, ScanQuery, SentWindow, SessionInfo, StorageResult, Trace,
        ViewHead,
    },
};

use super::{Lost, WatchedStorage, dead, lock, told_to_fail};

#[async_trait]
impl PageStorage for WatchedStorage {
    fn capabilities(&self) -> Capabilities {
        let inner = self.inner.capabilities();
        Capabilities { shared: inner.shared || self.is_shared.load(Ordering::Relaxed), ..inner }
    }

    async fn sessions(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> StorageResult<Vec<SessionInfo>> {
        self.tally("sessions", 1);
        self.inner.sessions(after, limit).await
    }

    async fn session(&self, session: &SessionId) -> StorageResult<Option<SessionInfo>> {
        self.tally("session", 1);
        if self.fails_heads.load(Ordering::Relaxed) {
            return Err(told_to_fail());
        }
        let info = self.inner.session(session).await;
        self.wait_if_held("session").await;
        info
    }

    async fn remove_session(&self, session: &SessionId) -> StorageResult<bool> {
        self.inner.remove_session(session).await
    }

    async fn segments(&self, session: &SessionId) -> StorageResult<Vec<Segment>> {
        self.tally("segments", 1);
        let mut segments = self.inner.segments(session).await?;
        segments.retain(|segment| !self.has_lost(&Lost::Segment(segment.id.clone())));
        Ok(segments)
    }

    async fn pages(
        &self,
        session: &SessionId,
        indices: &[PageIndex],
    ) -> StorageResult<Vec<Option<Page>>> {
        self.tally("pages", indices.len());
        for index in indices {
            *lock(&self.page_counts).entry(index.clone()).or_default() += 1;
        }
        let mut pages = self.inner.pages(session, indices).await;
        for page in pages.iter_mut().flatten() {
            page.take_if(|page| self.has_lost(&Lost::Page(page.index.clone())));
        }
        self.answer("pages", pages).await
    }

    async fn children(&self, session: &SessionId, query: &ChildQuery) -> StorageResult<Vec<Page>> {
        self.tally("children", 1);
        let mut pages = self.inner.children(session, query).await?;
        pages.retain(|page| {
            let index = || page.index.clone();
            !self.has_lost(&Lost::Page(index())) && !self.has_lost(&Lost::Listing(index()))
        });
        Ok(pages)
    }

    async fn child_count(&self, session: &SessionId, parent: &PageIndex) -> StorageResult<u64> {
        self.tally("child_count", 1);
        self.inner.child_count(session, parent).await
    }

    async fn last_place(
        &self,
        session: &SessionId,
        parent: &PageIndex,
    ) -> StorageResult<Option<Place>> {
        self.tally("last_place", 1);
        self.inner.last_place(session, parent).await
    }

    async fn scan(&self, session: &SessionId, query: &ScanQuery) -> StorageResult<Vec<Page>> {
        self.tally("scan", 1);
        let mut pages = self.inner.scan(session, query).await?;
        pages.retain(|page| !self.has_lost(&Lost::Page(page.index.clone())));
        Ok(pages)
    }

    async fn last_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
    ) -> StorageResult<Option<Page>> {
        self.tally("last_turn_page", 1);
        self.inner.last_turn_page(session, segment, author).await
    }

    async fn next_turn_page(
        &self,
        session: &SessionId,
        segment: &SegmentId,
        author: &Actor,
        after: Place,
    ) -> StorageResult<Option<Page>> {
        self.tally("next_turn_page", 1);
        self.inner.next_turn_page(session, segment, author, after).await
    }

    async fn contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        self.tally("contents", hashes.len());
        if self.loses_contents.load(Ordering::Relaxed) {
            return Ok(vec![None; hashes.len()]);
        }
        self.answer("contents", self.inner.contents(session, hashes).await).await
    }

    async fn levels(
        &self,
        session: &SessionId,
        keys: &[ChunkKey],
    ) -> StorageResult<Vec<LevelChunk>> {
        self.tally("levels", keys.len());
        self.answer("levels", self.inner.levels(session, keys).await).await
    }

    async fn level_keys(&self, session: &SessionId) -> StorageResult<Vec<ChunkKey>> {
        self.tally("level_keys", 1);
        self.inner.level_keys(session).await
    }

    async fn views(&self, session: &SessionId) -> StorageResult<Vec<ViewHead>> {
        self.tally("views", 1);
        self.inner.views(session).await
    }

    async fn custom(&self, session: &SessionId) -> StorageResult<Vec<(CustomKey, String)>> {
        self.tally("custom", 1);
        self.inner.custom(session).await
    }

    fn watch(&self, session: &SessionId) -> Hints {
        let mut watched = lock(&self.watched);
        let Some(watched) = &mut *watched else { return self.inner.watch(session) };
        let (sender, hints) = Hints::channel();
        watched.push(sender);
        hints
    }

    async fn history(
        &self,
        session: &SessionId,
        query: &HistoryQuery,
    ) -> StorageResult<Vec<HistoryEntry>> {
        self.tally("history", 1);
        let mut entries = self.inner.history(session, query).await?;
        entries.retain(|entry| {
            let mut pages = entry.inverse.pages.iter();
            !pages.any(|page| self.has_lost(&Lost::Edits(page.index.clone())))
        });
        Ok(entries)
    }

    async fn runs(&self, session: &SessionId, prefix: &str) -> StorageResult<Vec<RunRecord>> {
        self.tally("runs", 1);
        self.inner.runs(session, prefix).await
    }

    async fn keep(&self, session: &SessionId, keep: &Keep) -> StorageResult<bool> {
        self.tally("keep", 1);
        let values = keep.runs.iter().filter_map(|put| put.value.as_ref());
        self.tally("run_bytes", values.map(String::len).sum());
        let (made, heard) = self.write();
        let found = if made { self.inner.keep(session, keep).await? } else { false };
        if heard { Ok(found) } else { Err(dead()) }
    }

    async fn commit(&self, session: &SessionId, commit: Commit) -> StorageResult<Committed> {
        self.tally("commit", 1);
        let runs = commit.change.iter().flat_map(|change| &change.runs);
        self.tally("run_bytes", runs.filter_map(|put| Some(put.value.as_ref()?.len())).sum());
        if self.fails.load(Ordering::Relaxed) {
            return Err(told_to_fail());
        }
        let (made, heard) = self.write();
        if !made {
            return Err(dead());
        }
        let held = lock(&self.held).take();
        let committed = self.inner.commit(session, commit).await;
        if !heard {
            return Err(dead());
        }
        if let Some(held) = held {
            // A sender that was dropped lets go as well.
            held.await.ok();
        }
        committed
    }

    async fn import(&self, session: &SessionId, part: ImportPart) -> StorageResult<()> {
        self.tally("import", 1);
        lock(&self.imported).push(part.clone());
        let (made, heard) = self.write();
        if made {
            self.inner.import(session, part).await?;
        }
        if heard { Ok(()) } else { Err(dead()) }
    }

    async fn ledgers(&self, session: &SessionId) -> StorageResult<Vec<LedgerKey>> {
        self.tally("ledgers", 1);
        self.inner.ledgers(session).await
    }

    async fn ledger(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> StorageResult<Vec<SentWindow>> {
        self.tally("ledger", 1);
        self.inner.ledger(session, key, query).await
    }

    async fn record(
        &self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> StorageResult<()> {
        self.tally("record", 1);
        let (made, heard) = self.write();
        if made {
            self.inner.record(session, key, sent).await?;
        }
        if heard { Ok(()) } else { Err(dead()) }
    }

    async fn counts(&self, keys: &[CountKey]) -> StorageResult<Vec<Option<Tokens>>> {
        self.tally("counts", keys.len());
        self.inner.counts(keys).await
    }

    async fn keep_counts(&self, counts: &[(CountKey, Tokens)]) -> StorageResult<()> {
        self.tally("keep_counts", counts.len());
        self.inner.keep_counts(counts).await
    }

    async fn snapshot(&self) -> StorageResult<Arc<dyn PageStorage>> {
        self.tally("snapshot", 1);
        let snapshot = self.inner.snapshot().await?;
        if !self.loses_contents.load(Ordering::Relaxed) {
            return Ok(snapshot);
        }
        let snapshot = Self::new(snapshot);
        snapshot.lose_contents();
        Ok(snapshot)
    }

    async fn verify(&self) -> StorageResult<Vec<String>> {
        self.inner.verify().await
    }

    async fn repair(&self) -> StorageResult<Vec<String>> {
        self.inner.repair().await
    }

    async fn unproven(
        &self,
        session: &SessionId,
        page: &Page,
    ) -> StorageResult<Option<Vec<Message>>> {
        self.inner.unproven(session, page).await
    }

    async fn traces(&self) -> StorageResult<Vec<Trace>> {
        self.inner.traces().await
    }

    async fn scrub(&self, quarantine: Quarantine) -> StorageResult<Vec<Trace>> {
        self.inner.scrub(quarantine).await
    }
}
