//! Deciding a change on a session as it stands, and laying what it writes over it.

use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    Page, PageIndex, Revision, SessionId,
    storage::{
        Change, Commit, Committed, ContentHash, Keep, LedgerKey, LedgerQuery, RunPut, SentWindow,
        SessionInfo, StorageError, UsageReport,
        commit_plan::{
            CommitReads, CommitState, CommitWrites, PageWrite, check_run_version, plan_commit,
        },
    },
};

use super::{
    fault::{Fault, FaultResult},
    keys::{self, value},
    records::{self, Copy},
    root::Id,
    table::{Key, Value},
    view::View,
};
use crate::{packing::PackedContent, random};

/// What a group of changes has come to so far.
pub(crate) struct Stage {
    pub(crate) view: View,
    /// The session's head; none where there is no session.
    pub(crate) info: Option<SessionInfo>,
    /// Contents that are written on their own.
    pub(crate) large: Vec<PackedContent>,
    /// Whether something is to be written.
    pub(crate) changed: bool,
    /// Whether a change is in it only by half: it is of no use any more.
    pub(crate) spoilt: bool,
    /// Packs with contents that are to go.
    pub(crate) dirty: BTreeSet<Id>,
}

impl Stage {
    pub(crate) fn new(view: View, info: Option<SessionInfo>) -> Self {
        let (large, dirty) = (Vec::new(), BTreeSet::new());
        Self { view, info, large, changed: false, spoilt: false, dirty }
    }

    fn put(&mut self, key: Key, value: Option<Value>) {
        self.view.over.insert(key, value);
    }

    /// Decides a commit and lays it over the session.
    pub(crate) async fn commit(
        &mut self,
        session: &SessionId,
        commit: Commit,
        contents: &[PackedContent],
        large_from: usize,
    ) -> FaultResult<Committed> {
        let present = self.present(commit.change.as_ref()).await?;
        let mark = random::mark(&self.view.home.objects.name)?;
        let writes = plan_commit(present, session, commit, || mark)?;
        self.check(&writes)?;
        let committed = writes.committed.clone();
        self.spoilt = true;
        self.write(writes, contents, large_from).await?;
        self.spoilt = false;
        self.changed = true;
        Ok(committed)
    }

    /// Refuses what lists could not hold.
    fn check(&self, writes: &CommitWrites) -> FaultResult<()> {
        for page in writes.pages.iter().filter_map(|page| page.after.as_ref()) {
            let stray =
                page.parent.as_ref().filter(|parent| parent.segment() != page.index.segment());
            if let Some(parent) = stray {
                let reason = format!("its parent {parent} is in another segment");
                return Err(Fault::corrupt(page.index.to_string(), reason));
            }
        }
        Ok(())
    }

    async fn present(&self, change: Option<&Change>) -> FaultResult<CommitState> {
        let mut present = CommitState { info: self.info.clone(), ..CommitState::default() };
        let Some(change) = change.filter(|_| self.info.is_some()) else { return Ok(present) };
        let mut asked = CommitReads::of(change);
        self.read(&asked, &mut present).await?;
        loop {
            let more = present.unread(change, &asked);
            if more.is_empty() {
                return Ok(present);
            }
            self.read(&more, &mut present).await?;
            asked.extend(more);
        }
    }

    async fn read(&self, wanted: &CommitReads, present: &mut CommitState) -> FaultResult<()> {
        let pages = wanted.pages.iter().map(keys::page);
        let segments = wanted.segments.iter().map(keys::segment);
        let chunks = wanted.chunks.iter().map(keys::level);
        let focus = wanted.focus.iter().map(keys::focus);
        let custom = wanted.custom.iter().map(keys::custom);
        let entries = wanted.entries.iter().map(|revision| keys::history(*revision));
        let runs = wanted.runs.iter().map(keys::run);
        let all: Vec<Key> = pages
            .chain(segments)
            .chain(chunks)
            .chain(focus)
            .chain(custom)
            .chain(entries)
            .chain(runs)
            .collect();
        let values = self.view.get_many(&all).await?;
        let mut read = all.iter().zip(values);
        let mut next = || read.next().and_then(|(key, value)| Some((key, value?)));
        for index in &wanted.pages {
            if let Some((key, value)) = next() {
                present.pages.insert(index.clone(), records::page(key, &value)?);
            }
        }
        for id in &wanted.segments {
            if let Some((key, value)) = next() {
                present.segments.insert(id.clone(), records::segment(key, &value)?);
            }
        }
        for chunk in &wanted.chunks {
            if let Some((key, value)) = next() {
                present.chunks.insert(chunk.clone(), records::level(key, &value)?);
            }
        }
        for view in &wanted.focus {
            if let Some((key, value)) = next() {
                present.focus.insert(view.clone(), records::focus(key, &value)?);
            }
        }
        for name in &wanted.custom {
            if let Some((key, value)) = next() {
                present.custom.insert(name.clone(), records::text(key, &value)?);
            }
        }
        for revision in &wanted.entries {
            if let Some((key, value)) = next() {
                present.entries.insert(*revision, records::entry(key, &value)?);
            }
        }
        for name in &wanted.runs {
            if let Some((key, value)) = next() {
                present.runs.insert(name.clone(), records::run(key, &value)?);
            }
        }
        for parent in &wanted.lists {
            if let Some(place) = self.view.last_place(parent).await? {
                present.last_places.insert(parent.clone(), place);
            }
        }
        Ok(())
    }

    async fn write(
        &mut self,
        writes: CommitWrites,
        contents: &[PackedContent],
        large_from: usize,
    ) -> FaultResult<()> {
        self.write_pages(&writes.pages).await?;
        for segment in &writes.segments {
            self.put(keys::segment(&segment.id), value(records::json(segment)));
        }
        for view in &writes.views {
            let touched = writes.info.revision.0.to_le_bytes();
            self.put(keys::view(view), value(touched));
        }
        for (key, chunk) in &writes.levels {
            let kept = (!chunk.is_empty()).then(|| records::json(chunk).into());
            self.put(keys::level(key), kept);
        }
        for (view, page) in &writes.focus {
            let page = page.as_ref().map(|page| page.to_string().into_bytes().into());
            self.put(keys::focus(view), page);
        }
        for (key, text) in &writes.custom {
            self.put(keys::custom(key), text.as_ref().map(|text| text.as_bytes().into()));
        }
        for put in &writes.runs {
            self.put_run(put);
        }
        for entry in writes.amended.iter().chain(&writes.entry) {
            let records = records::of_entry(entry).into_iter();
            self.view.over.extend(records.map(|(key, value)| (key, Some(value))));
        }
        self.keep_contents(&writes.referred, contents, large_from);
        if !writes.freed.is_empty() {
            self.free(&writes).await?;
        }
        if writes.scrubs_ledgers {
            self.scrub_ledgers().await?;
        }
        self.info = Some(writes.info);
        Ok(())
    }

    async fn write_pages(&mut self, pages: &[PageWrite]) -> FaultResult<()> {
        let mut counts: BTreeMap<PageIndex, i64> = BTreeMap::new();
        for PageWrite { index, before, after } in pages {
            for (key, _) in before.iter().flat_map(keys::derived) {
                self.put(key, None);
            }
            let encoded = after.as_ref().map(|page| page.encode().into());
            self.put(keys::page(index), encoded);
            for (key, text) in after.iter().flat_map(keys::derived) {
                self.put(key, value(text));
            }
            for (page, by) in [(before, -1), (after, 1)] {
                if let Some(parent) = page.as_ref().and_then(listed_in) {
                    *counts.entry(parent).or_default() += by;
                }
            }
        }
        counts.retain(|_, by| *by != 0);
        let named: Vec<Key> = counts.keys().map(keys::directory).collect();
        let stored = self.view.get_many(&named).await?;
        for ((key, stored), by) in named.into_iter().zip(stored).zip(counts.values()) {
            let stored = stored.map_or(Ok(0), |stored| records::number(&key, &stored))?;
            let Some(count) = stored.checked_add_signed(*by) else {
                return Err(Fault::corrupt(keys::named(&key), "it counts fewer pages than it has"));
            };
            let kept = (count > 0).then(|| count.to_le_bytes().as_slice().into());
            self.put(key, kept);
        }
        Ok(())
    }

    fn put_run(&mut self, put: &RunPut) {
        let record = put.record().map(|record| records::encode_run(&record).into());
        self.put(keys::run(&put.key), record);
    }

    /// Keeps contents that are newly referred to.
    fn keep_contents(
        &mut self,
        referred: &[ContentHash],
        contents: &[PackedContent],
        large_from: usize,
    ) {
        let referred: BTreeSet<&ContentHash> = referred.iter().collect();
        for packed in contents.iter().filter(|packed| referred.contains(&packed.content.hash())) {
            let hash = packed.content.hash();
            let copy = keys::copy(&hash, None);
            // Elsewhere it is not looked for: a second copy costs less than looking.
            let is_here = matches!(self.view.over.get(&copy), Some(Some(_)))
                || matches!(self.view.root.inline.get(&copy), Some(Some(_)))
                || self.large.iter().any(|large| large.content.hash() == hash);
            if is_here && !matches!(self.view.over.get(&copy), Some(None)) {
                continue;
            }
            if packed.packed.stored(packed.content.bytes()).len() >= large_from {
                let content = packed.content.clone();
                self.large.push(PackedContent::new(&content));
            } else {
                self.put(copy, value(Copy::inline(packed).encode()));
            }
        }
    }

    /// Takes away references that a purge frees, and contents with their last one.
    async fn free(&mut self, writes: &CommitWrites) -> FaultResult<()> {
        let amended = writes.amended.iter();
        let amended: BTreeMap<Revision, BTreeMap<ContentHash, u64>> =
            amended.map(|entry| (entry.revision, records::references(entry))).collect();
        let hashes: BTreeSet<ContentHash> = writes.freed.iter().copied().collect();
        for hash in hashes {
            let mut is_referred = false;
            for (key, _) in self.view.all(keys::references(&hash)).await? {
                let entry = keys::revision(&key).and_then(|revision| amended.get(&revision));
                if entry.is_some_and(|entry| !entry.contains_key(&hash)) {
                    self.put(key, None);
                } else {
                    is_referred = true;
                }
            }
            if is_referred {
                continue;
            }
            for (key, _) in self.view.all(keys::copies(&hash)).await? {
                self.dirty.extend(keys::read_copy(&key).and_then(|(_, pack)| pack));
                self.put(key, None);
            }
        }
        Ok(())
    }

    async fn scrub_ledgers(&mut self) -> FaultResult<()> {
        for (key, stored) in self.view.all(keys::Range::family(keys::family::LEDGER)).await? {
            let mut sent = records::sent(&key, &stored)?;
            sent.scrub();
            self.put(key, value(records::json(&sent)));
        }
        Ok(())
    }

    fn there(&self, session: &SessionId) -> FaultResult<()> {
        match self.info {
            Some(_) => Ok(()),
            None => Err(StorageError::SessionMissing { session: session.clone() }.into()),
        }
    }

    /// Keeps run records and notes a report; tells whether there is the window that is reported on.
    pub(crate) async fn keep(&mut self, session: &SessionId, keep: &Keep) -> FaultResult<bool> {
        if !keep.runs.is_empty() {
            self.there(session)?;
        }
        for put in &keep.runs {
            let key = keys::run(&put.key);
            let stored = self.view.get(&key).await?;
            let stored = stored.map(|stored| records::run(&key, &stored)).transpose()?;
            check_run_version(stored.as_ref(), put)?;
        }
        let reported = match &keep.report {
            Some(report) => self.reported(report).await?,
            None => None,
        };
        let found = keep.report.is_none() || reported.is_some();
        self.changed |= !keep.runs.is_empty() || reported.is_some();
        keep.runs.iter().for_each(|put| self.put_run(put));
        if let Some((key, sent)) = reported {
            self.put(key, value(records::json(&sent)));
        }
        Ok(found)
    }

    /// Returns a window sent as a report leaves it, with its key; none where there is no such window.
    async fn reported(&self, report: &UsageReport) -> FaultResult<Option<(Key, SentWindow)>> {
        if self.info.is_none() {
            return Ok(None);
        }
        let key = keys::sent(&report.ledger, report.number);
        let Some(stored) = self.view.get(&key).await? else { return Ok(None) };
        let usage = Some(report.usage.clone());
        let sent = SentWindow { usage, ..records::sent(&key, &stored)? };
        Ok(Some((key, sent)))
    }

    pub(crate) async fn record(
        &mut self,
        session: &SessionId,
        key: &LedgerKey,
        sent: &SentWindow,
    ) -> FaultResult<()> {
        self.there(session)?;
        let query = LedgerQuery { upto: None, limit: 1 };
        let last = self.view.ledger(key, &query).await?.pop();
        if last.map_or(0, |last| last.number).checked_add(1) != Some(sent.number) {
            let subject = format!("the {} ledger of view {}", key.format, key.view);
            return Err(StorageError::Conflict { subject }.into());
        }
        self.put(keys::sent(key, sent.number), value(records::json(sent)));
        self.changed = true;
        Ok(())
    }
}

/// Returns the directory that lists a page.
pub(crate) fn listed_in(page: &Page) -> Option<PageIndex> {
    page.parent.clone().filter(|_| page.standing.is_listed())
}
