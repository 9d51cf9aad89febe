//! Reading a session part by part, in the order in which another storage takes them over.
//!
//! Nothing is held but the batch being read, so a session of a million pages is copied in little
//! memory. History is read twice, first for the contents it assigns: they go before it.

use std::collections::{BTreeSet, VecDeque};

use crate::{
    HistoryEntry, PageStorage, Revision, SegmentId, SessionId,
    storage::{
        ChunkKey, Content, ContentHash, HistoryQuery, ImportPart, LedgerKey, LedgerQuery,
        ScanQuery, SessionInfo, StandingFilter, StorageError, StorageResult,
    },
};

/// How many rows are read at a time.
const BATCH: usize = 1_000;

/// How many contents are read at a time: each may be large.
const CONTENTS: usize = 64;

/// A part is ended when it holds this many bytes of contents.
const PART_BYTES: usize = 4 << 20;

/// Reads a session from one storage. The storage must stand still: a snapshot.
pub(super) struct Walk<'a> {
    storage: &'a dyn PageStorage,
    session: &'a SessionId,
    info: SessionInfo,
    stage: Stage,
    /// Parts read and not handed out yet.
    ready: VecDeque<ImportPart>,
    /// The numbers its segments have given out: no session holds more pages.
    pub(super) numbers: u64,
    /// How many entries of history are read at a time: less where they are large.
    entries: u64,
}

/// What is read next.
enum Stage {
    Begin,
    Segments,
    /// Pages of these segments, of the first of them those after a number.
    Pages(VecDeque<SegmentId>, Option<u64>),
    /// Contents that entries after this revision assign; some are known already.
    Contents(Revision, VecDeque<(ContentHash, Revision)>),
    /// Entries after this revision.
    History(Revision),
    Levels(VecDeque<ChunkKey>),
    Texts,
    /// Records of these ledgers, of the first of them those after a number.
    Ledgers(VecDeque<LedgerKey>, u64),
    Finish,
    Done,
}

impl<'a> Walk<'a> {
    /// Begins to read a session; none where there is no such session.
    pub(super) async fn of(
        storage: &'a dyn PageStorage,
        session: &'a SessionId,
    ) -> StorageResult<Option<Self>> {
        let Some(info) = storage.session(session).await? else { return Ok(None) };
        let (ready, stage) = (VecDeque::new(), Stage::Begin);
        let entries = BATCH as u64;
        Ok(Some(Self { storage, session, info, stage, ready, numbers: 0, entries }))
    }

    /// Returns the session's head.
    pub(super) fn info(&self) -> &SessionInfo {
        &self.info
    }

    /// Says what is being read, for an error.
    pub(super) fn reading(&self) -> String {
        match &self.stage {
            Stage::Begin | Stage::Segments => "its segments".to_owned(),
            Stage::Pages(segments, after) => {
                let segment = segments.front().map(SegmentId::as_str).unwrap_or_default();
                format!("pages of {segment} after number {}", after.unwrap_or(0))
            }
            Stage::Contents(after, _) => format!("contents assigned after revision {after}"),
            Stage::History(after) => format!("history after revision {after}"),
            Stage::Levels(_) => "its level states".to_owned(),
            Stage::Texts => "its views, custom state and run records".to_owned(),
            Stage::Ledgers(..) => "its ledgers".to_owned(),
            Stage::Finish | Stage::Done => "its end".to_owned(),
        }
    }

    /// Reads the next part; none after the last.
    pub(super) async fn next(&mut self) -> StorageResult<Option<ImportPart>> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Ok(Some(part));
            }
            match &self.stage {
                Stage::Begin => {
                    self.ready.push_back(ImportPart::Begin);
                    self.stage = Stage::Segments;
                }
                Stage::Segments => self.segments().await?,
                Stage::Pages(..) => self.pages().await?,
                Stage::Contents(..) => self.contents().await?,
                Stage::History(after) => self.history(*after).await?,
                Stage::Levels(_) => self.levels().await?,
                Stage::Texts => self.texts().await?,
                Stage::Ledgers(..) => self.ledgers().await?,
                Stage::Finish => {
                    self.ready.push_back(ImportPart::Finish(self.info.clone()));
                    self.stage = Stage::Done;
                }
                Stage::Done => return Ok(None),
            }
        }
    }

    async fn segments(&mut self) -> StorageResult<()> {
        let mut segments = self.storage.segments(self.session).await?;
        // Storages may order those alike in their own way.
        segments.sort_by(|a, b| a.id.cmp(&b.id));
        self.numbers = segments.iter().map(|segment| segment.next_number).sum();
        let ids = segments.iter().map(|segment| segment.id.clone()).collect();
        self.put(segments, ImportPart::Segments);
        self.stage = Stage::Pages(ids, None);
        Ok(())
    }

    async fn pages(&mut self) -> StorageResult<()> {
        let Stage::Pages(segments, after) = &mut self.stage else { return Ok(()) };
        let Some(segment) = segments.front() else {
            self.stage = Stage::Contents(Revision(0), VecDeque::new());
            return Ok(());
        };
        let query = ScanQuery {
            segment: segment.clone(),
            standing: StandingFilter::Any,
            after: *after,
            limit: BATCH,
        };
        let pages = self.storage.scan(self.session, &query).await?;
        match pages.last() {
            Some(last) if pages.len() == BATCH => *after = Some(last.index.number()),
            _ => {
                segments.pop_front();
                *after = None;
            }
        }
        self.put(pages, ImportPart::Pages);
        Ok(())
    }

    async fn contents(&mut self) -> StorageResult<()> {
        let Stage::Contents(after, known) = &mut self.stage else { return Ok(()) };
        if known.is_empty() && *after >= self.info.revision {
            self.stage = Stage::History(Revision(0));
            return Ok(());
        }
        if known.is_empty() {
            let after = *after;
            let (entries, upto) = self.entries(after).await?;
            self.stage = Stage::Contents(upto, assigned(&entries));
            return Ok(());
        }
        let some: Vec<_> = known.drain(..known.len().min(CONTENTS)).collect();
        let hashes: Vec<ContentHash> = some.iter().map(|(hash, _)| *hash).collect();
        let read = self.storage.contents(self.session, &hashes).await?;
        let mut part: Vec<Content> = Vec::new();
        let mut bytes = 0;
        for ((hash, revision), content) in some.into_iter().zip(read) {
            let content = content.ok_or_else(|| missing(hash, revision))?;
            if bytes >= PART_BYTES {
                self.ready.push_back(ImportPart::Contents(std::mem::take(&mut part)));
                bytes = 0;
            }
            bytes += content.bytes().len();
            part.push(content);
        }
        self.put(part, ImportPart::Contents);
        Ok(())
    }

    async fn history(&mut self, after: Revision) -> StorageResult<()> {
        if after >= self.info.revision {
            let mut keys = self.storage.level_keys(self.session).await?;
            keys.sort();
            self.stage = Stage::Levels(keys.into());
            return Ok(());
        }
        let (entries, upto) = self.entries(after).await?;
        self.put(entries, ImportPart::History);
        self.stage = Stage::History(upto);
        Ok(())
    }

    /// Reads some entries after a revision, oldest first; tells up to which revision they go.
    async fn entries(&mut self, after: Revision) -> StorageResult<(Vec<HistoryEntry>, Revision)> {
        let upto = Revision(after.0.saturating_add(self.entries)).min(self.info.revision);
        let query = HistoryQuery {
            after: Some(after),
            before: Some(upto.next()),
            limit: BATCH,
            ..HistoryQuery::default()
        };
        let mut entries = self.storage.history(self.session, &query).await?;
        entries.reverse();
        // An entry may name as many pages as a session holds.
        let named: usize = entries.iter().map(|entry| 1 + entry.inverse.pages.len()).sum();
        self.entries = if named > 4 * BATCH { 16 } else { BATCH as u64 };
        Ok((entries, upto))
    }

    async fn levels(&mut self) -> StorageResult<()> {
        let Stage::Levels(keys) = &mut self.stage else { return Ok(()) };
        if keys.is_empty() {
            self.stage = Stage::Texts;
            return Ok(());
        }
        let some: Vec<ChunkKey> = keys.drain(..keys.len().min(100)).collect();
        let chunks = self.storage.levels(self.session, &some).await?;
        self.put(some.into_iter().zip(chunks).collect(), ImportPart::Levels);
        Ok(())
    }

    async fn texts(&mut self) -> StorageResult<()> {
        let mut views = self.storage.views(self.session).await?;
        views.sort_by(|a, b| a.view.cmp(&b.view));
        self.put(views, ImportPart::Views);
        let mut custom = self.storage.custom(self.session).await?;
        custom.sort();
        self.put(custom, ImportPart::Custom);
        let mut runs = self.storage.runs(self.session, "").await?;
        runs.sort_by(|a, b| a.key.cmp(&b.key));
        self.put(runs, ImportPart::Runs);
        let mut keys = self.storage.ledgers(self.session).await?;
        keys.sort();
        self.stage = Stage::Ledgers(keys.into(), 0);
        Ok(())
    }

    async fn ledgers(&mut self) -> StorageResult<()> {
        let Stage::Ledgers(keys, after) = &mut self.stage else { return Ok(()) };
        let Some(key) = keys.front() else {
            self.stage = Stage::Finish;
            return Ok(());
        };
        let limit = CONTENTS;
        let newest = LedgerQuery { upto: None, limit: 1 };
        let newest = self.storage.ledger(self.session, key, &newest).await?.pop();
        let newest = newest.map_or(0, |sent| sent.number);
        let upto = newest.min(after.saturating_add(limit as u64));
        let query = LedgerQuery { upto: Some(upto), limit };
        let mut records = self.storage.ledger(self.session, key, &query).await?;
        records.retain(|sent| sent.number > *after);
        records.reverse();
        let key = key.clone();
        if upto >= newest {
            keys.pop_front();
            *after = 0;
        } else {
            *after = upto;
        }
        self.put(records, |records| ImportPart::Ledger(key, records));
        Ok(())
    }

    fn put<T>(&mut self, records: Vec<T>, part: impl FnOnce(Vec<T>) -> ImportPart) {
        if !records.is_empty() {
            self.ready.push_back(part(records));
        }
    }
}

/// Returns the contents that entries assign, each once, with an entry that does.
fn assigned(entries: &[HistoryEntry]) -> VecDeque<(ContentHash, Revision)> {
    let mut seen = BTreeSet::new();
    let all = entries.iter().flat_map(|entry| {
        let pages = entry.inverse.pages.iter();
        pages.filter_map(|before| before.assigned).map(|hash| (hash, entry.revision))
    });
    all.filter(|(hash, _)| seen.insert(*hash)).collect()
}

/// What was purged is scrubbed from history too, so this is damage.
fn missing(hash: ContentHash, revision: Revision) -> StorageError {
    StorageError::Corrupt {
        what: format!("content {hash}"),
        reason: format!("revision {revision} assigns it, but it is missing"),
    }
}
