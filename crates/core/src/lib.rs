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
//! // One engine per process, here over a storage in memory, and a session in it: a segment for the
//! // system prompt, and one for the talk.
//! let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
//! let engine = Engine::new(Arc::new(MemoryStorage::new()), clock);
//! let demo = "demo".parse()?;
//! let sys = Edit::AddSegment(NewSegment::new("sys".parse()?, SegmentKind::System));
//! let usr = Edit::AddSegment(NewSegment::new("usr".parse()?, SegmentKind::User));
//! engine.create(&demo, "demo-app", &Edit::Batch(vec![sys, usr])).await?;
//!
//! // The host holds the session as the system side and writes a prompt that agents cannot change.
//! let host = engine.session(&demo, Principal::System).await?;
//! let prompt = NewDetailPage::new("sys-0".parse()?, "Prompt".parse()?, "You are a careful assistant.");
//! host.apply(Edit::CreateDetailPage(prompt)).await?;
//!
//! // An agent holds the same session through its view.
//! let agent = engine.session(&demo, View::common("helper".parse()?).into()).await?;
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
//!
//! The names below are what an embedder needs. Whoever writes, checks or copies a storage finds the rest
//! in [`storage`]; [`message`], [`window`], [`context`], [`transcript`] and [`document`] are small topics
//! of their own.

// In the order in which they are best read.
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
mod receipt;
mod run;

mod decide;
mod permission;

pub mod storage;

mod principal;
mod system;

mod session;

mod agent;
mod engine;
mod finder;

pub mod window;

mod conversation;

pub mod context;
pub mod document;
pub mod transcript;

// The door: the sessions of a storage, and who holds one.
pub use agent::AgentContext;
pub use conversation::Conversation;
pub use engine::{Engine, EngineSettings, EngineUsage};
pub use finder::Finder;
pub use principal::Principal;
pub use session::{KeyedSession, Session, ToIndex};
pub use system::ContextSystem;
pub use view::{Actor, Mounts, View, ViewFilter};

// Pages and segments.
pub use page::{Lifecycle, Page, Trust, Visibility};
pub use permission::AccessLevel;
pub use segment::{NewSegment, Owner, Permission, Segment, SegmentKind};
pub use system::{ListQuery, Listing, PageView, Reader};

// Edits, and what they return.
pub use edit::{Edit, NewContentsPage, NewDetailPage, Operation, PageUpdate, SegmentUpdate};
pub use system::EditOutcome;

// Windows.
pub use ledger::Usage;
pub use level::{Level, WindowLevel};
pub use window::{
    count::TokenCounter,
    format::Format,
    provider::ProviderFormat,
    request::{Account, Window, WindowOptions},
};

// Messages.
pub use message::{Message, Role};

// History and feed.
pub use feed::FeedEntry;
pub use history::HistoryEntry;
pub use system::{FeedEvent, SeenChange, Subscription};

// Errors.
pub use error::{Advice, Error, ErrorKind, Result};

// Names and quantities.
pub use index::{PageIndex, SegmentId};
pub use quantity::{Clock, ManualClock, Revision, Timestamp, Tokens};
pub use text::{AgentName, AppendKey, Description, PageName, SessionId, UserName};

// Storages: all else about them is in [`storage`].
pub use storage::{MemoryStorage, PageStorage};
