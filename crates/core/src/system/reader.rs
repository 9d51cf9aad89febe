//! Reading: pages, lists and search, as a view sees them. History stands beside it.

mod admit;
mod changes;
mod history;
mod list;

use std::sync::Arc;

use super::ContextSystem;
use crate::{
    Error, ErrorKind, Level, Lifecycle, Message, Page, PageIndex, Principal, Result, Segment,
    SegmentId, SegmentKind, View, Visibility, WindowLevel,
    decide::MOST_MOVES,
    storage::{
        ChildQuery, ChunkKey, LevelEntry, Order, PageRunForm, PageStanding, Place, StandingFilter,
        ViewId,
    },
};

pub use admit::{AdmittedMessage, AdmittedMessages, AdmittedPage};
pub use changes::SeenChange;
pub use list::{ListQuery, Listing};

/// How many rows are read at a time.
const BATCH: usize = 1_000;

/// A page as a view has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageView {
    /// The page itself.
    pub page: Arc<Page>,
    /// Expanded or hidden, in this view.
    pub visibility: Visibility,
    /// How much of it stands in the window, in this view.
    pub level: WindowLevel,
    /// Whether it stands in the window, in this view.
    pub lifecycle: Lifecycle,
    /// Whether it is kept from folding, in this view.
    pub pinned: bool,
}

/// Answers questions for one view.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    pub(super) system: &'a ContextSystem,
    pub(super) view: ViewId,
    pub(super) guard: Option<&'a View>,
}

impl<'a> Reader<'a> {
    pub(crate) fn of(system: &'a ContextSystem, principal: &'a Principal) -> Self {
        Self { system, view: principal.view_id(), guard: principal.view() }
    }

    /// Returns the segments in view, in order.
    pub fn segments(&self) -> Vec<Arc<Segment>> {
        let segments = self.system.segments();
        let seen = |segment: &&Arc<Segment>| self.guard.is_none_or(|view| view.mounts(segment));
        let mut seen: Vec<Arc<Segment>> = segments.present().filter(seen).cloned().collect();
        if let Some(view) = self.guard {
            // Stable: what the view does not order stays in display order.
            seen.sort_by_key(|segment| view.position(&segment.id));
        }
        seen
    }

    /// Returns a segment in view.
    pub fn segment(&self, id: &SegmentId) -> Result<Arc<Segment>> {
        let segment = self.system.segments().get(id).cloned();
        let seen = |segment: &Arc<Segment>| {
            !segment.removed && self.guard.is_none_or(|view| view.mounts(segment))
        };
        segment.filter(seen).ok_or_else(|| Error::SegmentNotFound { segment: id.clone() })
    }

    /// Returns a page in the tree.
    pub async fn page(&self, index: &PageIndex) -> Result<PageView> {
        let seen = self.seen(index).await?;
        match seen.lifecycle {
            Lifecycle::Active | Lifecycle::HotArchived => Ok(seen),
            Lifecycle::ColdArchived => Err(Error::PageArchived { page: index.clone() }),
        }
    }

    /// Returns a page in the tree or the archive.
    pub async fn page_or_archived(&self, index: &PageIndex) -> Result<PageView> {
        self.seen(index).await
    }

    /// Tells whether a page is in the tree of this view. That it cannot be read is an error, not an
    /// absence.
    pub async fn has_page(&self, index: &PageIndex) -> Result<bool> {
        match self.page(index).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn seen(&self, index: &PageIndex) -> Result<PageView> {
        self.system.catch_up().await?;
        // The system side also sees the archive of removed segments.
        let segment = match self.guard {
            Some(_) => self.segment(index.segment()).ok(),
            None => self.system.segments().get(index.segment()).cloned(),
        };
        // Nothing is looked up: the time that takes would tell what lies out of view.
        let Some(segment) = segment else {
            return Err(Error::PageNotFound { page: index.clone() });
        };
        match self.system.page(index).await? {
            Some(page) if !matches!(page.standing, PageStanding::Moved(_)) => {
                let seen = self.describe(&segment, page).await?;
                seen.ok_or_else(|| Error::PageNotFound { page: index.clone() })
            }
            _ => Err(self.missing(index).await?),
        }
    }

    /// Returns the error for a page that is not there, which may say where it went.
    async fn missing(&self, index: &PageIndex) -> Result<Error> {
        let mut target = None;
        let mut next = self.system.page(index).await?;
        for _ in 0..MOST_MOVES {
            let Some(PageStanding::Moved(to)) = next.as_ref().map(|page| page.standing.clone())
            else {
                break;
            };
            next = self.system.page(&to).await?;
            target = Some(to);
        }
        let page = index.clone();
        Ok(match target {
            Some(to) if self.sees(&to).await? => Error::PageMoved { page, to },
            _ => Error::PageNotFound { page },
        })
    }

    /// Works out how a page stands in this view; none where it does not exist for it.
    async fn describe(&self, segment: &Segment, page: Arc<Page>) -> Result<Option<PageView>> {
        let Some(seen_page) = self.seen_page(segment, page).await? else { return Ok(None) };
        let page = self.without_foreign_links(seen_page.page).await?;
        let entries = self.entries(&page).await?;
        let (lifecycle, hidden) = self.lifecycle(segment, &page).await?;
        let level = if hidden {
            WindowLevel::Out
        } else {
            let covered = self.run_over(segment, &page, &entries).await?;
            covered.unwrap_or_else(|| self.level(segment, &page, &entries).into())
        };
        let visibility = match level {
            WindowLevel::Full => Visibility::Expanded,
            _ if hidden => self.visibility(segment, &page, &entries),
            _ => Visibility::Hidden,
        };
        let pinned = entries.0.pinned.or(entries.1.pinned).unwrap_or(false);
        Ok(Some(PageView { page, visibility, level, lifecycle, pinned }))
    }

    /// Returns how a page stands by its own entries, this view's fold included.
    pub(crate) fn level(
        &self,
        segment: &Segment,
        page: &Page,
        entries: &(LevelEntry, LevelEntry),
    ) -> Level {
        let level = Level::from(self.visibility(segment, page, entries));
        let pinned = entries.0.pinned.or(entries.1.pinned).unwrap_or(false);
        // What agents are bound by, what is pinned and what waits for results never folds.
        let stands = pinned || page.is_open() || segment.kind == SegmentKind::System;
        match entries.0.fold {
            Some(fold) if !stands => fold.cap().min(level),
            _ => level,
        }
    }

    /// Returns the level of a page that a run stands for.
    async fn run_over(
        &self,
        segment: &Segment,
        page: &Page,
        (own, system): &(LevelEntry, LevelEntry),
    ) -> Result<Option<WindowLevel>> {
        let Some(parent) = &page.parent else { return Ok(None) };
        if segment.stands_in_full() || own.pinned.or(system.pinned).unwrap_or(false) {
            return Ok(None);
        }
        let entry = self.own_entry(parent).await?;
        Ok(entry.run_over(&page.index, page.place).map(|run| match run.form {
            PageRunForm::Line | PageRunForm::Gist => WindowLevel::Run,
            PageRunForm::Out => WindowLevel::Out,
        }))
    }

    /// Takes out what a page says of pages that are out of view.
    async fn without_foreign_links(&self, page: Arc<Page>) -> Result<Arc<Page>> {
        if self.guard.is_none() {
            return Ok(page);
        }
        let mut foreign = Vec::new();
        for index in page.sources.iter().chain(&page.turn) {
            if *index != page.index && !self.sees(index).await? {
                foreign.push(index.clone());
            }
        }
        if foreign.is_empty() {
            return Ok(page);
        }
        let mut page = Arc::unwrap_or_clone(page);
        page.sources.retain(|index| !foreign.contains(index));
        page.turn = page.turn.filter(|index| !foreign.contains(index));
        Ok(Arc::new(page))
    }

    /// Returns what this view and the system side's say of a page.
    pub(crate) async fn entries(&self, page: &Page) -> Result<(LevelEntry, LevelEntry)> {
        let number = page.index.number();
        let own = self.own_entry(&page.index).await?;
        if self.view == ViewId::SYSTEM {
            return Ok((own.clone(), own));
        }
        let key = ChunkKey::of(&ViewId::SYSTEM, &page.index);
        Ok((own, self.system.chunk(&key).await?.entry(number)))
    }

    pub(crate) async fn own_entry(&self, page: &PageIndex) -> Result<LevelEntry> {
        let chunk = self.system.chunk(&ChunkKey::of(&self.view, page)).await?;
        Ok(chunk.entry(page.number()))
    }

    /// Returns how a page stands without folds.
    pub(crate) fn visibility(
        &self,
        segment: &Segment,
        page: &Page,
        (own, system): &(LevelEntry, LevelEntry),
    ) -> Visibility {
        let root = segment.kind == SegmentKind::System && page.index.is_root();
        if root || segment.stands_in_full() {
            return Visibility::Expanded;
        }
        own.shown.or(system.shown).unwrap_or(page.visibility)
    }

    /// Returns where a page stands, which folds never change, and whether something above it keeps
    /// it out of the window, be it by a fold.
    async fn lifecycle(&self, segment: &Segment, page: &Page) -> Result<(Lifecycle, bool)> {
        let mut hot = page.standing == PageStanding::HotArchived;
        let mut out = hot;
        if page.standing == PageStanding::ColdArchived || segment.removed {
            return Ok((Lifecycle::ColdArchived, true));
        }
        let mut next = page.parent.clone();
        while let Some(index) = next {
            let Some(ancestor) = self.system.page(&index).await? else {
                return Ok((Lifecycle::ColdArchived, true));
            };
            if !ancestor.standing.is_listed() {
                return Ok((Lifecycle::ColdArchived, true));
            }
            if !hot {
                let entries = self.entries(&ancestor).await?;
                hot = ancestor.standing == PageStanding::HotArchived
                    || self.visibility(segment, &ancestor, &entries) == Visibility::Hidden;
                out = out
                    || hot
                    || self.level(segment, &ancestor, &entries) < Level::Full
                    || self.run_over(segment, &ancestor, &entries).await?.is_some();
            }
            next = ancestor.parent.clone();
        }
        Ok((if hot { Lifecycle::HotArchived } else { Lifecycle::Active }, out))
    }

    /// Returns a page's parent; none for a root.
    pub async fn parent(&self, index: &PageIndex) -> Result<Option<PageView>> {
        let page = self.page(index).await?.page;
        match &page.parent {
            Some(parent) => Ok(Some(self.page(parent).await?)),
            None => Ok(None),
        }
    }

    /// Returns a page's ancestors, nearest first.
    pub async fn ancestors(&self, index: &PageIndex) -> Result<Vec<PageView>> {
        let mut ancestors = Vec::new();
        let mut next = self.page(index).await?.page.parent.clone();
        while let Some(index) = next {
            let ancestor = self.page(&index).await?;
            next = ancestor.page.parent.clone();
            ancestors.push(ancestor);
        }
        Ok(ancestors)
    }

    /// Returns some of a directory's pages in order, from either end; it may be in the archive.
    pub async fn children(
        &self,
        index: &PageIndex,
        order: Order,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Listing<PageView>> {
        let directory = self.page_or_archived(index).await?.page;
        if !directory.is_contents() {
            return Err(Error::NotContentsPage { page: index.clone() });
        }
        let missing = || Error::SegmentNotFound { segment: index.segment().clone() };
        let segment = self.system.segments().get(index.segment()).cloned().ok_or_else(missing)?;
        let limit = limit.min(BATCH);
        let mut items = Vec::with_capacity(limit);
        let mut query = ChildQuery {
            parent: index.clone(),
            standing: StandingFilter::Listed,
            order,
            after,
            limit: limit + 1,
        };
        loop {
            let pages = self.system.storage().children(self.system.session(), &query).await?;
            let done = pages.len() < query.limit;
            for page in pages {
                query.after = Some(page.place);
                // What stands behind what was asked for is only looked at.
                if items.len() == limit {
                    if self.seen_page(&segment, Arc::new(page)).await?.is_some() {
                        return Ok(Listing { items, more: true });
                    }
                    continue;
                }
                items.extend(self.describe(&segment, Arc::new(page)).await?);
            }
            if done {
                return Ok(Listing { items, more: false });
            }
            query.limit = BATCH;
        }
    }

    /// Counts the pages a directory lists.
    pub async fn child_count(&self, index: &PageIndex) -> Result<u64> {
        self.page_or_archived(index).await?;
        let (storage, session) = (self.system.storage(), self.system.session());
        let (Some(_), Some(segment)) =
            (self.filtered(), self.system.segments().get(index.segment()).cloned())
        else {
            return Ok(storage.child_count(session, index).await?);
        };
        let (standing, order) = (StandingFilter::Listed, Order::Forward);
        let parent = index.clone();
        let mut query = ChildQuery { parent, standing, order, after: None, limit: BATCH };
        let mut count = 0;
        loop {
            let pages = storage.children(session, &query).await?;
            let done = pages.len() < BATCH;
            for page in pages {
                query.after = Some(page.place);
                count += u64::from(self.seen_page_below(&segment, Arc::new(page)).await?.is_some());
            }
            if done {
                return Ok(count);
            }
        }
    }

    /// Returns a leaf's messages.
    pub async fn messages(&self, index: &PageIndex) -> Result<Vec<Message>> {
        let page = self.page_or_archived(index).await?.page;
        let detail = page.detail().ok_or_else(|| Error::NotDetailPage { page: index.clone() })?;
        let content = self.system.content(detail.content).await?;
        let messages = content.messages().map_err(|reason| {
            let what = format!("the content of page {index}");
            crate::storage::StorageError::Corrupt { what, reason }
        })?;
        Ok(self.speech(index).await?.heard(messages))
    }

    /// Returns the page this view is focused on, while it is in the tree.
    pub async fn focus(&self) -> Result<Option<PageIndex>> {
        let views = self.system.storage().views(self.system.session()).await?;
        let head = views.into_iter().find(|head| head.view == self.view);
        let Some(page) = head.and_then(|head| head.focus) else { return Ok(None) };
        Ok(self.has_page(&page).await?.then_some(page))
    }
}
