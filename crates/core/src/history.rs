//! History: every committed edit with who, when, what and how to take it back, append-only.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    Actor, Operation, Page, PageIndex, Revision, Segment, SegmentId, Timestamp,
    storage::{ContentHash, CustomDelta, FocusDelta, LevelDelta, UndoneMark, Version, ViewId},
};

/// One committed edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// The number of the state after it.
    pub revision: Revision,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// In which view.
    pub view: ViewId,
    /// What.
    pub operation: Operation,
    /// The pages it is about, the first [`HistoryEntry::PAGES_NAMED`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageIndex>,
    /// The segments it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// The edit it takes back, when it is an undo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Revision>,
    /// The edit that took it back, while that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<Revision>,
    /// The edit that last put it into force again, while that stands: its inverse is the one to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redone_by: Option<Revision>,
    /// What it saved and cost, when it is a fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldReport>,
    /// How to take it back.
    pub inverse: Inverse,
}

/// What a fold saves and costs, in tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoldReport {
    /// How many pages it lowered.
    pub folded: u64,
    /// What the window took before.
    pub tokens_before: u64,
    /// What the window takes after.
    pub tokens_after: u64,
    /// What the provider must read again because it stands behind the first changed byte.
    pub reread_tokens: u64,
    /// What no longer stands in the window.
    pub saved_tokens: u64,
}

impl HistoryEntry {
    /// How many pages an entry names at most.
    pub const PAGES_NAMED: usize = 100;

    /// Stands for an edit that is lost, with what others still say of the pages it touched. It cannot be
    /// undone.
    pub fn stand_in(revision: Revision, at: Timestamp, pages: Vec<PageBefore>) -> Self {
        let named = pages.iter().map(|before| before.index.clone());
        Self {
            revision,
            at,
            actor: Actor::System,
            view: ViewId::SYSTEM,
            operation: Operation::Lost,
            pages: named.take(Self::PAGES_NAMED).collect(),
            segments: Vec::new(),
            undoes: None,
            undone_by: None,
            redone_by: None,
            fold: None,
            inverse: Inverse { pages, ..Inverse::default() },
        }
    }

    /// Tells whether a page that this edit touched is there after it, where no later edit touched it. What
    /// took the edit back, or purged the page, may itself be lost: but it left a sign here.
    pub fn leaves(&self, touched: &PageBefore) -> bool {
        let is_there = match self.undone_by {
            Some(_) => touched.before.is_some(),
            None => touched.after.is_some(),
        };
        is_there && !touched.purged
    }

    /// Tells whether it can be what a bare undo takes back: neither undone nor an undo, not what an
    /// application did, and not what the session began with.
    pub fn is_undoable(&self) -> bool {
        self.undoes.is_none()
            && self.undone_by.is_none()
            && !matches!(self.operation, Operation::PressAnchor | Operation::Init)
    }

    /// Notes that the edit at `revision` undid or redid this one.
    pub fn mark(&mut self, mark: &UndoneMark, revision: Revision) {
        self.undone_by = mark.undone.then_some(revision);
        self.redone_by = (!mark.undone).then_some(revision);
    }

    /// Scrubs what refers to contents that are lost, as a purge would; tells whether anything did.
    ///
    /// For storages that repair themselves: an undo must not bring back a page without its content.
    pub fn forget(&mut self, is_lost: impl Fn(&ContentHash) -> bool) -> bool {
        let mut changed = false;
        for before in &mut self.inverse.pages {
            if before.assigned.is_some_and(|hash| is_lost(&hash)) {
                before.assigned = None;
                changed = true;
            }
            let content =
                before.before.as_ref().and_then(Page::detail).map(|detail| detail.content);
            if content.is_some_and(|hash| is_lost(&hash)) {
                before.before = None;
                before.purged = true;
                changed = true;
            }
        }
        changed
    }
}

/// How to take an edit back: what everything it touched was like before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inverse {
    /// Pages as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageBefore>,
    /// Segments as they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentBefore>,
    /// Level entries as they were and became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelDelta>,
    /// Focus as it was and became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub focus: Vec<FocusDelta>,
    /// Custom state as it was and became.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom: Vec<CustomDelta>,
}

impl Inverse {
    /// Returns where which page stands in `pages`: an edit may have touched very many.
    pub fn positions(&self) -> HashMap<PageIndex, usize> {
        let positions = self.pages.iter().enumerate().rev();
        positions.map(|(position, before)| (before.index.clone(), position)).collect()
    }
}

/// A page as it was before an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageBefore {
    /// Which.
    pub index: PageIndex,
    /// As it was; none when the edit made it (or, if `purged`, when it was scrubbed).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Page>,
    /// The version the edit gave it; none when the edit took it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Version>,
    /// The edit that touched the page before this one: the chain a purge follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Revision>,
    /// The edit whose work this one, an undo, brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<Revision>,
    /// The content this edit newly gave the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<ContentHash>,
    /// Whether a purge took what stood here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purged: bool,
}

impl PageBefore {
    /// Scrubs what a purge must not leave behind; returns the content reference that goes with it.
    pub fn scrub(&mut self) -> Option<ContentHash> {
        self.before = None;
        self.purged = true;
        self.assigned.take()
    }
}

/// A segment as it was before an edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentBefore {
    /// Which.
    pub id: SegmentId,
    /// As it was; none when the edit added it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Segment>,
    /// The version the edit gave it.
    pub after: Version,
    /// The edit whose work this one, an undo, brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restores: Option<Revision>,
}
