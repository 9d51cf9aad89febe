//! Edits, each by its name. All go through [`Session::apply`].

use super::{Session, ToIndex};
use crate::{
    Description, Edit, EditOutcome, Error, Level, Message, NewContentsPage, NewDetailPage,
    NewSegment, PageIndex, PageUpdate, Permission, Result, Revision, SegmentId, SegmentUpdate,
};

impl Session {
    /// Makes any edit. An agent's is confined to its view and checked.
    pub async fn apply(&self, edit: Edit) -> Result<EditOutcome> {
        let outcome = self.system.apply(&edit, &self.principal, &[]).await?;
        self.as_seen(&edit, outcome).await
    }

    /// Leaves out of an undo's outcome what the view does not see. Any other edit takes along only what
    /// the view sees, and its pages are named even where they have left the view by it.
    async fn as_seen(&self, edit: &Edit, mut outcome: EditOutcome) -> Result<EditOutcome> {
        if self.principal.view().is_some() && matches!(edit, Edit::Undo { .. }) {
            outcome.pages = self.reader().seen_of(outcome.pages).await?;
        }
        Ok(outcome)
    }

    /// Changes a page's name and description; an empty one is left as it is.
    pub async fn update_page(
        &self,
        index: impl ToIndex,
        name: &str,
        description: &str,
    ) -> Result<EditOutcome> {
        let mut update = PageUpdate::of(self.index(index)?);
        update.name = (!name.is_empty()).then(|| name.parse()).transpose()?;
        update.description = (!description.is_empty()).then(|| description.parse()).transpose()?;
        self.apply(Edit::UpdatePage(update)).await
    }

    /// Shows a page in this view.
    pub async fn expand_details(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::ExpandDetails(self.index(index)?)).await
    }

    /// Hides a page in this view.
    pub async fn hide_details(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::HideDetails(self.index(index)?)).await
    }

    /// Keeps a page from folding in this view.
    pub async fn pin_page(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::PinPage(self.index(index)?)).await
    }

    /// Takes a pin back in this view.
    pub async fn unpin_page(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::UnpinPage(self.index(index)?)).await
    }

    /// Sets this view's focus.
    pub async fn focus_page(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::FocusPage(self.index(index)?)).await
    }

    /// Switches this view to a level: nothing stands in more detail until the next switch (D-10).
    pub async fn switch_level(&self, level: Level) -> Result<EditOutcome> {
        self.apply(Edit::SwitchLevel(level)).await
    }

    /// Moves a page, with all below it, to the end of a directory.
    pub async fn move_page(
        &self,
        source: impl ToIndex,
        target: impl ToIndex,
    ) -> Result<EditOutcome> {
        let (page, to) = (self.index(source)?, self.index(target)?);
        self.apply(Edit::MovePage { page, to }).await
    }

    /// Takes a page, with all below it, to the archive. It can be restored.
    pub async fn remove_page(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::RemovePage(self.index(index)?)).await
    }

    /// Archives a page hot: out of the window, still in the tree.
    pub async fn archive_page(&self, index: impl ToIndex) -> Result<EditOutcome> {
        self.apply(Edit::ArchivePage(self.index(index)?)).await
    }

    /// Brings a page back from either archive to its old place.
    pub async fn restore_page(&self, index: impl ToIndex) -> Result<EditOutcome> {
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

    /// Creates a directory at the end of another, adopting pages; returns its index. They stay as
    /// visible as they were, for everyone.
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

    /// Writes messages as turns; returns their pages.
    pub async fn add_turn(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.writes_to();
        Ok(self.apply(Edit::AddTurn { segment, messages }).await?.pages)
    }

    /// Continues the principal's own latest turn; returns the pages made or extended.
    pub async fn extend_turn(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.writes_to();
        Ok(self.apply(Edit::ExtendTurn { segment, messages }).await?.pages)
    }

    /// Writes messages of which the last exchange may be open, so that nothing a model said is lost
    /// while its tools run: user messages begin turns, and what comes before them continues the principal's
    /// own latest turn. Returns the pages made or extended.
    ///
    /// Results follow by [`Session::add_results`]. Until all are there, or the exchange is closed, the
    /// principal adds nothing else to the segment.
    pub async fn open_exchange(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.writes_to();
        Ok(self.apply(Edit::OpenExchange { segment, messages }).await?.pages)
    }

    /// Answers calls of the principal's own open exchange: tool messages, several at once or one by one,
    /// in any order. Returns its page.
    pub async fn add_results(&self, messages: Vec<Message>) -> Result<Vec<PageIndex>> {
        let segment = self.writes_to();
        Ok(self.apply(Edit::AddResults { segment, messages }).await?.pages)
    }

    /// Answers what is left of the principal's own open exchange as interrupted; returns its page.
    pub async fn close_exchange(&self) -> Result<Vec<PageIndex>> {
        let segment = self.writes_to();
        Ok(self.apply(Edit::CloseExchange { segment }).await?.pages)
    }

    /// Adds a segment. An agent's joins its view, where its own segment is SystemManaged.
    pub async fn add_segment(&self, new: NewSegment) -> Result<EditOutcome> {
        self.apply(Edit::AddSegment(new)).await
    }

    /// Changes a segment's name and description; an empty one is left as it is.
    pub async fn update_segment(
        &self,
        id: SegmentId,
        name: &str,
        description: &str,
    ) -> Result<EditOutcome> {
        let mut update = SegmentUpdate::of(id);
        update.name = (!name.is_empty()).then(|| name.parse()).transpose()?;
        let description: Option<Description> =
            (!description.is_empty()).then(|| description.parse()).transpose()?;
        update.description = description;
        self.apply(Edit::UpdateSegment(update)).await
    }

    /// Removes a segment; its pages, if it has any, go to the archive.
    pub async fn remove_segment(&self, segment: SegmentId) -> Result<EditOutcome> {
        self.apply(Edit::RemoveSegment { segment, cascade: true, force: false }).await
    }

    /// Changes what agents may do in a segment.
    pub async fn set_permission(
        &self,
        segment: SegmentId,
        permission: Permission,
    ) -> Result<EditOutcome> {
        self.apply(Edit::SetPermission { segment, permission }).await
    }

    /// Takes back the principal's newest edit, or the one that is named.
    pub async fn undo(&self, revision: Option<Revision>) -> Result<EditOutcome> {
        self.apply(Edit::Undo { revision }).await
    }
}

fn created(outcome: EditOutcome) -> Result<PageIndex> {
    outcome.pages.into_iter().next().ok_or_else(|| Error::NothingFound {
        what: "the page just created".to_owned(),
        advice: "this is a bug: please report it".into(),
    })
}
