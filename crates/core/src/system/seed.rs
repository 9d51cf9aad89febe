//! The source documents' names for what a context system does, for readers who come from them.
//!
//! Each is one line over an edit or a reader: nothing here is checked less, or more, than
//! [`Session::apply`](crate::Session::apply) of the system side. Names that the rest has already are not repeated;
//! `docs/seed.md` lists all of them.

use std::sync::Arc;

use super::{ContextSystem, EditOutcome, PageView};
use crate::{
    Clock, Edit, Error, MemoryStorage, NewSegment, Page, PageIndex, Permission, Result, Segment,
    SegmentId, SegmentUpdate, SessionId,
    document::{self, LoadPage},
    storage::Order,
};

impl ContextSystem {
    /// Makes a session named `default` in memory (NewContextSystem). [`create`](Self::create) takes a
    /// storage (NewContextSystemWithStorage).
    pub async fn in_memory(clock: Arc<dyn Clock>) -> Result<Self> {
        let session: SessionId = "default".parse()?;
        Self::create(Arc::new(MemoryStorage::new()), session, "contexture", clock).await
    }

    // --- segments ------------------------------------------------------------------------------

    /// Adds a segment with its root; it is taken by value (AddSegment).
    pub async fn add_segment(&self, new: NewSegment) -> Result<EditOutcome> {
        self.as_system().apply(Edit::AddSegment(new)).await
    }

    /// Removes a segment that holds no page beside its root (RemoveSegment). Sending its pages to the
    /// archive, and removing one of System kind, is asked for with [`Edit::RemoveSegment`].
    pub async fn remove_segment(&self, segment: &SegmentId) -> Result<EditOutcome> {
        let segment = segment.clone();
        self.as_system().apply(Edit::RemoveSegment { segment, cascade: false, force: false }).await
    }

    /// Returns a copy of a segment (GetSegment).
    pub fn get_segment(&self, id: &SegmentId) -> Result<Segment> {
        let segment = self.reader().segment(id)?;
        Ok(self.with_counter(&segment))
    }

    /// Returns copies of the segments in display order (ListSegments).
    pub fn list_segments(&self) -> Vec<Segment> {
        self.reader().segments().iter().map(|segment| self.with_counter(segment)).collect()
    }

    /// Returns a copy of the segment an index belongs to, whether there is such a page or not
    /// (GetSegmentByPageIndex). It is looked up exactly, never by prefix.
    pub fn get_segment_by_page_index(&self, index: &PageIndex) -> Result<Segment> {
        self.get_segment(index.segment())
    }

    /// Changes a segment's name and description; an empty one is left as it is (UpdateSegment).
    pub async fn update_segment(
        &self,
        id: &SegmentId,
        name: &str,
        description: &str,
    ) -> Result<EditOutcome> {
        let mut update = SegmentUpdate::of(id.clone());
        update.name = (!name.is_empty()).then(|| name.parse()).transpose()?;
        update.description = (!description.is_empty()).then(|| description.parse()).transpose()?;
        self.as_system().apply(Edit::UpdateSegment(update)).await
    }

    /// Changes what agents may do in a segment (SetSegmentPermission).
    pub async fn set_segment_permission(
        &self,
        id: &SegmentId,
        permission: Permission,
    ) -> Result<EditOutcome> {
        self.as_system().apply(Edit::SetPermission { segment: id.clone(), permission }).await
    }

    // --- pages ---------------------------------------------------------------------------------

    /// Returns a page, from memory or from the storage (GetPage).
    pub async fn get_page(&self, index: &PageIndex) -> Result<PageView> {
        self.reader().page(index).await
    }

    /// Takes a page, with all below it, to the archive (RemovePage).
    pub async fn remove_page(&self, index: &PageIndex) -> Result<EditOutcome> {
        self.as_system().apply(Edit::RemovePage(index.clone())).await
    }

    /// Returns the pages that are in memory, by segment and number (ListPages). None of them is used by
    /// that. All pages, in memory or not, are listed by [`Reader::list`](super::Reader::list).
    pub fn list_pages(&self) -> Vec<Arc<Page>> {
        self.inner.resident.pages()
    }

    /// Returns a directory's pages in order (GetChildren).
    pub async fn get_children(&self, index: &PageIndex) -> Result<Vec<PageView>> {
        let mut children: Vec<PageView> = Vec::new();
        loop {
            let after = children.last().map(|child| child.page.place);
            let listing = self.reader().children(index, Order::Forward, after, 1_000).await?;
            children.extend(listing.items);
            if !listing.more {
                return Ok(children);
            }
        }
    }

    /// Returns a page's directory; none for a root (GetParent).
    pub async fn get_parent(&self, index: &PageIndex) -> Result<Option<PageView>> {
        self.reader().parent(index).await
    }

    /// Returns a page's directories, nearest first (GetAncestors).
    pub async fn get_ancestors(&self, index: &PageIndex) -> Result<Vec<PageView>> {
        self.reader().ancestors(index).await
    }

    /// Returns pages of the tree that say a text, best first (FindPage): the search of
    /// [`Session::find_page`](crate::Session::find_page).
    pub async fn find_page(&self, text: &str, limit: usize) -> Result<Vec<PageView>> {
        self.as_system().find_page(text, limit).await
    }

    /// Drops the pages that were used longest ago, with what they say, until no more than `max_size`
    /// are in memory (EvictLRU); returns how many went.
    ///
    /// What [`evict_page`](Self::evict_page) refuses stays, and may be more than that.
    /// [`evict_lru`](Self::evict_lru) bounds the bytes instead.
    pub fn evict_lru_pages(&self, max_size: usize) -> usize {
        self.inner.resident.evict_lru_pages(max_size)
    }

    // --- as bytes ------------------------------------------------------------------------------

    /// Returns the whole session as the documents' JSON (Marshal). `contexture-storage` saves it to a
    /// file and loads it from one.
    pub async fn marshal(&self) -> Result<String> {
        document::export(self).await
    }

    /// Fills this session from the documents' JSON, all or nothing; it must hold no segment yet
    /// (Unmarshal). Returns what had to be repaired.
    pub async fn unmarshal(&self, bytes: &[u8]) -> Result<Vec<String>> {
        let document::Parsed { plan, warnings } = document::parse(bytes, self.now())?;
        self.as_system().apply(Edit::Load(Box::new(plan))).await?;
        Ok(warnings)
    }

    /// Returns a page of the tree or the archive as bytes, with all it says (a page's Marshal);
    /// [`LoadPage::unmarshal`] reads them.
    pub async fn marshal_page(&self, index: &PageIndex) -> Result<Vec<u8>> {
        let page = self.reader().page_or_archived(index).await?.page;
        let messages = match page.detail() {
            Some(_) => self.reader().messages(index).await?,
            None => Vec::new(),
        };
        Ok(LoadPage { page: Arc::unwrap_or_clone(page), messages }.marshal())
    }
}

impl LoadPage {
    /// Returns the page with its messages as bytes.
    pub fn marshal(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a page has only string keys and finite numbers")
    }

    /// Reads what [`marshal`](Self::marshal) wrote; bytes whose messages are not those of the page are
    /// refused.
    pub fn unmarshal(bytes: &[u8]) -> Result<Self> {
        let wrong = |reason: String| Error::InvalidDocument { reason };
        let read: Self = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        let said = crate::storage::Content::encode(&read.messages).hash();
        let fits = match read.page.detail() {
            Some(detail) => detail.content == said,
            None => read.messages.is_empty(),
        };
        if !fits {
            return Err(wrong(format!("the messages do not belong to page {}", read.page.index)));
        }
        Ok(read)
    }

    /// Returns what a leaf says as one text (GetDetail); empty for a directory.
    pub fn detail(&self) -> String {
        crate::message::detail_text(&self.messages)
    }
}
