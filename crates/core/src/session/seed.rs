//! The source documents' names for what an agent does with pages, for readers who come from them.
//!
//! They go through [`Session::apply`] and [`Session::check_permission`] like the others.

use super::{Session, ToIndex};
use crate::{Edit, EditOutcome, Error, ErrorKind, Operation, PageUpdate, Result, Segment};

impl Session {
    /// Replaces what a leaf says; an empty text clears it (SetDetail).
    pub async fn set_detail(&self, index: impl ToIndex, detail: &str) -> Result<EditOutcome> {
        let mut update = PageUpdate::of(self.index(index)?);
        update.detail = Some(detail.to_owned());
        self.apply(Edit::UpdatePage(update)).await
    }

    /// Returns what a leaf says as one text (GetDetail).
    pub async fn get_detail(&self, index: impl ToIndex) -> Result<String> {
        Ok(crate::message::detail_text(&self.get_messages(index).await?))
    }

    /// Tells whether a directory lists a page, as far as this view sees it (HasChild).
    pub async fn has_child(&self, index: impl ToIndex, child: impl ToIndex) -> Result<bool> {
        let directory = self.check_permission(index, Operation::GetChildren).await?.page;
        if !directory.is_contents() {
            return Err(Error::NotContentsPage { page: directory.index.clone() });
        }
        match self.reader().page(&self.index(child)?).await {
            Ok(child) => Ok(child.page.parent.as_ref() == Some(&directory.index)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Counts the pages a directory lists, as far as this view sees them (ChildCount).
    pub async fn child_count(&self, index: impl ToIndex) -> Result<u64> {
        let directory = self.check_permission(index, Operation::GetChildren).await?.page;
        if !directory.is_contents() {
            return Err(Error::NotContentsPage { page: directory.index.clone() });
        }
        self.reader().child_count(&directory.index).await
    }

    /// Returns a copy of the segment in view that an index belongs to (GetSegmentByPageIndex).
    pub fn get_segment_by_page_index(&self, index: impl ToIndex) -> Result<Segment> {
        self.get_segment(self.index(index)?.segment())
    }
}
