//! The change feed: what each edit did to a session, light enough to be followed.
//!
//! An entry names what an edit touched and holds nothing of what stood there before, so that search
//! indices, caches and other processes can keep up with a session without reading its history. It is
//! derived from the history that every storage keeps, and is complete however many pages an edit
//! touched.
//!
//! For followers: keep the session's mark ([`SessionInfo::mark`](crate::storage::SessionInfo)) beside
//! the revision reached. Where the mark is another one, the session was removed and made again; where an
//! entry says [`Operation::Lost`], what that edit did is not known: in both cases begin again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    Actor, HistoryEntry, Operation, PageIndex, Revision, SegmentId, Timestamp,
    storage::{
        Change, ChunkKey, ContentHash, CustomDelta, CustomKey, FocusDelta, LevelDelta, Version,
        ViewId,
    },
};

/// What one edit did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeedEntry {
    /// The number of the state after it. Numbers are dense: one that is missing was not read.
    pub revision: Revision,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub actor: Actor,
    /// In which view.
    pub view: ViewId,
    /// What it is recorded as.
    pub operation: Operation,
    /// The edit it takes back, when it is an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Revision>,
    /// Pages made or changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<PagePut>,
    /// Pages taken away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<PageIndex>,
    /// Pages of which something was destroyed for good, by this edit or by a purge since. A follower
    /// drops all that it keeps of them before it looks at `put`, and reads those again that it finds
    /// there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub purged: Vec<PageIndex>,
    /// Segments made or changed themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// Chunks of level state changed, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<ChunkKey>,
    /// Views whose focus changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub focus: Vec<ViewId>,
    /// Custom state that changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom: Vec<CustomKey>,
}

/// A page that an edit made or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PagePut {
    /// Which page.
    pub index: PageIndex,
    /// The version the edit gave it.
    pub version: Version,
    /// Its content, where the edit gave it a new one that was not purged since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentHash>,
}

impl FeedEntry {
    /// Returns what a history entry says.
    pub fn of(entry: &HistoryEntry) -> Self {
        let inverse = &entry.inverse;
        let pages = &inverse.pages;
        let put = pages.iter().filter_map(|page| {
            let (index, version) = (page.index.clone(), page.after?);
            Some(PagePut { index, version, content: page.assigned })
        });
        let gone = pages.iter().filter(|page| page.after.is_none());
        let purged = pages.iter().filter(|page| page.purged);
        Self {
            revision: entry.revision,
            at: entry.at,
            actor: entry.actor.clone(),
            view: entry.view.clone(),
            operation: entry.operation,
            undoes: entry.undoes,
            put: put.collect(),
            gone: gone.map(|page| page.index.clone()).collect(),
            purged: purged.map(|page| page.index.clone()).collect(),
            segments: entry.segments.clone(),
            levels: chunks(&inverse.levels),
            focus: focused(&inverse.focus),
            custom: keys(&inverse.custom),
        }
    }

    /// Returns what a settled change says: the same as its history entry would.
    pub fn of_change(change: &Change, revision: Revision) -> Self {
        let pages = &change.pages;
        let put = pages.iter().filter_map(|delta| {
            let (index, version) = (delta.index.clone(), delta.after.as_ref()?.version);
            Some(PagePut { index, version, content: delta.assigned_content() })
        });
        let gone = pages.iter().filter(|delta| delta.after.is_none());
        let purged = pages.iter().filter(|_| change.purge);
        Self {
            revision,
            at: change.at,
            actor: change.actor.clone(),
            view: change.view.clone(),
            operation: change.operation,
            undoes: change.undoes,
            put: put.collect(),
            gone: gone.map(|delta| delta.index.clone()).collect(),
            purged: purged.map(|delta| delta.index.clone()).collect(),
            segments: change.segments.iter().map(|delta| delta.after.id.clone()).collect(),
            levels: chunks(&change.levels),
            focus: focused(&change.focus),
            custom: keys(&change.custom),
        }
    }

    /// Returns the pages it put or took away, each once.
    pub fn touched(&self) -> impl Iterator<Item = &PageIndex> {
        self.put.iter().map(|put| &put.index).chain(&self.gone)
    }

    /// Returns about how many things it names, which is what it takes to keep it.
    pub fn weight(&self) -> usize {
        let pages = self.put.len() + self.gone.len() + self.purged.len();
        1 + pages + self.segments.len() + self.levels.len() + self.custom.len()
    }
}

fn chunks(levels: &[LevelDelta]) -> Vec<ChunkKey> {
    let chunks = levels.iter().map(|delta| ChunkKey::of(&delta.view, &delta.page));
    chunks.collect::<BTreeSet<ChunkKey>>().into_iter().collect()
}

fn focused(focus: &[FocusDelta]) -> Vec<ViewId> {
    focus.iter().map(|delta| delta.view.clone()).collect()
}

fn keys(custom: &[CustomDelta]) -> Vec<CustomKey> {
    custom.iter().map(|delta| delta.key.clone()).collect()
}
