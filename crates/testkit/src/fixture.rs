//! Sessions to begin a test with, and short ways to say what tests say often.

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use contexture_core::{
    AgentContext, Clock, ContextSystem, Description, Edit, EditOutcome, MemoryStorage, Message,
    Mounts, NewContentsPage, NewDetailPage, NewSegment, PageIndex, PageName, PageStorage,
    Permission, Role, SegmentId, SegmentKind, SessionId, Timestamp, View,
    message::{Fields, Part},
};

/// When every test begins: 2025-10-09T08:53:20Z.
pub const BEGIN: i64 = 1_760_000_000_000;

/// A clock on which every look is a millisecond later than the one before.
#[derive(Debug)]
pub struct TickingClock(AtomicI64);

impl TickingClock {
    /// Makes a clock at [`BEGIN`].
    pub fn new() -> Arc<Self> {
        Arc::new(Self(BEGIN.into()))
    }
}

impl Clock for TickingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Reads a text that the test knows to be valid.
pub fn valid<T: FromStr<Err = contexture_core::Error>>(text: &str) -> T {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

/// Reads a page index.
pub fn page(text: &str) -> PageIndex {
    valid(text)
}

/// Reads a segment id.
pub fn segment(text: &str) -> SegmentId {
    valid(text)
}

/// The session tests use.
pub fn session_id() -> SessionId {
    valid("test")
}

/// Makes an empty session.
pub async fn empty(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let clock = TickingClock::new();
    ContextSystem::create(storage, session_id(), "testkit", clock).await.expect("a new session")
}

/// Makes a session with segments `sys` (System, ReadOnly) and `usr` (User, ReadWrite).
pub async fn session(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let system = empty(storage).await;
    add_segment(&system, "sys", SegmentKind::System, Permission::ReadOnly).await;
    add_segment(&system, "usr", SegmentKind::User, Permission::ReadWrite).await;
    system
}

/// Makes such a session in memory.
pub async fn memory() -> ContextSystem {
    session(Arc::new(MemoryStorage::new())).await
}

/// Opens the session again, as another process would.
pub async fn reopen(storage: Arc<dyn PageStorage>) -> ContextSystem {
    let clock = TickingClock::new();
    ContextSystem::open(storage, session_id(), clock).await.expect("the session exists")
}

/// Makes an edit for the system side that must succeed.
pub async fn apply(system: &ContextSystem, edit: Edit) -> EditOutcome {
    let told = format!("{edit:?}");
    system.as_system().apply(edit).await.unwrap_or_else(|error| panic!("{told}: {error}"))
}

/// Adds a segment for the system side.
pub async fn add_segment(
    system: &ContextSystem,
    id: &str,
    kind: SegmentKind,
    permission: Permission,
) -> EditOutcome {
    let new = NewSegment::new(segment(id), kind).permission(permission);
    apply(system, Edit::AddSegment(new)).await
}

/// Creates a leaf for the system side.
pub async fn leaf(system: &ContextSystem, parent: &str, name: &str) -> PageIndex {
    apply(system, new_leaf(parent, name)).await.pages[0].clone()
}

/// Creates a directory for the system side.
pub async fn directory(system: &ContextSystem, parent: &str, name: &str) -> PageIndex {
    apply(system, new_directory(parent, name, &[])).await.pages[0].clone()
}

/// Asks for a leaf whose text is `text of NAME`.
pub fn new_leaf(parent: &str, name: &str) -> Edit {
    let mut new = NewDetailPage::new(page(parent), valid(name), format!("text of {name}"));
    new.description = description(&format!("about {name}"));
    Edit::CreateDetailPage(new)
}

/// Asks for a directory that adopts pages.
pub fn new_directory(parent: &str, name: &str, children: &[&str]) -> Edit {
    let mut new = NewContentsPage::new(page(parent), valid::<PageName>(name));
    new.children = children.iter().map(|child| page(child)).collect();
    Edit::CreateContentsPage(new)
}

/// Reads a description.
pub fn description(text: &str) -> Description {
    valid(text)
}

/// An agent with the common view.
pub fn agent(system: &ContextSystem, name: &str) -> AgentContext {
    AgentContext::new(system.clone(), View::common(valid(name)))
}

/// An agent that sees these segments only and writes to the last of them.
pub fn confined(system: &ContextSystem, name: &str, segments: &[&str]) -> AgentContext {
    let mounts: Vec<SegmentId> = segments.iter().map(|id| segment(id)).collect();
    let writes_to = mounts.last().expect("a view mounts something").clone();
    let view = View { mounts: Mounts::Listed(mounts), writes_to, ..View::common(valid(name)) };
    AgentContext::new(system.clone(), view)
}

/// A user's message.
pub fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

/// An assistant's message.
pub fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

/// An assistant's message that calls a tool.
pub fn calls(id: &str, arguments: &str) -> Message {
    let call = contexture_core::message::ToolCall {
        id: id.to_owned(),
        name: "read_file".to_owned(),
        arguments: arguments.to_owned(),
        extra: Fields::default(),
    };
    Message { parts: vec![Part::ToolCall(call)], ..assistant("") }
}

/// What a tool returned.
pub fn returned(id: &str, text: &str) -> Message {
    let result = contexture_core::message::ToolResult {
        call: id.to_owned(),
        content: user(text).parts,
        error: false,
        extra: Fields::default(),
    };
    Message { parts: vec![Part::ToolResult(result)], ..Message::text(Role::Tool, "") }
}
