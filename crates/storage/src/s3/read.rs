//! What storages are asked for, read from a session as one root has it.

use std::collections::BTreeMap;

use contexture_core::{
    Actor, HistoryEntry, Page, PageIndex, Segment, SegmentId,
    storage::{
        ChildQuery, ChunkKey, Content, ContentHash, CustomKey, HistoryQuery, LedgerKey,
        LedgerQuery, LevelChunk, Order, Place, RunRecord, ScanQuery, SentWindow, StandingFilter,
        ViewHead,
    },
};
use futures::FutureExt;

use super::{
    cursor::Direction,
    fault::{Fault, FaultResult},
    keys::{self, Range, family},
    objects::at_once,
    packs::{self, PackEntry},
    records::{self, Copy},
    table::{Key, Value},
    view::View,
};
use crate::packing::unpack_content;

/// How many chunks a long list loads at once.
fn ahead(limit: usize) -> usize {
    if limit > 200 { 4 } else { 1 }
}

/// The most that is set aside for a list before it is read: limits may be anything.
const PIECE: usize = 512;

impl View {
    pub(crate) async fn segments(&self) -> FaultResult<Vec<Segment>> {
        let all = self.all(Range::family(family::SEGMENT)).await?;
        let segments = all.iter().map(|(key, value)| records::segment(key, value));
        let mut segments: Vec<Segment> = segments.collect::<FaultResult<_>>()?;
        segments.sort_by(Segment::in_order);
        Ok(segments)
    }

    pub(crate) async fn pages(&self, indices: &[PageIndex]) -> FaultResult<Vec<Option<Page>>> {
        let keys: Vec<Key> = indices.iter().map(keys::page).collect();
        let values = self.get_many(&keys).await?;
        let pages = keys.iter().zip(values);
        pages
            .map(|(key, value)| value.map(|value| records::page(key, &value)).transpose())
            .collect()
    }

    /// Reads pages that a list names.
    async fn listed_pages(&self, indices: &[PageIndex]) -> FaultResult<Vec<Page>> {
        let pages = self.pages(indices).await?.into_iter().zip(indices);
        pages
            .map(|(page, index)| {
                page.ok_or_else(|| {
                    Fault::corrupt(format!("page {index}"), "it is listed but missing")
                })
            })
            .collect()
    }

    pub(crate) async fn children(&self, query: &ChildQuery) -> FaultResult<Vec<Page>> {
        let mut found = match query.standing {
            StandingFilter::Listed => self.under(query, family::CHILD).await?,
            StandingFilter::ColdArchived => self.under(query, family::UNLISTED).await?,
            StandingFilter::Any => {
                let mut found = self.under(query, family::CHILD).await?;
                found.extend(self.under(query, family::UNLISTED).await?);
                found
            }
        };
        found.sort_by(|(a, place), (b, other)| (place, a).cmp(&(other, b)));
        if query.order == Order::Backward {
            found.reverse();
        }
        found.truncate(query.limit);
        let indices: Vec<PageIndex> = found.into_iter().map(|(index, _)| index).collect();
        self.listed_pages(&indices).await
    }

    async fn under(&self, query: &ChildQuery, family: u8) -> FaultResult<Vec<(PageIndex, Place)>> {
        let parent = &query.parent;
        let mut range = keys::children_of(parent, family);
        let direction = match (query.order, query.after) {
            (Order::Forward, after) => {
                if let Some(after) = after {
                    let Some(next) = after.0.checked_add(1) else { return Ok(Vec::new()) };
                    range.from = keys::child_at(parent, family, Place(next));
                }
                Direction::Forward
            }
            (Order::Backward, after) => {
                if let Some(after) = after {
                    range = range.before(&keys::child_at(parent, family, after));
                }
                Direction::Backward
            }
        };
        let mut cursor = self.walk(range, direction, ahead(query.limit)).await?;
        let mut found = Vec::new();
        while found.len() < query.limit
            && let Some((key, value)) = cursor.next().await?
        {
            if query.standing != StandingFilter::ColdArchived || *value == [1] {
                found.push(records::listed(&key)?);
            }
        }
        Ok(found)
    }

    pub(crate) async fn child_count(&self, parent: &PageIndex) -> FaultResult<u64> {
        let key = keys::directory(parent);
        let value = self.get(&key).await?;
        value.map_or(Ok(0), |value| records::number(&key, &value))
    }

    pub(crate) async fn last_place(&self, parent: &PageIndex) -> FaultResult<Option<Place>> {
        let mut last = None;
        for family in [family::CHILD, family::UNLISTED] {
            let range = keys::children_of(parent, family);
            let mut cursor = self.walk(range, Direction::Backward, 1).await?;
            if let Some((key, _)) = cursor.next().await? {
                last = last.max(Some(records::listed(&key)?.1));
            }
        }
        Ok(last)
    }

    pub(crate) async fn scan(&self, query: &ScanQuery) -> FaultResult<Vec<Page>> {
        let mut range = keys::pages_of(&query.segment);
        if let Some(after) = query.after {
            range = range.after(&keys::page(&PageIndex::new(query.segment.clone(), after)));
        }
        let mut cursor = self.walk(range, Direction::Forward, ahead(query.limit)).await?;
        let mut pages = Vec::with_capacity(query.limit.min(PIECE));
        while pages.len() < query.limit
            && let Some((key, value)) = cursor.next().await?
        {
            let page = records::page(&key, &value)?;
            if query.standing.admits(&page) {
                pages.push(page);
            }
        }
        Ok(pages)
    }

    pub(crate) async fn turn_page(
        &self,
        segment: &SegmentId,
        author: &Actor,
        after: Option<Place>,
    ) -> FaultResult<Option<Page>> {
        let mut range = keys::turns_of(segment, author);
        let direction = match after {
            None => Direction::Backward,
            Some(after) => {
                let Some(next) = after.0.checked_add(1) else { return Ok(None) };
                range.from = keys::turn_at(segment, author, Place(next));
                Direction::Forward
            }
        };
        let Some((key, _)) = self.walk(range, direction, 1).await?.next().await? else {
            return Ok(None);
        };
        let (index, _) = records::listed(&key)?;
        Ok(self.listed_pages(&[index]).await?.pop())
    }

    pub(crate) async fn contents(
        &self,
        hashes: &[ContentHash],
    ) -> FaultResult<Vec<Option<Content>>> {
        let found = hashes.iter().map(|hash| self.copy_of(hash).boxed());
        let found = at_once(found.collect()).await?;
        let mut contents: Vec<Option<Content>> = vec![None; hashes.len()];
        let mut packed: BTreeMap<_, Vec<packs::Wanted>> = BTreeMap::new();
        for (at, (hash, copy)) in hashes.iter().zip(found).enumerate() {
            match copy {
                None => {}
                Some(Copy::Inline { raw, data }) => {
                    contents[at] = Some(unpack_content(*hash, raw, &data)?);
                }
                Some(Copy::Packed { raw, pack, offset, length }) => {
                    let entry = PackEntry { hash: *hash, raw, offset, length };
                    packed.entry(pack).or_default().push(packs::Wanted { at, entry });
                }
            }
        }
        let reads = packed.into_iter();
        let reads = reads.map(|(pack, wanted)| packs::read_some(&self.home, pack, wanted).boxed());
        for (at, content) in at_once(reads.collect()).await?.into_iter().flatten() {
            contents[at] = Some(content);
        }
        Ok(contents)
    }

    async fn copy_of(&self, hash: &ContentHash) -> FaultResult<Option<Copy>> {
        let mut cursor = self.walk(keys::copies(hash), Direction::Forward, 1).await?;
        let found = cursor.next().await?;
        found.map(|(key, value)| Copy::decode(&key, &value)).transpose()
    }

    pub(crate) async fn levels(&self, wanted: &[ChunkKey]) -> FaultResult<Vec<LevelChunk>> {
        let keys: Vec<Key> = wanted.iter().map(keys::level).collect();
        let values = self.get_many(&keys).await?;
        let level = |(key, value): (&Key, Option<Value>)| {
            value.map_or(Ok(LevelChunk::default()), |value| records::level(key, &value))
        };
        keys.iter().zip(values).map(level).collect()
    }

    pub(crate) async fn level_keys(&self) -> FaultResult<Vec<ChunkKey>> {
        let all = self.all(Range::family(family::LEVEL)).await?;
        let key = |key: &Key| {
            keys::read_level(key)
                .ok_or_else(|| Fault::corrupt(keys::named(key), "its name cannot be read"))
        };
        all.iter().map(|(name, _)| key(name)).collect()
    }

    pub(crate) async fn views(&self) -> FaultResult<Vec<ViewHead>> {
        let all = self.all(Range::family(family::VIEW)).await?;
        let mut heads = Vec::with_capacity(all.len());
        let mut focus: BTreeMap<Key, PageIndex> = BTreeMap::new();
        for (key, value) in self.all(Range::family(family::FOCUS)).await? {
            let page = records::focus(&key, &value)?;
            focus.insert(key, page);
        }
        for (key, value) in all {
            let (view, touched) = records::view(&key, &value)?;
            let focus = focus.remove(&keys::focus(&view));
            heads.push(ViewHead { view, focus, touched });
        }
        Ok(heads)
    }

    pub(crate) async fn custom(&self) -> FaultResult<Vec<(CustomKey, String)>> {
        let all = self.all(Range::family(family::CUSTOM)).await?;
        let custom = |(key, value): &(Key, Value)| {
            let name = keys::last_text(key).and_then(|name| name.parse().ok());
            let name =
                name.ok_or_else(|| Fault::corrupt(keys::named(key), "its name cannot be read"))?;
            Ok((name, records::text(key, value)?))
        };
        all.iter().map(custom).collect()
    }

    pub(crate) async fn history(&self, query: &HistoryQuery) -> FaultResult<Vec<HistoryEntry>> {
        let (mut range, key): (Range, Box<dyn Fn(_) -> Key + Send>) = match &query.actor {
            Some(actor) => {
                let actor = actor.clone();
                (keys::entries_of(&actor), Box::new(move |at| keys::actor(&actor, at)))
            }
            None => (Range::family(family::HISTORY), Box::new(keys::history)),
        };
        if let Some(before) = query.before {
            range = range.before(&key(before));
        }
        if let Some(after) = query.after {
            range = range.after(&key(after));
        }
        drop(key);
        let direction = match query.order {
            Order::Forward => Direction::Forward,
            Order::Backward => Direction::Backward,
        };
        let mut cursor = self.walk(range, direction, ahead(query.limit)).await?;
        let mut entries = Vec::with_capacity(query.limit.min(PIECE));
        let mut named: Vec<Key> = Vec::new();
        while entries.len() + named.len() < query.limit
            && let Some((key, value)) = cursor.next().await?
        {
            if query.actor.is_none() {
                let entry = records::entry(&key, &value)?;
                if !query.undoable || entry.is_undoable() {
                    entries.push(entry);
                }
            } else if !query.undoable || *value == [1] {
                let revision = keys::revision(&key);
                let revision = revision
                    .ok_or_else(|| Fault::corrupt(keys::named(&key), "it cannot be read"))?;
                named.push(keys::history(revision));
                if named.len() == PIECE {
                    entries.extend(self.entries(&std::mem::take(&mut named)).await?);
                }
            }
        }
        entries.extend(self.entries(&named).await?);
        Ok(entries)
    }

    async fn entries(&self, keys: &[Key]) -> FaultResult<Vec<HistoryEntry>> {
        let values = self.get_many(keys).await?;
        let entry = |(key, value): (&Key, Option<Value>)| match value {
            Some(value) => records::entry(key, &value),
            None => Err(Fault::corrupt(keys::named(key), "it is listed but missing")),
        };
        keys.iter().zip(values).map(entry).collect()
    }

    pub(crate) async fn runs(&self, prefix: &str) -> FaultResult<Vec<RunRecord>> {
        let all = self.all(keys::runs(prefix)).await?;
        all.iter().map(|(key, value)| records::run(key, value)).collect()
    }

    pub(crate) async fn ledgers(&self) -> FaultResult<Vec<LedgerKey>> {
        let mut found: Vec<LedgerKey> = Vec::new();
        let mut range = Range::family(family::LEDGER);
        // From each ledger to the next, without reading what stands between.
        while let Some((key, _)) =
            self.walk(range.clone(), Direction::Forward, 1).await?.next().await?
        {
            let Some((ledger, _)) = keys::read_sent(&key) else {
                return Err(Fault::corrupt(keys::named(&key), "its name cannot be read"));
            };
            range.from = keys::ledger(&ledger).to;
            found.push(ledger);
        }
        found.sort();
        Ok(found)
    }

    pub(crate) async fn ledger(
        &self,
        key: &LedgerKey,
        query: &LedgerQuery,
    ) -> FaultResult<Vec<SentWindow>> {
        let mut range = keys::ledger(key);
        if let Some(next) = query.upto.and_then(|upto| upto.checked_add(1)) {
            range = range.before(&keys::sent(key, next));
        }
        let mut cursor = self.walk(range, Direction::Backward, ahead(query.limit)).await?;
        let mut found = Vec::new();
        while found.len() < query.limit
            && let Some((key, value)) = cursor.next().await?
        {
            found.push(records::sent(&key, &value)?);
        }
        Ok(found)
    }
}
