//! Dropping pages from memory and loading them again, by hand. The storage always holds all of them.

use std::sync::Arc;

use super::{
    ContextSystem,
    resident::{Eviction, ResidentUsage},
};
use crate::{Error, Page, PageIndex, Result};

impl ContextSystem {
    /// Drops one page and its content from memory; what is stored stays (the seed's EvictPage).
    ///
    /// It is not found when it is not in memory. Roots, pages of System-kind segments and pages in the
    /// window of a view stay, and the error says why. No page is ever dirty: edits are
    /// stored before they show.
    pub fn evict_page(&self, index: &PageIndex) -> Result<()> {
        match self.inner.resident.evict(index) {
            Eviction::Dropped => Ok(()),
            Eviction::Pinned(why) => Err(Error::PageInUse { page: index.clone(), why }),
            Eviction::NotResident => Err(Error::NothingFound {
                what: format!("page {index} in memory"),
                advice: "nothing to do: the page is read from the storage when it is needed".into(),
            }),
        }
    }

    /// Drops what was used longest ago until no more than `max_bytes` are in memory; returns how many
    /// bytes that freed. [`evict_lru_pages`](Self::evict_lru_pages) counts pages, as the seed's
    /// EvictLRU does.
    ///
    /// What [`evict_page`](Self::evict_page) refuses stays here too, and may be more than that.
    pub fn evict_lru(&self, max_bytes: usize) -> usize {
        self.inner.resident.evict_lru(max_bytes)
    }

    /// Drops everything from memory, what is pinned included, as if the session had just been opened.
    pub fn evict_all(&self) {
        self.forget_all();
    }

    /// Loads a page from the storage whatever is in memory, and puts it there in place of what was
    /// (the seed's LoadPageFromStorage). Not found when it is not stored; then it goes from memory.
    pub async fn reload_page(&self, index: &PageIndex) -> Result<Arc<Page>> {
        let resident = &self.inner.resident;
        let stamp = resident.fresh_stamp(index);
        let Some(page) = self.read_page(index, stamp).await? else {
            resident.publish_page(index, None);
            return Err(Error::PageNotFound { page: index.clone() });
        };
        if let Some(detail) = page.detail() {
            resident.drop_content(&detail.content);
        }
        Ok(page)
    }

    /// Lists the indices of the pages in memory, by segment and number. Lists of a
    /// [`Reader`](super::Reader) hold all pages, in memory or not.
    pub fn resident_pages(&self) -> Vec<PageIndex> {
        self.inner.resident.page_indices()
    }

    /// Tells how much is in memory.
    pub fn resident_usage(&self) -> ResidentUsage {
        self.inner.resident.usage()
    }
}
