//! Sessions and their segments.

use std::collections::BTreeMap;

use contexture_core::{
    Owner, PageIndex, Permission, Revision, Segment, SegmentId, SegmentKind, Timestamp, Tokens,
    message::RawJson,
    storage::{CustomKey, SessionInfo, Trace},
};
use serde::Serialize;

/// A segment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentObject {
    /// Its id, which its pages' indices begin with.
    pub id: SegmentId,
    /// Its name.
    pub name: String,
    /// Its description, which may be empty.
    pub description: String,
    /// Its kind.
    pub segment_type: SegmentKind,
    /// What agents may do in it.
    pub permission: Permission,
    /// Its root.
    pub root_index: PageIndex,
    /// How many tokens of a window it may take; 0 for any number.
    pub max_capacity: Tokens,
    /// The number that was given out last.
    pub next_index: u64,
    /// The agent or group it belongs to.
    pub owner: Option<Owner>,
}

impl From<&Segment> for SegmentObject {
    fn from(segment: &Segment) -> Self {
        Self {
            id: segment.id.clone(),
            name: segment.name.to_string(),
            description: segment.description.to_string(),
            segment_type: segment.kind,
            permission: segment.permission,
            root_index: segment.root(),
            max_capacity: segment.capacity,
            next_index: segment.last_number(),
            owner: segment.owner.clone(),
        }
    }
}

/// A session's head.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionObject {
    /// Its name.
    pub id: String,
    /// The application it belongs to.
    pub app: String,
    /// Its revision.
    pub revision: Revision,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl From<&SessionInfo> for SessionObject {
    fn from(info: &SessionInfo) -> Self {
        Self {
            id: info.id.to_string(),
            app: info.app.clone(),
            revision: info.revision,
            created_at: info.created_at,
            updated_at: info.updated_at,
        }
    }
}

/// A session that is ready for use.
#[derive(Debug, Serialize)]
pub struct InitialisedObject {
    /// Its name.
    pub session: String,
    /// The store it is in.
    pub store: String,
    /// Whether it was made just now.
    pub created: bool,
    /// All its segments.
    pub segments: Vec<SegmentObject>,
}

/// A session that was filled from a document.
#[derive(Debug, Serialize)]
pub struct LoadedObject {
    /// Its name.
    pub session: String,
    /// How many segments were loaded.
    pub segments: usize,
    /// How many pages were loaded.
    pub pages: usize,
    /// What was taken differently than the document says.
    pub warnings: Vec<String>,
}

/// A session that was destroyed.
#[derive(Debug, Serialize)]
pub struct RemovedObject {
    /// Its name.
    pub removed: String,
    /// Where bytes of it remain.
    pub traces: Vec<Trace>,
}

/// The custom state of a session.
#[derive(Debug, Serialize)]
pub struct CustomObject {
    /// All entries but the engine's own, by their keys.
    pub custom: BTreeMap<String, RawJson>,
}

impl CustomObject {
    /// Takes entries as they are stored: a text that is no JSON is a string.
    pub fn new(entries: impl IntoIterator<Item = (CustomKey, String)>) -> Self {
        let read = |(key, text): (CustomKey, String)| (key.to_string(), RawJson::of_text(&text));
        Self { custom: entries.into_iter().map(read).collect() }
    }
}
