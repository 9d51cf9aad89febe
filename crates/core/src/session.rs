//! The one door: a context system in the hands of a principal.
//!
//! Every surface reads and writes through a [`Session`]: the command line, agents' tools, hosts that embed
//! the library. It holds no pages of its own and gives nothing out that would lead past it: an
//! agent's session reaches what its view holds, and no more. Writes carry the view into the decision,
//! where they are checked against the very state they are committed on, so no race slips past a
//! permission.

mod edits;
mod keyed;
mod seed;
mod windows;

use std::sync::Arc;

pub use keyed::KeyedSession;

use crate::{
    ContextSystem, Error, ErrorKind, HistoryEntry, ListQuery, Listing, Message, Operation,
    PageIndex, PageView, Principal, Reader, Result, Revision, Segment, SegmentId, SessionId,
    Timestamp, permission,
    storage::{BranchPoint, CustomKey, Order},
};

/// A context system held by a principal. Cheap to clone; usable from many threads.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) system: ContextSystem,
    pub(crate) principal: Principal,
}

/// Anything an operation can take for a page: an index, or its text.
pub trait ToIndex {
    /// Reads it; a bare number is a page of `only`.
    fn to_index(&self, only: Option<&SegmentId>) -> Result<PageIndex>;
}

impl ToIndex for PageIndex {
    fn to_index(&self, _: Option<&SegmentId>) -> Result<PageIndex> {
        Ok(self.clone())
    }
}

impl ToIndex for str {
    fn to_index(&self, only: Option<&SegmentId>) -> Result<PageIndex> {
        PageIndex::parse_within(self, only)
    }
}

impl<T: ToIndex + ?Sized> ToIndex for &T {
    fn to_index(&self, only: Option<&SegmentId>) -> Result<PageIndex> {
        (**self).to_index(only)
    }
}

impl ToIndex for String {
    fn to_index(&self, only: Option<&SegmentId>) -> Result<PageIndex> {
        self.as_str().to_index(only)
    }
}

impl Session {
    pub(crate) fn new(system: ContextSystem, principal: Principal) -> Self {
        Self { system, principal }
    }

    /// Returns who holds it.
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the session's name.
    pub fn id(&self) -> &SessionId {
        self.system.session()
    }

    /// Returns where it branched off its session, where it is a branch.
    pub fn branch_point(&self) -> Option<&BranchPoint> {
        self.system.branch_point()
    }

    /// Returns the segment that turns are written to where none is named.
    pub fn writes_to(&self) -> SegmentId {
        match self.principal.view() {
            Some(view) => view.writes_to.clone(),
            None => "usr".parse().expect("usr follows the grammar"),
        }
    }

    /// Returns the time from the session's clock.
    pub fn now(&self) -> Timestamp {
        self.system.now()
    }

    /// Returns the number of the state that reads see. Nothing is read for it.
    pub fn revision(&self) -> Revision {
        self.system.seen_upto()
    }

    /// Takes in what others have committed since; tells whether that was anything.
    pub async fn refresh(&self) -> Result<bool> {
        Ok(self.system.refresh().await?)
    }

    /// Returns when the session last changed.
    pub async fn updated_at(&self) -> Result<Timestamp> {
        Ok(self.system.info().await?.updated_at)
    }

    /// Returns the entries of the session's custom state by their keys, the engine's own included. Agents
    /// are refused: entries are not part of a view.
    pub async fn custom(&self) -> Result<Vec<(CustomKey, String)>> {
        if self.principal.view().is_some() {
            return Err(Error::SystemSideOnly { what: "the session's custom state".to_owned() });
        }
        Ok(self.system.storage().custom(self.system.session()).await?)
    }

    /// Answers questions as far as the principal may see.
    pub fn reader(&self) -> Reader<'_> {
        Reader::of(&self.system, &self.principal)
    }

    /// Reads an index; a bare number needs a view with exactly one segment.
    pub fn index(&self, index: impl ToIndex) -> Result<PageIndex> {
        let segments = self.reader().segments();
        let only = match segments.as_slice() {
            [only] => Some(&only.id),
            _ => None,
        };
        index.to_index(only)
    }

    /// Checks an operation on a page: index, then existence in the view, then permission.
    pub async fn check_permission(
        &self,
        index: impl ToIndex,
        operation: Operation,
    ) -> Result<PageView> {
        let index = self.index(index)?;
        let page = self.reader().page(&index).await?;
        self.permitted(&index, operation)?;
        Ok(page)
    }

    /// Checks an operation on a page that exists in the view.
    fn permitted(&self, index: &PageIndex, operation: Operation) -> Result<()> {
        let Some(view) = self.principal.view() else { return Ok(()) };
        let segment = self.reader().segment(index.segment())?;
        permission::check_page(Some(view), &segment, index, operation)
    }

    /// Returns a copy of a segment in view.
    pub fn get_segment(&self, id: &SegmentId) -> Result<Segment> {
        let segment = self.reader().segment(id)?;
        self.check_segment(&segment, Operation::GetSegment)?;
        Ok(self.system.with_counter(&segment))
    }

    /// Returns copies of the segments in view, in display order.
    pub fn list_segments(&self) -> Result<Vec<Segment>> {
        let segments = self.reader().segments();
        let check = |segment: &Arc<Segment>| {
            self.check_segment(segment, Operation::ListSegments)?;
            Ok(self.system.with_counter(segment))
        };
        segments.iter().map(check).collect()
    }

    /// Returns a page.
    pub async fn get_page(&self, index: impl ToIndex) -> Result<PageView> {
        self.check_permission(index, Operation::GetPage).await
    }

    /// Returns a page of the tree or the archive.
    pub async fn get_page_or_archived(&self, index: impl ToIndex) -> Result<PageView> {
        let index = self.index(index)?;
        let page = self.reader().page_or_archived(&index).await?;
        self.permitted(&index, Operation::GetPage)?;
        Ok(page)
    }

    /// Returns a leaf's messages.
    pub async fn get_messages(&self, index: impl ToIndex) -> Result<Vec<Message>> {
        let page = self.check_permission(index, Operation::GetPage).await?;
        self.reader().messages(&page.page.index).await
    }

    /// Returns a directory's pages, in order.
    pub async fn get_children(&self, index: impl ToIndex) -> Result<Vec<PageView>> {
        let page = self.check_permission(index, Operation::GetChildren).await?.page;
        let mut children: Vec<PageView> = Vec::new();
        loop {
            let after = children.last().map(|child| child.page.place);
            let reader = self.reader();
            let listing = reader.children(&page.index, Order::Forward, after, 1_000).await?;
            children.extend(listing.items);
            if !listing.more {
                return Ok(children);
            }
        }
    }

    /// Returns a page's directory; none for a root.
    pub async fn get_parent(&self, index: impl ToIndex) -> Result<Option<PageView>> {
        let page = self.check_permission(index, Operation::GetParent).await?.page;
        self.reader().parent(&page.index).await
    }

    /// Returns a page's directories, nearest first.
    pub async fn get_ancestors(&self, index: impl ToIndex) -> Result<Vec<PageView>> {
        let page = self.check_permission(index, Operation::GetAncestors).await?.page;
        self.reader().ancestors(&page.index).await
    }

    fn check_segment(&self, segment: &Segment, operation: Operation) -> Result<()> {
        match self.principal.view() {
            Some(_) => permission::check_segment(segment, operation),
            None => Ok(()),
        }
    }

    /// Returns pages of the tree in view that say a text, best first.
    ///
    /// The [`Finder`](crate::Finder) that the engine was given answers. Without one, the names, descriptions and
    /// messages that the view shows are looked through for the text, whatever the case, in the order of
    /// [`list_pages`](Self::list_pages).
    pub async fn find_page(&self, text: &str, limit: usize) -> Result<Vec<PageView>> {
        let Some(finder) = self.system.finder() else {
            let matching = Some(text.to_owned());
            let query = ListQuery { matching, limit, ..ListQuery::default() };
            return Ok(self.list_pages(&query).await?.items);
        };
        self.list_segments()?;
        let mut pages = Vec::new();
        for index in finder.find(self, text, limit).await? {
            match self.reader().page(&index).await {
                Ok(page) => pages.push(page),
                // It was removed since.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(pages)
    }

    /// Lists pages in view, or the archive of what is in view.
    pub async fn list_pages(&self, query: &ListQuery) -> Result<Listing<PageView>> {
        self.list_segments()?;
        self.reader().list(query).await
    }

    /// Returns history entries, newest first; an agent sees its own and the system side's edits on
    /// pages in its view.
    pub async fn history(
        &self,
        before: Option<Revision>,
        limit: usize,
    ) -> Result<Listing<HistoryEntry>> {
        self.reader().history(before, limit).await
    }
}
