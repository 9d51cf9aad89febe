//! What edits did: history, undo, folds, moves, turns and purges.

use contexture_core::{
    Actor, EditOutcome, HistoryEntry, Level, Operation, PageIndex, Revision, SegmentId, Timestamp,
    storage::{Trace, ViewId},
    window::FoldReport,
};
use serde::Serialize;

/// A committed edit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryObject {
    /// The revision it made.
    pub revision: Revision,
    /// When it was committed.
    pub at: Timestamp,
    /// Who did it.
    pub actor: Actor,
    /// The view it was made in.
    pub view: ViewId,
    /// What was done.
    pub operation: Operation,
    /// The pages it was about; of very many the first.
    pub pages: Vec<PageIndex>,
    /// The segments it was about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<SegmentId>,
    /// The edit it took back, when it is an undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undoes: Option<Revision>,
    /// The undo that took it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone_by: Option<Revision>,
    /// What it saved and cost, when it is a fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldReport>,
}

impl From<&HistoryEntry> for HistoryObject {
    fn from(entry: &HistoryEntry) -> Self {
        Self {
            revision: entry.revision,
            at: entry.at,
            actor: entry.actor.clone(),
            view: entry.view.clone(),
            operation: entry.operation,
            pages: entry.pages.clone(),
            segments: entry.segments.clone(),
            undoes: entry.undoes,
            undone_by: entry.undone_by,
            fold: entry.fold,
        }
    }
}

/// What an undo did.
#[derive(Debug, Serialize)]
pub struct UndoObject {
    /// The revision it made.
    pub revision: Revision,
    /// The edit it took back.
    pub undone: Option<Revision>,
    /// The pages it was about.
    pub pages: Vec<PageIndex>,
}

impl From<&EditOutcome> for UndoObject {
    fn from(outcome: &EditOutcome) -> Self {
        Self { revision: outcome.revision, undone: outcome.undone, pages: outcome.pages.clone() }
    }
}

/// What a fold saved and cost.
#[derive(Debug, Serialize)]
pub struct FoldObject {
    /// The edit it was committed as; none for a preview, or when none was due.
    pub revision: Option<Revision>,
    /// How many pages it folded and what that does to the window.
    #[serde(flatten)]
    pub report: FoldReport,
}

/// The level a view is switched to.
#[derive(Debug, Serialize)]
pub struct LevelObject {
    /// The level.
    pub level: Level,
    /// The edit that switched to it; none where nothing was switched.
    pub revision: Option<Revision>,
}

/// Old and new indices after a move.
#[derive(Debug, Serialize)]
pub struct MovedObject {
    /// The page and all below it that got a new index; the page itself where it kept its own.
    pub moved: Vec<MoveObject>,
}

/// A page that was moved.
#[derive(Debug, Serialize)]
pub struct MoveObject {
    /// Its index before.
    pub from: PageIndex,
    /// Its index now.
    pub to: PageIndex,
}

impl MovedObject {
    /// Says where a page and all below it went.
    pub fn new(page: &PageIndex, outcome: EditOutcome) -> Self {
        let mut moved: Vec<MoveObject> =
            outcome.moved.into_iter().map(|(from, to)| MoveObject { from, to }).collect();
        if moved.is_empty() {
            moved.push(MoveObject { from: page.clone(), to: page.clone() });
        }
        Self { moved }
    }
}

/// An edit that was made, but took its page out of the view of the one who made it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutOfViewObject {
    /// Always false.
    pub in_view: bool,
    /// The page.
    pub index: Option<PageIndex>,
    /// The edit.
    pub revision: Revision,
}

impl From<&EditOutcome> for OutOfViewObject {
    fn from(outcome: &EditOutcome) -> Self {
        let index = outcome.pages.first().cloned();
        Self { in_view: false, index, revision: outcome.revision }
    }
}

/// A turn that was added or extended.
#[derive(Debug, Serialize)]
pub struct TurnObject {
    /// The pages that were made or extended.
    pub pages: Vec<PageIndex>,
}

/// What an application answered to an anchor that was pressed.
#[derive(Debug, Serialize)]
pub struct AnswerObject {
    /// Its words.
    pub answer: String,
}

/// Pages that were destroyed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PurgedObject {
    /// Which pages.
    pub purged: Vec<PageIndex>,
    /// The keys of interrupted runs that were given up because they held some of them.
    pub runs_given_up: Vec<String>,
    /// Where bytes of them remain.
    pub traces: Vec<Trace>,
}
