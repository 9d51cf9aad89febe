//! Taking over a session from another storage, part by part.

use crate::{
    ChunkKey, Content, CustomKey, HistoryEntry, LedgerKey, LevelChunk, Page, RunRecord, Segment,
    SentWindow, storage::SessionInfo, storage::ViewHead,
};

/// A part of a session being taken over. Parts come in the order in which they stand here, each as
/// often as there is more of it; versions, revisions, places and times stay what they were.
#[derive(Debug, Clone)]
pub enum ImportPart {
    /// Begins: what an earlier attempt left goes. Refused with
    /// [`StorageError::SessionExists`](super::StorageError::SessionExists) when the session is there.
    Begin,
    /// Segments, with their counters.
    Segments(Vec<Segment>),
    /// Pages of whatever standing.
    Pages(Vec<Page>),
    /// Contents that entries still to come assign.
    Contents(Vec<Content>),
    /// History entries, oldest first. Each content they assign counts as a reference.
    History(Vec<HistoryEntry>),
    /// Chunks of level state, none of them empty.
    Levels(Vec<(ChunkKey, LevelChunk)>),
    /// What is known of views.
    Views(Vec<ViewHead>),
    /// Custom state.
    Custom(Vec<(CustomKey, String)>),
    /// Run records.
    Runs(Vec<RunRecord>),
    /// Records of a ledger, oldest first.
    Ledger(LedgerKey, Vec<SentWindow>),
    /// Ends: the session appears, with this head. Durable when it returns.
    Finish(SessionInfo),
}
