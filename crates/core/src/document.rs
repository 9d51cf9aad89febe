//! The seed's JSON document of a whole session (C21): export and load.

use serde::{Deserialize, Serialize};

use crate::{Message, Page, Segment};

/// A document that was read and checked, ready to fill an empty session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// The segments in display order, with their counters.
    pub segments: Vec<Segment>,
    /// The pages; siblings in their order.
    pub pages: Vec<LoadPage>,
}

/// A page of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPage {
    /// The page; its place, content hash, version and revision are set when it is loaded.
    pub page: Page,
    /// Its messages, where it is a leaf.
    pub messages: Vec<Message>,
}
