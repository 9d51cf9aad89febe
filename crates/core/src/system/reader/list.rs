//! Listing: pages in natural order, or the newest of each segment first.

use std::sync::Arc;

use super::{BATCH, PageView, Reader};
use crate::{
    Error, ErrorKind, Lifecycle, Page, PageIndex, Result, Segment,
    message::detail_text,
    storage::{PageStanding, ScanQuery, StandingFilter},
    system::filtered::SeenPage,
};

/// Asks for a list of pages.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// Only pages behind this one in the list.
    pub after: Option<PageIndex>,
    /// How many at most.
    pub limit: usize,
    /// The archive instead of the tree.
    pub archived: bool,
    /// The newest page of each segment first.
    pub newest: bool,
    /// Only pages whose name, description or messages hold this, whatever the case; a blank text finds none.
    pub matching: Option<String>,
}

/// Some of a list, and where it goes on.
#[derive(Debug, Clone)]
pub struct Listing<T> {
    /// The items.
    pub items: Vec<T>,
    /// Whether there are more.
    pub more: bool,
}

/// A list that is being made.
struct Making<'a> {
    query: &'a ListQuery,
    /// What pages must hold, in lower case.
    needle: Option<String>,
    items: Vec<PageView>,
    more: bool,
}

impl Reader<'_> {
    /// Lists pages: segments in view order, then by number.
    pub async fn list(&self, query: &ListQuery) -> Result<Listing<PageView>> {
        self.system.catch_up().await?;
        let mut making = Making {
            query,
            needle: query.matching.as_ref().map(|text| text.to_lowercase()),
            items: Vec::new(),
            more: false,
        };
        // A text that says nothing is found nowhere, rather than everywhere.
        if making.needle.as_ref().is_some_and(|needle| needle.trim().is_empty()) {
            return Ok(making.done());
        }
        let mut segments = self.listed_segments(query.archived);
        let mut after = None;
        if let Some(cursor) = &query.after {
            let at = segments.iter().position(|segment| segment.id == *cursor.segment());
            let at = at.ok_or_else(|| Error::PageNotFound { page: cursor.clone() })?;
            segments.drain(..at);
            after = Some(cursor.number());
        }
        for segment in &segments {
            match query.newest {
                true => self.list_down(segment, after.take(), &mut making).await?,
                false => self.list_up(segment, after.take(), &mut making).await?,
            }
            if making.more {
                break;
            }
        }
        Ok(making.done())
    }

    /// Lists pages of a segment by number.
    async fn list_up(
        &self,
        segment: &Segment,
        mut after: Option<u64>,
        making: &mut Making<'_>,
    ) -> Result<()> {
        loop {
            let scan = ScanQuery {
                segment: segment.id.clone(),
                standing: StandingFilter::Any,
                after,
                limit: BATCH,
            };
            let pages = self.system.storage().scan(self.system.session(), &scan).await?;
            let done = pages.len() < BATCH;
            for page in pages {
                after = Some(page.index.number());
                self.list_page(segment, Arc::new(page), making).await?;
                if making.more {
                    return Ok(());
                }
            }
            if done {
                return Ok(());
            }
        }
    }

    /// Lists pages of a segment from the newest on: numbers only grow.
    async fn list_down(
        &self,
        segment: &Segment,
        before: Option<u64>,
        making: &mut Making<'_>,
    ) -> Result<()> {
        let begin = before.unwrap_or_else(|| self.system.with_counter(segment).next_number);
        for number in (0..begin).rev() {
            let index = PageIndex::new(segment.id.clone(), number);
            let Some(page) = self.system.page(&index).await? else { continue };
            self.list_page(segment, page, making).await?;
            if making.more {
                break;
            }
        }
        Ok(())
    }

    /// Adds a page to a list that it belongs to.
    async fn list_page(
        &self,
        segment: &Segment,
        page: Arc<Page>,
        making: &mut Making<'_>,
    ) -> Result<()> {
        // What the view does not see of a page must not find it either.
        let Some(seen_page) = self.seen_page(segment, page.clone()).await? else { return Ok(()) };
        if matches!(page.standing, PageStanding::Moved(_)) {
            return Ok(());
        }
        let Some(seen) = self.describe(segment, page).await? else { return Ok(()) };
        if (seen.lifecycle == Lifecycle::ColdArchived) != making.query.archived {
            return Ok(());
        }
        if let Some(needle) = &making.needle
            && !self.holds(&seen_page, needle).await?
        {
            return Ok(());
        }
        match making.items.len() == making.query.limit {
            true => making.more = true,
            false => making.items.push(seen),
        }
        Ok(())
    }

    /// Tells whether what this view sees of a page holds a text in lower case.
    async fn holds(&self, seen_page: &SeenPage, needle: &str) -> Result<bool> {
        let holds = |text: &str| text.to_lowercase().contains(needle);
        let page = &seen_page.page;
        if holds(page.name.as_str()) || holds(page.description.as_str()) {
            return Ok(true);
        }
        let Some(detail) = page.detail() else { return Ok(false) };
        let content = match self.system.content(detail.content).await {
            Ok(content) => content,
            // What is lost says nothing; the other pages are still found.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let messages = seen_page.speech.heard(content.messages().unwrap_or_default());
        Ok(holds(&detail_text(&messages)))
    }

    /// Returns the segments to list: the system side also sees the archive of removed ones.
    fn listed_segments(&self, archived: bool) -> Vec<Arc<Segment>> {
        if archived && self.guard.is_none() {
            return self.system.segments().all().cloned().collect();
        }
        self.segments()
    }
}

impl Making<'_> {
    fn done(self) -> Listing<PageView> {
        Listing { items: self.items, more: self.more }
    }
}
