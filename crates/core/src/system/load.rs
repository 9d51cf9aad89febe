//! Loading what a decision needs, from memory where it is resident and from the storage where not.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    ContextSystem,
    resident::{Pins, Stamp},
};
use crate::{
    Edit, Page, PageIndex, Revision, Segment, SegmentId,
    decide::{ChildList, Known, Need, Subject, UndonePages},
    storage::{
        ChildQuery, ChunkKey, Content, ContentHash, HistoryQuery, LevelChunk, MAX_DEPTH, Order,
        PageStanding, StandingFilter, StorageError, StorageResult, ViewId,
    },
};

/// How many rows are read at a time.
const BATCH: usize = 1_000;

/// How many contents are read at a time: each may be large.
pub(crate) const CONTENTS: usize = 64;

impl ContextSystem {
    /// Begins what is known with what the edit itself names.
    pub(super) async fn load_mentioned(&self, edit: &Edit) -> StorageResult<Known> {
        self.catch_up().await?;
        let mut known = Known { segments: self.segments(), ..Known::default() };
        let mut named = Vec::new();
        mentioned(edit, &mut named);
        self.load_lineages(&mut known, named).await?;
        Ok(known)
    }

    /// Loads what is needed into what is known: pages together, contents together, the rest one by one.
    pub(super) async fn load(&self, known: &mut Known, need: Need) -> StorageResult<()> {
        let Need::Several(needs) = need else { return self.load_one(known, need).await };
        let (mut pages, mut rest) = (Vec::new(), Vec::new());
        for need in needs {
            match need {
                Need::Lineage(index) => pages.push(index),
                other => rest.push(other),
            }
        }
        self.load_lineages(known, pages).await?;
        self.fetch_contents(rest.iter().filter_map(|need| match need {
            Need::Content(hash) => Some(*hash),
            _ => None,
        }))
        .await?;
        for need in rest {
            self.load_one(known, need).await?;
        }
        Ok(())
    }

    async fn load_one(&self, known: &mut Known, need: Need) -> StorageResult<()> {
        let storage = self.storage();
        let session = &self.inner.session;
        match need {
            Need::Lineage(index) => self.load_lineage(known, index).await?,
            Need::Children { parent, limit } => {
                let last = storage.last_place(session, &parent).await?;
                let pages = self.all_children(&parent, limit).await?;
                for page in &pages {
                    known.pages.entry(page.index.clone()).or_insert_with(|| Some(page.clone()));
                }
                known.children.insert((parent, limit), ChildList { pages, last });
            }
            Need::LastPlace(parent) => {
                let last = storage.last_place(session, &parent).await?;
                known.last_places.insert(parent, last);
            }
            Need::Chunks(keys) => {
                for key in keys {
                    let chunk = self.chunk(&key).await?;
                    known.chunks.insert(key, chunk);
                }
            }
            Need::Views => known.views = Some(storage.views(session).await?),
            Need::Custom => {
                let (cache, since) = (&self.inner.custom, self.inner.custom.drops());
                known.custom = match cache.get() {
                    Some(state) => Some(state),
                    None => {
                        let read = storage.custom(session).await?.into_iter().collect();
                        let state = Arc::new(read);
                        cache.keep(&state, since);
                        Some(state)
                    }
                };
            }
            Need::LastTurn(segment, actor) => {
                let page = storage.last_turn_page(session, &segment, &actor).await?;
                known.last_turns.insert((segment, actor), page.map(Arc::new));
            }
            Need::NextTurn(segment, actor, after) => {
                let page = storage.next_turn_page(session, &segment, &actor, after).await?;
                known.next_turns.insert((segment, actor, after), page.map(Arc::new));
            }
            Need::Content(hash) => {
                let content = self.content(hash).await?;
                known.contents.insert(hash, content);
            }
            Need::History(revision) => {
                let before = Some(revision.next());
                let query = HistoryQuery { before, limit: 1, ..HistoryQuery::default() };
                let entry = storage.history(session, &query).await?.pop();
                let entry = entry.filter(|entry| entry.revision == revision);
                known.history.insert(revision, entry);
            }
            Need::NewestUndoable(actor) => {
                let query = HistoryQuery {
                    actor: Some(actor.clone()),
                    undoable: true,
                    limit: 1,
                    ..HistoryQuery::default()
                };
                let entry = storage.history(session, &query).await?.pop();
                known.undoable.insert(actor, entry.as_ref().map(|entry| entry.revision));
            }
            Need::LaterEdit(after, subject) => {
                let later = self.later_edit(after, &subject).await?;
                known.later.insert((after, subject), later);
            }
            Need::Height(page) => {
                let height = self.height(&page).await?;
                known.heights.insert(page, height);
            }
            Need::UndonePages => known.undone_pages = Some(Arc::new(self.undone_pages().await?)),
            // `load` takes these apart.
            Need::Several(_) => {}
        }
        Ok(())
    }

    /// Loads pages with all their ancestors: those that are not resident together, one generation
    /// after the other.
    async fn load_lineages(&self, known: &mut Known, pages: Vec<PageIndex>) -> StorageResult<()> {
        let resident = &self.inner.resident;
        let mut wanted: BTreeSet<PageIndex> = pages.into_iter().collect();
        while wanted.len() > 1 {
            let mut found: Vec<(PageIndex, Option<Arc<Page>>)> = Vec::with_capacity(wanted.len());
            let mut missing = Vec::new();
            for index in std::mem::take(&mut wanted) {
                match resident.page(&index) {
                    _ if known.pages.contains_key(&index) => {}
                    Some(page) => found.push((index, Some(page))),
                    None => missing.push(index),
                }
            }
            for indices in missing.chunks(BATCH) {
                let stamps = resident.stamps();
                let pages = self.storage().pages(&self.inner.session, indices).await?;
                for (index, page) in indices.iter().zip(pages) {
                    let page = page.map(Arc::new);
                    page.iter().for_each(|page| resident.keep_listed(page.clone(), &stamps));
                    found.push((index.clone(), page));
                }
            }
            let parents = found.iter().filter_map(|(_, page)| page.as_ref()?.parent.clone());
            wanted.extend(parents);
            known.pages.extend(found);
        }
        for index in wanted {
            self.load_lineage(known, index).await?;
        }
        Ok(())
    }

    /// Counts the levels of pages below a directory, archived ones included, up to one more than a
    /// tree may have.
    async fn height(&self, directory: &PageIndex) -> StorageResult<usize> {
        let (mut height, mut level) = (0, vec![directory.clone()]);
        while !level.is_empty() && height <= MAX_DEPTH {
            let (mut holds, mut below) = (false, Vec::new());
            for parent in level {
                let (standing, order) = (StandingFilter::Any, Order::Forward);
                let mut query = ChildQuery { parent, standing, order, after: None, limit: BATCH };
                loop {
                    let pages = self.storage().children(&self.inner.session, &query).await?;
                    let done = pages.len() < BATCH;
                    query.after = pages.last().map(|page| page.place);
                    let there = pages
                        .iter()
                        .filter(|page| !matches!(page.standing, PageStanding::Moved(_)));
                    for page in there {
                        holds = true;
                        below.extend(page.is_contents().then(|| page.index.clone()));
                    }
                    if done {
                        break;
                    }
                }
            }
            height += usize::from(holds);
            level = below;
        }
        Ok(height)
    }

    async fn load_lineage(&self, known: &mut Known, index: PageIndex) -> StorageResult<()> {
        let mut next = Some(index);
        while let Some(index) = next {
            if known.pages.contains_key(&index) {
                break;
            }
            let page = self.page(&index).await?;
            next = page.as_ref().and_then(|page| page.parent.clone());
            known.pages.insert(index, page);
        }
        Ok(())
    }

    async fn later_edit(
        &self,
        after: Revision,
        subject: &Subject,
    ) -> StorageResult<Option<Revision>> {
        let mut before = None;
        loop {
            let query = HistoryQuery {
                after: Some(after),
                before,
                limit: BATCH,
                ..HistoryQuery::default()
            };
            let entries = self.storage().history(&self.inner.session, &query).await?;
            if let Some(entry) = entries.iter().find(|entry| subject.is_touched_by(entry)) {
                return Ok(Some(entry.revision));
            }
            match entries.last() {
                Some(oldest) if entries.len() == BATCH => before = Some(oldest.revision),
                _ => return Ok(None),
            }
        }
    }

    /// Finds the pages that undos took away: it reads the whole history.
    async fn undone_pages(&self) -> StorageResult<UndonePages> {
        let mut undone_pages = UndonePages::default();
        let mut before = None;
        loop {
            let query = HistoryQuery { before, limit: BATCH, ..HistoryQuery::default() };
            let entries = self.storage().history(&self.inner.session, &query).await?;
            entries.iter().for_each(|entry| undone_pages.note(entry));
            match entries.last() {
                Some(oldest) if entries.len() == BATCH => before = Some(oldest.revision),
                _ => return Ok(undone_pages),
            }
        }
    }

    async fn all_children(
        &self,
        parent: &PageIndex,
        limit: Option<usize>,
    ) -> StorageResult<Vec<Arc<Page>>> {
        let most = limit.unwrap_or(usize::MAX);
        let mut pages: Vec<Arc<Page>> = Vec::new();
        while pages.len() < most {
            let query = ChildQuery {
                parent: parent.clone(),
                standing: StandingFilter::Any,
                order: Order::Forward,
                after: pages.last().map(|page| page.place),
                limit: BATCH.min(most - pages.len()),
            };
            let batch = self.storage().children(&self.inner.session, &query).await?;
            let done = batch.len() < query.limit;
            pages.extend(batch.into_iter().map(Arc::new));
            if done {
                break;
            }
        }
        Ok(pages)
    }

    /// Returns a page of whatever standing.
    pub(super) async fn page(&self, index: &PageIndex) -> StorageResult<Option<Arc<Page>>> {
        if let Some(page) = self.inner.resident.page(index) {
            return Ok(Some(page));
        }
        let stamp = self.inner.resident.stamp(index.segment(), index.number());
        let known = || self.inner.resident.page(index).map(Some);
        let read = || {
            let (system, index) = (self.clone(), index.clone());
            async move { system.read_page(&index, stamp).await }
        };
        self.inner.loads.pages.load(index, stamp, known, read).await
    }

    /// Reads a page from the storage and keeps it.
    pub(super) async fn read_page(
        &self,
        index: &PageIndex,
        stamp: Stamp,
    ) -> StorageResult<Option<Arc<Page>>> {
        let indices = std::slice::from_ref(index);
        let page = self.storage().pages(&self.inner.session, indices).await?.pop().flatten();
        let page = page.map(Arc::new);
        if let Some(page) = &page {
            self.inner.resident.keep_page(page, stamp);
        }
        self.used();
        Ok(page)
    }

    /// Pins the pages of a view's window. What of it was dropped while it was read is read again.
    pub(super) async fn hold_window<'a>(
        &self,
        view: &ViewId,
        pages: impl DoubleEndedIterator<Item = &'a Arc<Page>>,
    ) -> StorageResult<()> {
        let resident = &self.inner.resident;
        let missing = resident.hold_window(view, pages);
        for indices in missing.chunks(BATCH) {
            let stamps = resident.stamps();
            let pages = self.storage().pages(&self.inner.session, indices).await?;
            for page in pages.into_iter().flatten() {
                resident.keep_listed(Arc::new(page), &stamps);
            }
        }
        Ok(())
    }

    /// Returns a chunk of level state.
    pub(super) async fn chunk(&self, key: &ChunkKey) -> StorageResult<Arc<LevelChunk>> {
        if let Some(chunk) = self.inner.resident.chunk(key) {
            return Ok(chunk);
        }
        let stamp = self.inner.resident.stamp(&key.segment, key.chunk * LevelChunk::SPAN);
        let known = || self.inner.resident.chunk(key);
        let read = || {
            let (system, key) = (self.clone(), key.clone());
            async move { system.read_chunk(&key, stamp).await }
        };
        self.inner.loads.chunks.load(key, stamp, known, read).await
    }

    async fn read_chunk(&self, key: &ChunkKey, stamp: Stamp) -> StorageResult<Arc<LevelChunk>> {
        let keys = std::slice::from_ref(key);
        let chunk = self.storage().levels(&self.inner.session, keys).await?.pop();
        let chunk = Arc::new(chunk.unwrap_or_default());
        self.inner.resident.keep_chunk(key, &chunk, stamp);
        Ok(chunk)
    }

    /// Returns what a view says of pins in a segment.
    pub(super) async fn pins(&self, view: &ViewId, segment: &Segment) -> StorageResult<Pins> {
        let resident = &self.inner.resident;
        let key = (view.clone(), segment.id.clone());
        let (known, since) = resident.pins(&key);
        if let Some(known) = known {
            return Ok(known);
        }
        let (storage, session) = (self.storage(), &self.inner.session);
        let mut keys = storage.level_keys(session).await?;
        keys.retain(|key| key.view == *view && key.segment == segment.id);
        // A session of a million pages has thousands of chunks, and a view says something of a few.
        let chunks = match keys.is_empty() {
            true => Vec::new(),
            false => storage.levels(session, &keys).await?,
        };
        let pins: Pins = chunks.iter().flat_map(LevelChunk::pins).collect();
        resident.keep_pins(key, &pins, since);
        Ok(pins)
    }

    /// Returns a content that a page refers to.
    pub(crate) async fn content(&self, hash: ContentHash) -> StorageResult<Content> {
        if let Some(content) = self.inner.resident.content(&hash) {
            return Ok(content);
        }
        let stamp = self.inner.resident.content_stamp(&hash);
        let known = || self.inner.resident.content(&hash);
        let read = || {
            let system = self.clone();
            async move { system.read_content(hash, stamp).await }
        };
        self.inner.loads.contents.load(&hash, stamp, known, read).await
    }

    /// Makes contents resident that are about to be read one by one, many with one question: behind a
    /// server each takes a round trip. What is not there is told to whoever reads it.
    pub(crate) async fn fetch_contents(
        &self,
        hashes: impl IntoIterator<Item = ContentHash>,
    ) -> StorageResult<()> {
        let resident = &self.inner.resident;
        let missing: BTreeSet<ContentHash> =
            hashes.into_iter().filter(|hash| !resident.has_content(hash)).collect();
        let missing: Vec<ContentHash> = missing.into_iter().collect();
        for hashes in missing.chunks(CONTENTS) {
            // One alone is as well read by whoever wants it, together with others who do.
            if hashes.len() == 1 {
                continue;
            }
            let stamps: Vec<Stamp> =
                hashes.iter().map(|hash| resident.content_stamp(hash)).collect();
            let contents = self.storage().contents(&self.inner.session, hashes).await?;
            for (content, stamp) in contents.iter().zip(stamps) {
                content.iter().for_each(|content| resident.keep_content(content, stamp));
            }
            self.used();
        }
        Ok(())
    }

    async fn read_content(&self, hash: ContentHash, stamp: Stamp) -> StorageResult<Content> {
        let content = self.storage().contents(&self.inner.session, &[hash]).await?.pop().flatten();
        let content = content.ok_or_else(|| StorageError::Corrupt {
            what: format!("content {hash}"),
            reason: "a page refers to it, but it is missing".to_owned(),
        })?;
        self.inner.resident.keep_content(&content, stamp);
        self.used();
        Ok(content)
    }
}

/// Collects the pages an edit names.
fn mentioned(edit: &Edit, into: &mut Vec<PageIndex>) {
    let root = |segment: &SegmentId| segment.root();
    match edit {
        Edit::AddSegment(new) => into.push(root(&new.id)),
        Edit::RemoveSegment { segment, .. }
        | Edit::AddTurn { segment, .. }
        | Edit::ExtendTurn { segment, .. }
        | Edit::OpenExchange { segment, .. }
        | Edit::AddResults { segment, .. }
        | Edit::CloseExchange { segment } => into.push(root(segment)),
        Edit::PublishTurn { segment, sources, .. } => {
            into.push(root(segment));
            into.extend(sources.iter().cloned());
        }
        Edit::CreateDetailPage(new) => {
            into.push(new.parent.clone());
            into.extend(new.sources.iter().cloned());
        }
        Edit::CreateContentsPage(new) => {
            into.push(new.parent.clone());
            into.extend(new.children.iter().cloned());
        }
        Edit::UpdatePage(update) => into.push(update.page.clone()),
        Edit::ExpandDetails(page)
        | Edit::HideDetails(page)
        | Edit::PinPage(page)
        | Edit::UnpinPage(page)
        | Edit::FocusPage(page)
        | Edit::ArchivePage(page)
        | Edit::RemovePage(page)
        | Edit::PurgePage(page) => into.push(page.clone()),
        Edit::FoldPages(plan) => into.extend(plan.steps.iter().map(|step| step.page.clone())),
        Edit::MovePage { page, to } => into.extend([page.clone(), to.clone()]),
        Edit::RestorePage { page, to } => {
            into.push(page.clone());
            into.extend(to.clone());
        }
        Edit::Batch(edits) | Edit::Init(edits) | Edit::Import(edits) | Edit::Recall(edits) => {
            edits.iter().for_each(|edit| mentioned(edit, into));
        }
        Edit::UpdateSegment(_)
        | Edit::SetPermission { .. }
        | Edit::SetCustom { .. }
        | Edit::ExpectCustom { .. }
        | Edit::SwitchLevel(_)
        | Edit::RecordRound { .. }
        | Edit::BranchView { .. }
        | Edit::Undo { .. }
        | Edit::Load(_) => {}
    }
}

/// Answers a need for a session that does not exist yet.
pub(super) fn assume_empty(known: &mut Known, need: Need) {
    match need {
        Need::Lineage(index) => drop(known.pages.insert(index, None)),
        Need::Children { parent, limit } => {
            drop(known.children.insert((parent, limit), ChildList::default()));
        }
        Need::LastPlace(parent) => drop(known.last_places.insert(parent, None)),
        Need::Chunks(keys) => {
            known.chunks.extend(keys.into_iter().map(|key| (key, Arc::default())));
        }
        Need::Views => known.views = Some(Vec::new()),
        Need::Custom => known.custom = Some(Default::default()),
        Need::LastTurn(segment, actor) => drop(known.last_turns.insert((segment, actor), None)),
        Need::NextTurn(segment, actor, after) => {
            drop(known.next_turns.insert((segment, actor, after), None));
        }
        Need::Content(hash) => drop(known.contents.insert(hash, Content::encode(&[]))),
        Need::History(revision) => drop(known.history.insert(revision, None)),
        Need::NewestUndoable(actor) => drop(known.undoable.insert(actor, None)),
        Need::LaterEdit(after, subject) => drop(known.later.insert((after, subject), None)),
        Need::Height(page) => drop(known.heights.insert(page, 0)),
        Need::UndonePages => known.undone_pages = Some(Arc::default()),
        Need::Several(needs) => needs.into_iter().for_each(|need| assume_empty(known, need)),
    }
}
