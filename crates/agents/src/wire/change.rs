//! What an edit changed, as events tell it.

use contexture_core::{Actor, Operation, PageIndex, Revision, SeenChange, SegmentId, Timestamp};
use serde::Serialize;

/// An edit, as far as the view that it is told to may know of it.
#[derive(Debug, Serialize)]
pub struct ChangeObject {
    /// The number of the state after it.
    pub revision: Revision,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it; none where the view's history does not show it.
    pub actor: Option<Actor>,
    /// What was done; none where the view's history does not show it.
    pub operation: Option<Operation>,
    /// The edit it took back, when it is an undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Revision>,
    /// The pages in view that it was about; of very many the first.
    pub pages: Vec<PageIndex>,
    /// The segments in view that it was about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
}

impl From<SeenChange> for ChangeObject {
    fn from(seen: SeenChange) -> Self {
        let SeenChange { revision, at, by, undoes, pages, segments } = seen;
        let (actor, operation) = by.unzip();
        Self { revision, at, actor, operation, undoes, pages, segments }
    }
}
