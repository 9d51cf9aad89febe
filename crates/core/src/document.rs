//! The seed's JSON document of a whole session: export and load.
//!
//! One object with `segments` in display order and `pages` by index. Visibility and lifecycle in it
//! are the system side's. Archived and retired pages are included; views, history and ledger are
//! not. `nextIndex` is the last number given: each segment has its own, and the document's is the
//! largest. [`export`] writes it, [`parse`] reads it, ours or the seed's, into a [`LoadPlan`].

mod export;
mod parse;

use serde::{Deserialize, Serialize};

use crate::{Message, Page, Segment, storage::SessionTimes};

pub use export::export;
pub use parse::{Parsed, parse};

/// The version of the document's shape that is written.
pub const SCHEMA_VERSION: u64 = 1;

/// A document that was read and checked, ready to fill an empty session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// The segments in display order, with their counters.
    pub segments: Vec<Segment>,
    /// The pages; siblings in their order.
    pub pages: Vec<LoadPage>,
    /// When the session was made and last changed, where the document says so.
    #[serde(default)]
    pub times: Option<SessionTimes>,
}

/// A page of a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPage {
    /// The page; its place, content hash, version and revision are set when it is loaded.
    pub page: Page,
    /// Its messages, where it is a leaf.
    pub messages: Vec<Message>,
}

/// A segment as the document spells it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentOut<'a> {
    id: &'a str,
    name: &'a str,
    description: &'a str,
    segment_type: &'static str,
    permission: &'static str,
    root_index: String,
    max_capacity: u64,
    next_index: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    created_at: String,
    updated_at: String,
}

/// A page as the document spells it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageOut<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    lifecycle: &'static str,
    visibility: &'static str,
    /// None for a root.
    parent: Option<String>,
    place: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<Vec<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_count: Option<u32>,
    archived: ArchivedOut,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    author: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten_by: Option<String>,
    trust: &'static str,
    sources: Vec<String>,
    created_at: String,
    updated_at: String,
}

/// Whether a page was archived itself; what lies below an archived page was not.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ArchivedOut {
    No(bool),
    Kind(&'static str),
}

#[cfg(test)]
#[path = "document/tests.rs"]
mod tests;
