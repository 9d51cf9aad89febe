//! The JSON objects that every surface gives out: the command line prints them, a server sends them.
//!
//! Each object is a type with public fields in the order in which they are written. What they mean to a
//! reader is in `docs/json.md`; a test there runs every command and compares what it prints. Objects that
//! have to read for themselves take a [`Session`](contexture_core::Session), so they hold what its
//! principal may see and no more.

mod account;
mod agent;
mod change;
mod copy;
mod edit;
mod error;
mod found;
mod graph;
mod import;
mod page;
mod session;
mod window;

pub use account::{AccountObject, EstimateObject, KindObject};
pub use agent::{
    AgentContextObject, AgentFileObject, AgentObject, ClearedObject, CreatedAgentObject,
    DecidedObject, EffectiveModeObject, FileProblemObject, ModeSaidObject, ResponseObject,
    RunObject, ValidatedObject,
};
pub use change::ChangeObject;
pub use copy::{CheckedObject, CopiedObject, CopiedSessionObject, ScrubbedObject};
pub use edit::{
    AnswerObject, FoldObject, HistoryObject, LevelObject, MoveObject, MovedObject, OutOfViewObject,
    PurgedObject, TurnObject, UndoObject,
};
pub use error::{ErrorObject, FailureObject};
pub use found::{
    FeatureObject, FoundList, FoundObject, RecallObject, RecalledObject, SimilarityObject,
    SnippetObject,
};
pub use graph::{
    GraphObject, HistoryKind, HistoryMemberObject, HistoryRelation, SharedHistoryObject,
};
pub use import::{ImportObject, ImportedObject, KeptAs, KeptPromptObject};
pub use page::{BodyObject, PageObject, SaidObject, Texts, TreeBounds, TreeObject};
pub use session::{
    CustomObject, InitialisedObject, LoadedObject, RemovedObject, SegmentObject, SessionObject,
};
pub use window::{AccountedObject, ContentObject, LedgerObject, RequestObject, ShareObject};

use serde::Serialize;

/// Some items of a list, and where the list continues.
#[derive(Debug, Serialize)]
pub struct ListObject<T> {
    /// The items, in the order of the list.
    pub items: Vec<T>,
    /// The cursor to ask for more with; none at the end.
    pub next: Option<String>,
}
