//! The agent's proxy: a context system seen through a view, every operation permission-checked.
//!
//! Agents reach the context through nothing else. The proxy holds no pages of its own
//! writes carry the view into the decision, where they are checked against the very state
//! they are committed on, so no race slips past a permission.

mod seed;
mod windows;

use std::sync::Arc;

use crate::{
    AgentName, ContextSystem, Description, Edit, Error, HistoryEntry, Level, Message,
    NewContentsPage, NewDetailPage, NewSegment, Operation, PageIndex, PageUpdate, Permission,
    Result, Revision, Segment, SegmentId, SegmentUpdate, Timestamp, View, permission,
    storage::Order,
    system::{ListQuery, Listing, Outcome, PageView, Reader},
};

/// A context system seen through a view.
#[derive(Debug, Clone)]
pub struct AgentContext {
    system: ContextSystem,
    view: View,
    created_at: Timestamp,
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

impl AgentContext {
    /// Puts a view before a context system; neither is ever replaced.
    pub fn new(system: ContextSystem, view: View) -> Self {
        let created_at = system.now();
        Self { system, view, created_at }
    }

    /// Returns the agent.
    pub fn agent(&self) -> &AgentName {
        &self.view.agent
    }

    /// Returns the time from the session's clock.
    pub fn now(&self) -> Timestamp {
        self.system.now()
    }

    /// Returns the view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns when the proxy was made.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Returns when the session last changed.
    pub async fn updated_at(&self) -> Result<Timestamp> {
        Ok(self.system.info().await?.updated_at)
    }

    /// Answers questions for this view.
    pub fn reader(&self) -> Reader<'_> {
        self.system.reader_for(&self.view)
    }

    /// Reads an index; a bare number needs a view with exactly one segment (C02).
    pub fn index(&self, index: impl ToIndex) -> Result<PageIndex> {
        let segments = self.reader().segments();
        let only = match segments.as_slice() {
            [only] => Some(&only.id),
            _ => None,
        };
        index.to_index(only)
    }

    /// Checks an operation on a page: index, then existence in the view, then permission (C12).
    pub async fn check_permission(
        &self,
        index: impl ToIndex,
        operation: Operation,
    ) -> Result<PageView> {
        let index = self.index(index)?;
        let page = self.reader().page(&index).await?;
        let segment = self.reader().segment(index.segment())?;
        permission::check_page(&segment, &index, operation)?;
        Ok(page)
    }

    // --- queries -------------------------------------------------------------------------------

    /// Returns a copy of a segment in view.
    pub fn get_segment(&self, id: &SegmentId) -> Result<Segment> {
        let segment = self.reader().segment(id)?;
        permission::check_segment(&segment, Operation::GetSegment)?;
        Ok(self.system.with_counter(&segment))
    }

    /// Returns copies of the segments in view, in display order.
    pub fn list_segments(&self) -> Result<Vec<Segment>> {
        let segments = self.reader().segments();
        let check = |segment: &Arc<Segment>| {
            permission::check_segment(segment, Operation::ListSegments)?;
            Ok(self.system.with_counter(segment))
        };
        segments.iter().map(check).collect()
    }

    /// Returns a page.
    pub async fn get_page(&self, index: impl ToIndex) -> Result<PageView> {
        self.check_permission(index, Operation::GetPage).await
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

    /// Returns pages in view whose name or description holds the text, whatever the case.
    pub async fn find_page(&self, text: &str, limit: usize) -> Result<Vec<PageView>> {
        let query = ListQuery { matching: Some(text.to_owned()), limit, ..ListQuery::default() };
        Ok(self.list_pages(&query).await?.items)
    }

    /// Lists pages in view, or the archive of what is in view.
    pub async fn list_pages(&self, query: &ListQuery) -> Result<Listing<PageView>> {
        self.list_segments()?;
        self.reader().list(query).await
    }

    /// Returns the caller's and the system side's edits on pages in view, newest first.
    pub async fn history(
        &self,
        before: Option<Revision>,
        limit: usize,
    ) -> Result<Listing<HistoryEntry>> {
        self.reader().history(before, limit).await
    }

    // --- edits ---------------------------------------------------------------------------------

    /// Makes any edit, confined to the view and checked.
    pub async fn apply(&self, edit: Edit) -> Result<Outcome> {
        self.system.apply_for(&self.view, &edit).await
    }

    /// Changes a page's name and description; an empty one is left as it is (C26).
    pub async fn update_page(
        &self,
        index: impl ToIndex,
        name: &str,
        description: &str,
    ) -> Result<Outcome> {
        let mut update = PageUpdate::of(self.index(index)?);
        update.name = (!name.is_empty()).then(|| name.parse()).transpose()?;
        update.description = (!description.is_empty()).then(|| description.parse()).transpose()?;
        self.apply(Edit::UpdatePage(update)).await
    }

    /// Shows a page in this view.
    pub async fn expand_details(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::ExpandDetails(self.index(index)?)).await
    }

    /// Hides a page in this view.
    pub async fn hide_details(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::HideDetails(self.index(index)?)).await
    }

    /// Keeps a page from folding in this view.
    pub async fn pin_page(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::PinPage(self.index(index)?)).await
    }

    /// Takes a pin back in this view.
    pub async fn unpin_page(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::UnpinPage(self.index(index)?)).await
    }

    /// Sets this view's focus.
    pub async fn focus_page(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::FocusPage(self.index(index)?)).await
    }

    /// Switches this view to a level: nothing stands in more detail until the next switch (D-10).
    pub async fn switch_level(&self, level: Level) -> Result<Outcome> {
        self.apply(Edit::SwitchLevel(level)).await
    }

    /// Moves a page, with all below it, to the end of a directory.
    pub async fn move_page(&self, source: impl ToIndex, target: impl ToIndex) -> Result<Outcome> {
        let (page, to) = (self.index(source)?, self.index(target)?);
        self.apply(Edit::MovePage { page, to }).await
    }

    /// Takes a page, with all below it, to the archive. It can be restored.
    pub async fn remove_page(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::RemovePage(self.index(index)?)).await
    }

    /// Archives a page hot: out of the window, still in the tree.
    pub async fn archive_page(&self, index: impl ToIndex) -> Result<Outcome> {
        self.apply(Edit::ArchivePage(self.index(index)?)).await
    }

    /// Brings a page back from either archive to its old place.
    pub async fn restore_page(&self, index: impl ToIndex) -> Result<Outcome> {
        let page = self.index(index)?;
        self.apply(Edit::RestorePage { page, to: None }).await
    }

    /// Creates a leaf at the end of a directory; returns its index.
    pub async fn create_detail_page(
        &self,
        name: &str,
        description: &str,
        detail: &str,
        parent: impl ToIndex,
    ) -> Result<PageIndex> {
        let mut new = NewDetailPage::new(self.index(parent)?, name.parse()?, detail);
        new.description = description.parse()?;
        created(self.apply(Edit::CreateDetailPage(new)).await?)
    }

    /// Creates a directory at the end of another, adopting pages; returns its index (C05). They stay as
    /// visible as they were, for everyone (C44).
    pub async fn create_contents_page(
        &self,
        name: &str,
        description: &str,
        parent: impl ToIndex,
        children: &[PageIndex],
    ) -> Result<PageIndex> {
        let mut new = NewContentsPage::new(self.index(parent)?, name.parse()?);
        new.description = description.parse()?;
        new.children = children.to_vec();
        created(self.apply(Edit::CreateContentsPage(new)).await?)
    }

    /// Writes messages as turns where this view writes; returns their pages.
    pub async fn add_turn(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.view.writes_to.clone();
        Ok(self.apply(Edit::AddTurn { segment, messages }).await?.pages)
    }

    /// Continues this agent's own latest turn; returns the pages made or extended.
    pub async fn extend_turn(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.view.writes_to.clone();
        Ok(self.apply(Edit::ExtendTurn { segment, messages }).await?.pages)
    }

    /// Adds a segment to this view, where its own segment is SystemManaged (C03).
    pub async fn add_segment(&self, new: NewSegment) -> Result<Outcome> {
        self.apply(Edit::AddSegment(new)).await
    }

    /// Changes a SystemManaged segment's name and description; an empty one is left as it is.
    pub async fn update_segment(
        &self,
        id: SegmentId,
        name: &str,
        description: &str,
    ) -> Result<Outcome> {
        let mut update = SegmentUpdate::of(id);
        update.name = (!name.is_empty()).then(|| name.parse()).transpose()?;
        let description: Option<Description> =
            (!description.is_empty()).then(|| description.parse()).transpose()?;
        update.description = description;
        self.apply(Edit::UpdateSegment(update)).await
    }

    /// Removes a SystemManaged segment; its pages, if it has any, go to the archive.
    pub async fn remove_segment(&self, segment: SegmentId) -> Result<Outcome> {
        self.apply(Edit::RemoveSegment { segment, cascade: true, force: false }).await
    }

    /// Changes what agents may do in a SystemManaged segment.
    pub async fn set_permission(
        &self,
        segment: SegmentId,
        permission: Permission,
    ) -> Result<Outcome> {
        self.apply(Edit::SetPermission { segment, permission }).await
    }

    /// Takes back this agent's newest edit, or the one of its own that is named.
    pub async fn undo(&self, revision: Option<Revision>) -> Result<Outcome> {
        self.apply(Edit::Undo { revision }).await
    }
}

fn created(outcome: Outcome) -> Result<PageIndex> {
    outcome.pages.into_iter().next().ok_or_else(|| Error::NothingFound {
        what: "the page just created".to_owned(),
        hint: "this is a defect: please report it",
    })
}
