//! Taking over a session from another storage, part by part.

use crate::{
    HistoryEntry, Page, Segment, SessionId,
    storage::{
        ChunkKey, Content, CustomKey, LedgerKey, LevelChunk, RunRecord, SentWindow, SessionInfo,
        StorageError, StorageResult, ViewHead,
    },
};

/// A part of a session being taken over. Parts come in the order in which they stand here, each as
/// often as there is more of it; versions, revisions, places and times stay what they were.
#[derive(Debug, Clone)]
pub enum ImportPart {
    /// Begins: what an earlier attempt left goes. Refused with
    /// [`StorageError::SessionExists`](super::StorageError::SessionExists) when the session is there.
    Begin,
    /// Begins over a session that is there and has this head. It shows as it is until the last part puts
    /// the new one in its place, in one step. Refused with
    /// [`StorageError::Conflict`](super::StorageError::Conflict), now and with each part, when the session
    /// has another head by then.
    BeginOver(SessionInfo),
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

impl ImportPart {
    /// Decides whether a part may be taken in, for storages: `there` is the head of the session as it
    /// shows, `over` the one that the import was begun over.
    pub fn admit(
        session: &SessionId,
        there: Option<&SessionInfo>,
        over: Option<&SessionInfo>,
    ) -> StorageResult<()> {
        match (there, over) {
            (None, None) => Ok(()),
            (Some(there), Some(over)) if there == over => Ok(()),
            (Some(_), None) => Err(StorageError::SessionExists { session: session.clone() }),
            (_, Some(_)) => Err(StorageError::Conflict { subject: format!("session '{session}'") }),
        }
    }
}
