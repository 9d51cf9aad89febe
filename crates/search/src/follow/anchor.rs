//! The edit that following has reached. By it a session is recognised that was put back to an earlier state, from a
//! backup for example, and has grown past that edit again: its mark is the same, but another edit has that number.

use contexture_core::{
    FeedEntry,
    storage::{Checksum, SessionInfo},
};
use serde::{Deserialize, Serialize};

/// Identifies an edit of a session beyond its number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    /// When the edit was made, in milliseconds.
    at: i64,
    /// The checksum of what it did, without the contents it stored.
    edit: String,
    /// The checksum of those contents. A later purge may take them out of the feed.
    contents: String,
}

impl Anchor {
    pub(crate) fn of(entry: &FeedEntry) -> Self {
        let mut entry = entry.clone();
        // What a later purge changes is left out.
        entry.purged.clear();
        let contents: Vec<_> = entry.put.iter_mut().map(|put| put.content.take()).collect();
        let (edit, contents) = (checksum(&entry), checksum(&contents));
        Self { at: entry.at.as_millis(), edit, contents }
    }

    /// Returns whether an entry of the feed is this edit.
    pub(crate) fn is(&self, entry: &FeedEntry) -> bool {
        let found = Self::of(entry);
        let same_edit = found.at == self.at && found.edit == self.edit;
        same_edit && (found.contents == self.contents || !entry.purged.is_empty())
    }

    /// Returns whether a session's head, at the same revision, was reached by this edit.
    pub(crate) fn is_head(&self, info: &SessionInfo) -> bool {
        info.updated_at.as_millis() == self.at
    }
}

fn checksum(value: &impl Serialize) -> String {
    let written = serde_json::to_vec(value).unwrap_or_default();
    Checksum::of(&written).to_string()
}
