//! What of a page a view sees: the one place that every read of a view goes by.
//!
//! A view without a filter sees every page of its segments as it is, at no cost.

use std::sync::Arc;

use super::{Reader, lists::Gap};
use crate::{
    Description, Error, Page, PageIndex, PageName, Result, Segment, View,
    decide::MOST_MOVES,
    message::{Hearing, MessageFilter},
    storage::{PageBody, PageDetail, PageRun, PageStanding, Place},
};

/// A page as far as a view sees it.
#[derive(Debug, Clone)]
pub(crate) struct SeenPage {
    /// The page; what it says of its messages is said of those that are seen.
    pub(crate) page: Arc<Page>,
    /// Which of its messages are seen.
    pub(crate) speech: MessageFilter,
}

impl<'a> Reader<'a> {
    /// Returns the view, if its filter leaves anything out.
    pub(super) fn filtered(&self) -> Option<&'a View> {
        self.guard.filter(|view| !view.filter.is_open())
    }

    /// Returns what the view sees of a page of a segment it mounts; none where it does not exist
    /// for the view.
    pub(crate) async fn seen_page(
        &self,
        segment: &Segment,
        page: Arc<Page>,
    ) -> Result<Option<SeenPage>> {
        let Some(view) = self.filtered() else {
            return Ok(Some(SeenPage { page, speech: MessageFilter::All }));
        };
        if !view.filter.without.is_empty() {
            let mut next = page.parent.clone();
            while let Some(index) = next {
                let Some(above) = self.system.page(&index).await? else { break };
                next = above.parent.clone();
                if self.is_left_out(view, above).await? {
                    return Ok(None);
                }
            }
        }
        self.seen_page_below(segment, page).await
    }

    /// The same for a page whose directories are seen.
    pub(crate) async fn seen_page_below(
        &self,
        segment: &Segment,
        page: Arc<Page>,
    ) -> Result<Option<SeenPage>> {
        let Some(view) = self.filtered() else {
            return Ok(Some(SeenPage { page, speech: MessageFilter::All }));
        };
        if self.is_left_out(view, page.clone()).await? {
            return Ok(None);
        }
        let page = match self.describes_left_out(view, &page).await? {
            true => undescribed(page),
            false => page,
        };
        let speech = match view.hearing(segment, &page) {
            Hearing::Unjudged => {
                return Ok(Some(SeenPage { page, speech: MessageFilter::All }));
            }
            Hearing::Judged(speech) => speech,
            Hearing::Nothing => return Ok(None),
        };
        let filter = &view.filter;
        if filter.since.is_some() {
            let first = match &page.turn {
                Some(first) if *first != page.index => self.system.page(first).await?,
                _ => None,
            };
            if !filter.reaches(first.map_or(page.created_at, |first| first.created_at)) {
                return Ok(None);
            }
        }
        self.heard(page, speech).await
    }

    /// Tells whether a view leaves a page out by name, its own or one it had before it moved here.
    async fn is_left_out(&self, view: &View, mut page: Arc<Page>) -> Result<bool> {
        let without = &view.filter.without;
        for _ in 0..if without.is_empty() { 0 } else { MOST_MOVES } {
            if without.contains(&page.index) {
                return Ok(true);
            }
            let Some(source) = page.sources.first() else { break };
            match self.system.page(source).await? {
                Some(original) if original.has_moved_to(&page.index) => page = original,
                _ => break,
            }
        }
        Ok(false)
    }

    /// Tells whether a page's description may tell of a page of the same turn that a view leaves out.
    async fn describes_left_out(&self, view: &View, page: &Page) -> Result<bool> {
        if page.description.is_empty() || page.turn.is_none() {
            return Ok(false);
        }
        for index in &view.filter.without {
            let left_out = self.system.page(index).await?;
            if left_out.is_some_and(|left_out| left_out.turn == page.turn) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a page with what is heard of it; none where that is nothing. A note may say nothing.
    async fn heard(&self, page: Arc<Page>, speech: MessageFilter) -> Result<Option<SeenPage>> {
        let silent = |detail: &&PageDetail| page.turn.is_none() && detail.messages == 0;
        let detail = page.detail().filter(|detail| !speech.is_all() && !silent(detail));
        let Some(&PageDetail { content, .. }) = detail else {
            return Ok(Some(SeenPage { page, speech: MessageFilter::All }));
        };
        let heard = self.system.heard(content, speech).await?;
        if heard.messages == 0 {
            return Ok(None);
        }
        // A turn's description may tell of what is not heard.
        let page = if page.turn.is_some() { undescribed(page) } else { page };
        let mut page = Arc::unwrap_or_clone(page);
        let (messages, weight) = (heard.messages, heard.weight);
        page.body = PageBody::Detail(PageDetail {
            content,
            messages,
            counted: None,
            weight,
            // No filter but the open one lets calls through.
            open: Vec::new(),
        });
        // A turn is named after the first words in it, which may be an answer's.
        if speech == MessageFilter::RequestsOnly && !heard.worded {
            page.name = PageName::from_first_line("", "Turn");
        }
        Ok(Some(SeenPage { page: Arc::new(page), speech }))
    }

    /// Returns which messages of a page are seen.
    pub(super) async fn speech(&self, index: &PageIndex) -> Result<MessageFilter> {
        if self.filtered().is_none() {
            return Ok(MessageFilter::All);
        }
        let missing = || Error::PageNotFound { page: index.clone() };
        let page = self.system.page(index).await?.ok_or_else(missing)?;
        let segment = self.segment(index.segment()).map_err(|_| missing())?;
        Ok(self.seen_page(&segment, page).await?.ok_or_else(missing)?.speech)
    }

    /// Tells whether a page exists for the view. What is gone can no longer be judged: a view with a
    /// filter does not see it.
    pub(super) async fn sees(&self, index: &PageIndex) -> Result<bool> {
        let Ok(segment) = self.segment(index.segment()) else { return Ok(false) };
        if self.filtered().is_none() {
            return Ok(true);
        }
        match self.system.page(index).await? {
            Some(page) => Ok(self.seen_page(&segment, page).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Keeps those of some pages that exist for the view.
    pub(crate) async fn seen_of(&self, pages: Vec<PageIndex>) -> Result<Vec<PageIndex>> {
        let mut seen = Vec::with_capacity(pages.len());
        for page in pages {
            if self.sees(&page).await? {
                seen.push(page);
            }
        }
        Ok(seen)
    }

    /// Returns a run as the view sees it; none where it sees no page of it.
    ///
    /// A run made through the same filter names and counts what the view sees. One that was made
    /// through another is counted anew.
    pub(super) async fn run_as_seen(
        &self,
        segment: &Segment,
        directory: &PageIndex,
        run: PageRun,
    ) -> Result<Option<PageRun>> {
        let filter = self.guard.map(|view| view.filter.key()).unwrap_or_default();
        if run.filter == filter {
            return Ok(Some(run));
        }
        let gap = Gap {
            after: run.first.0.checked_sub(1).map(Place),
            before: Some(Place(run.last.0.saturating_add(1))),
        };
        let mut seen: Option<PageRun> = None;
        for (_, index) in self.system.listed(directory, gap).await?.iter() {
            let Some(page) = self.system.page(index).await? else { continue };
            if page.standing != PageStanding::InTree {
                continue;
            }
            let Some(seen_page) = self.seen_page_below(segment, page).await? else { continue };
            let messages = seen_page.page.detail().map_or(0, |detail| u64::from(detail.messages));
            let counted = seen.get_or_insert_with(|| PageRun {
                from: index.clone(),
                pages: 0,
                messages: 0,
                calls: 0,
                filter,
                ..run.clone()
            });
            counted.to = index.clone();
            counted.pages += 1;
            counted.messages += if run.messages > 0 { messages } else { 0 };
        }
        Ok(seen)
    }
}

/// Returns a page without its description.
fn undescribed(page: Arc<Page>) -> Arc<Page> {
    if page.description.is_empty() {
        return page;
    }
    let page = Arc::unwrap_or_clone(page);
    Arc::new(Page { description: Description::default(), ..page })
}
