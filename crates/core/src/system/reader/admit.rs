//! Admitting what was found elsewhere: which of these pages, and which of their messages, a view sees.
//!
//! A search outside the core knows texts and no views. It names the pages it found and gets back what of
//! them this reader may show, so that the rules stay in one place (`system/filtered.rs`). Pages that do not
//! exist and pages out of view get the same answer. Pages, what stands above them and what they are
//! judged by are read together, a generation at a time.

use std::{collections::BTreeSet, sync::Arc};

use super::{BATCH, Reader};
use crate::{
    ContextSystem, Message, Page, PageIndex, Result, Segment,
    message::MessageFilter,
    storage::{Content, PageStanding, StorageError, StorageResult},
    system::filtered::SeenPage,
};

/// A page that a view sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmittedPage {
    /// The page as far as the view sees it: name, description and links may be less than stored. What was
    /// found in a name, a description or another content than this one's must be looked for again.
    pub page: Arc<Page>,
    /// Whether it is in the archive.
    pub archived: bool,
    /// Which of its messages are seen.
    pub messages: AdmittedMessages,
}

/// Which messages of a page's content a view sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdmittedMessages {
    /// All, as they are.
    All,
    /// These, in order; others do not exist for the view.
    Some(Vec<AdmittedMessage>),
}

/// A message that a view sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmittedMessage {
    /// Its position among the messages of the page's content, from 0.
    pub position: usize,
    /// Whether the view sees all of it. Where not, [`MessageFilter::heard`] makes what it sees of it.
    pub whole: bool,
}

impl Reader<'_> {
    /// Returns which of some pages this reader's view sees, in the order asked for; none for those that
    /// are not there or out of view.
    pub async fn admit(&self, pages: &[PageIndex]) -> Result<Vec<Option<AdmittedPage>>> {
        self.system.catch_up().await?;
        let mut admitted = Vec::with_capacity(pages.len());
        for pages in pages.chunks(BATCH) {
            self.fetch(pages).await?;
            for index in pages {
                admitted.push(match self.admitted_page(index).await? {
                    Some((segment, seen_page)) => Some(self.admitted(&segment, seen_page).await?),
                    None => None,
                });
            }
        }
        Ok(admitted)
    }

    /// Makes pages resident with all they are judged by.
    async fn fetch(&self, pages: &[PageIndex]) -> Result<()> {
        let judged = self.guard.is_some();
        let mounted = |index: &&PageIndex| !judged || self.segment(index.segment()).is_ok();
        let mut wanted: BTreeSet<PageIndex> = pages.iter().filter(mounted).cloned().collect();
        if self.filtered().is_some_and(|view| !view.filter.speech.is_all()) {
            let found = self.system.fetch_pages(&wanted).await?;
            let contents = found.iter().filter_map(|page| Some(page.detail()?.content));
            self.system.fetch_contents(contents.collect::<Vec<_>>()).await?;
        }
        wanted.extend(self.filtered().iter().flat_map(|view| view.filter.without.iter().cloned()));
        let mut seen = BTreeSet::new();
        while !wanted.is_empty() {
            let found = self.system.fetch_pages(&wanted).await?;
            seen.append(&mut wanted);
            for page in &found {
                let judges = page.sources.iter().chain(&page.turn).filter(|_| judged);
                let next = page.parent.iter().chain(judges);
                wanted.extend(next.filter(|index| !seen.contains(*index)).cloned());
            }
        }
        Ok(())
    }

    async fn admitted_page(&self, index: &PageIndex) -> Result<Option<(Arc<Segment>, SeenPage)>> {
        // The system side also sees the archive of removed segments.
        let segment = match self.guard {
            Some(_) => self.segment(index.segment()).ok(),
            None => self.system.segments().get(index.segment()).cloned(),
        };
        let Some(segment) = segment else { return Ok(None) };
        match self.system.page(index).await? {
            Some(page) if !matches!(page.standing, PageStanding::Moved(_)) => {
                let seen_page = self.seen_page(&segment, page).await?;
                Ok(seen_page.map(|seen_page| (segment, seen_page)))
            }
            _ => Ok(None),
        }
    }

    async fn admitted(&self, segment: &Segment, seen_page: SeenPage) -> Result<AdmittedPage> {
        let archived = self.is_archived(segment, &seen_page.page).await?;
        let messages = match (seen_page.speech, seen_page.page.detail()) {
            (MessageFilter::All, _) | (_, None) => AdmittedMessages::All,
            (speech, Some(detail)) => {
                let content = self.system.content(detail.content).await?;
                AdmittedMessages::Some(heard(speech, &content)?)
            }
        };
        let page = self.without_foreign_links(seen_page.page).await?;
        Ok(AdmittedPage { page, archived, messages })
    }

    /// Tells whether a page is in the archive, by itself or with something above it.
    async fn is_archived(&self, segment: &Segment, page: &Page) -> Result<bool> {
        if segment.removed || page.standing == PageStanding::ColdArchived {
            return Ok(true);
        }
        let mut next = page.parent.clone();
        while let Some(index) = next {
            match self.system.page(&index).await? {
                Some(above) if above.standing.is_listed() => next = above.parent.clone(),
                _ => return Ok(true),
            }
        }
        Ok(false)
    }
}

fn heard(speech: MessageFilter, content: &Content) -> StorageResult<Vec<AdmittedMessage>> {
    let messages = content.messages().map_err(|reason| {
        let what = format!("content {}", content.hash());
        StorageError::Corrupt { what, reason }
    })?;
    let part = |(position, said): (usize, Message)| {
        let heard = speech.heard(vec![said.clone()]).pop()?;
        Some(AdmittedMessage { position, whole: heard == said })
    };
    Ok(messages.into_iter().enumerate().filter_map(part).collect())
}

impl ContextSystem {
    /// Returns those of some pages that are there, reading the ones that are not resident together.
    async fn fetch_pages(&self, wanted: &BTreeSet<PageIndex>) -> StorageResult<Vec<Arc<Page>>> {
        let resident = &self.inner.resident;
        let (mut found, mut missing) = (Vec::with_capacity(wanted.len()), Vec::new());
        for index in wanted {
            match resident.page(index) {
                Some(page) => found.push(page),
                None => missing.push(index.clone()),
            }
        }
        for indices in missing.chunks(BATCH) {
            let stamps = resident.stamps();
            for page in self.storage().pages(&self.inner.session, indices).await? {
                let Some(page) = page.map(Arc::new) else { continue };
                resident.keep_listed(page.clone(), &stamps);
                found.push(page);
            }
        }
        Ok(found)
    }
}
