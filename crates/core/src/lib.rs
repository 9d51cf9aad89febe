//! Contexture's core: virtual memory for the context window of LLM agents.
//!
//! Everything an agent has seen, said and done is a durable tree of pages. This crate holds the
//! pages, the edits that change them, the permissions that guard them and the views through which
//! agents see them. It decides and never waits on anything but a [`PageStorage`]: no runtime, no
//! file system, no clock, no environment.
//!
//! ```
//! use std::sync::Arc;
//! use contexture_core::*;
//! # futures::executor::block_on(async {
//! // A session in memory, with a system prompt agents cannot change and a place for the talk.
//! let storage = Arc::new(MemoryStorage::new());
//! let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
//! let system = ContextSystem::create(storage, "demo".parse()?, "demo-app", clock).await?;
//! let sys = NewSegment::new("sys".parse()?, SegmentKind::System);
//! let usr = NewSegment::new("usr".parse()?, SegmentKind::User);
//! system.as_system().apply(Edit::Batch(vec![Edit::AddSegment(sys), Edit::AddSegment(usr)])).await?;
//! let prompt = NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, "You are a careful assistant.");
//! system.as_system().apply(Edit::CreateDetailPage(prompt)).await?;
//!
//! // An agent acts through its proxy.
//! let agent = AgentContext::new(system.clone(), View::common("helper".parse()?));
//! let note = agent.create_detail_page("Plan", "what to do", "1. read 2. think", "usr-0").await?;
//! assert_eq!(agent.get_page(&note).await?.visibility, Visibility::Expanded);
//! agent.hide_details(&note).await?;
//! assert_eq!(agent.get_page(&note).await?.visibility, Visibility::Hidden);
//!
//! // It may not touch the prompt, and what it did can be undone.
//! let refused = agent.update_page("sys-1", "Mine", "").await.unwrap_err();
//! assert_eq!(
//!     refused.to_string(),
//!     "permission denied: operation 'updatePage' on sys-1 requires higher permission"
//! );
//! agent.undo(None).await?;
//! assert_eq!(agent.get_page(&note).await?.visibility, Visibility::Expanded);
//! # Ok::<(), Error>(()) }).unwrap();
//! ```

mod error;
mod text;

mod index;
mod quantity;

pub mod message;

mod content;
mod page;
mod segment;
mod view;

mod level;

mod edit;

mod change;
mod feed;
mod history;
mod ledger;
mod run;

pub mod decide;
pub mod permission;

pub mod storage;

pub mod principal;
pub mod session;

pub mod agent;
pub mod check;
pub mod context;
pub mod conversation;
pub mod copy;
pub mod document;
pub mod engine;
pub mod system;
pub mod transcript;
pub mod window;

pub use agent::AgentContext;
pub use change::{
    Assigned, Basis, Change, CustomDelta, FocusDelta, LevelDelta, NumberClaim, PageDelta,
    PlaceClaim, SegmentDelta, SessionTimes, UndoneMark,
};
pub use content::{Content, ContentHash};
pub use conversation::Conversation;
pub use edit::{
    Edit, FoldPlan, FoldStep, NewContentsPage, NewDetailPage, Operation, PageUpdate, SegmentUpdate,
};
pub use engine::{Engine, EngineSettings, EngineUsage};
pub use error::{Advice, Error, ErrorKind, Result};
pub use feed::{FeedEntry, PagePut};
pub use history::{FoldReport, HistoryEntry, Inverse, PageBefore, SegmentBefore};
pub use index::{PageIndex, SegmentId};
pub use ledger::{LedgerKey, Quoted, SentPiece, SentSource, SentWindow, Usage};
pub use level::{
    ChunkKey, Cited, Fold, Level, LevelChunk, LevelEntry, Run, RunForm, StandingRequest, Told,
    WindowLevel,
};
pub use message::{Message, Role};
pub use page::{Body, Checksum, Detail, Lifecycle, MOST_DEEP, Page, Standing, Trust, Visibility};
pub use principal::Principal;
pub use quantity::{Clock, ManualClock, Place, Revision, Timestamp, Tokens, Version};
pub use run::{RunPut, RunRecord};
pub use segment::{NewSegment, Owner, Permission, Segment, SegmentKind};
pub use session::Session;
pub use storage::{CountKey, MemoryStorage, PageStorage, ViewHead};
pub use system::ContextSystem;
pub use text::{AgentName, CustomKey, Description, PageName, RunKey, SessionId, UserName};
pub use view::{Actor, FilterKey, Mounts, Speech, View, ViewFilter, ViewId};
pub use window::{
    format::Format,
    piece::Mark,
    preface::WindowTools,
    request::{Sent, Window, WindowOptions},
};
