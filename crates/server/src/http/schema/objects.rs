//! The objects that routes answer with, as the document describes them.
#![allow(dead_code, reason = "they are only described: what is sent is made elsewhere")]

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// An error.
#[derive(ToSchema)]
pub(in crate::http) struct Failure {
    error: FailureCause,
}

/// What went wrong, and what to do next.
#[derive(ToSchema)]
pub(in crate::http) struct FailureCause {
    /// What the caller can do about it: invalid, not-found, permission-denied, conflict, too-large, unavailable,
    /// corrupt or unauthenticated.
    kind: String,
    /// What happened, to which thing, and why.
    message: String,
    /// What to do next.
    hint: String,
}

/// Some items of a list, and where the list continues.
#[derive(ToSchema)]
pub(in crate::http) struct List<T: ToSchema> {
    items: Vec<T>,
    /// The cursor to ask for more with; null at the end.
    #[schema(required)]
    next: Option<String>,
}

/// A session's head.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct SessionHead {
    id: String,
    /// The application it belongs to.
    app: String,
    revision: u64,
    created_at: String,
    updated_at: String,
}

/// A session that is ready for use.
#[derive(ToSchema)]
pub(in crate::http) struct Initialised {
    session: String,
    /// Whether it was made just now.
    created: bool,
    segments: Vec<Segment>,
}

/// A session that was destroyed.
#[derive(ToSchema)]
pub(in crate::http) struct Removed {
    removed: String,
    /// Where bytes of it remain.
    traces: Vec<Value>,
}

/// A segment.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Segment {
    id: String,
    name: String,
    description: String,
    /// system, user, tool or custom.
    segment_type: String,
    /// read-only, read-write or system-managed.
    permission: String,
    root_index: String,
    /// How many tokens of a window it may take; 0 for any number.
    max_capacity: u64,
    /// The number that was given out last.
    next_index: u64,
    /// The agent or group it belongs to.
    #[schema(required)]
    owner: Option<String>,
}

/// A page as the caller's view has it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct Page {
    index: String,
    /// ContentsPage or DetailPage.
    r#type: String,
    name: String,
    description: String,
    lifecycle: String,
    visibility: String,
    /// full, summary, gist, run or out.
    level: String,
    #[schema(required)]
    parent: Option<String>,
    /// The first pages of a directory: indices, or pages in a tree.
    children: Option<Vec<Value>>,
    child_count: Option<u64>,
    /// The text of a leaf, where it was asked for.
    detail: Option<String>,
    messages: Option<Vec<Value>>,
    message_count: Option<u32>,
    /// The calls in a leaf's last exchange that have no result yet.
    open_calls: Option<Vec<String>>,
    /// The first page of the turn it belongs to.
    #[schema(required)]
    turn: Option<String>,
    pinned: bool,
    /// How often it was changed: what If-Match expects.
    version: u64,
    created_at: String,
    updated_at: String,
    author: String,
    rewritten_by: Option<String>,
    trust: String,
    sources: Vec<String>,
}

/// An edit that was made, but took its page out of the caller's view.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct OutOfView {
    in_view: bool,
    #[schema(required)]
    index: Option<String>,
    revision: u64,
}

/// A page that was changed.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(in crate::http) enum ChangedPage {
    Page(Box<Page>),
    OutOfView(OutOfView),
}

/// Entries by their keys.
#[derive(ToSchema)]
pub(in crate::http) struct Custom {
    custom: BTreeMap<String, Value>,
}

/// Where a page and all below it went.
#[derive(ToSchema)]
pub(in crate::http) struct Moved {
    moved: Vec<MovedPage>,
}

/// A page that was moved.
#[derive(ToSchema)]
pub(in crate::http) struct MovedPage {
    from: String,
    to: String,
}

/// The pages that were made or extended.
#[derive(ToSchema)]
pub(in crate::http) struct Turn {
    pages: Vec<String>,
}

/// A request to a model.
#[derive(ToSchema)]
pub(in crate::http) struct ModelRequest {
    /// The part of the request's body that the window is.
    #[schema(value_type = Object)]
    window: Value,
    /// What usage is reported under.
    number: u64,
    /// What it is expected to take, as the model counts.
    tokens: u64,
    /// What of it the provider is expected to have cached.
    cached: u64,
    /// What the fold that was made for it saved and cost.
    #[schema(required, value_type = Option<Object>)]
    fold: Option<Value>,
    /// What came in broken and was made valid, in words.
    repaired: Vec<String>,
}

/// A window in its format; with `account`, an object that holds `window`, `account` and `ledger`.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub(in crate::http) struct AnyWindow(Value);

/// Any JSON object.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub(in crate::http) struct AnyObject(Value);

/// A session that was filled from a document.
#[derive(ToSchema)]
pub(in crate::http) struct Loaded {
    session: String,
    segments: u64,
    pages: u64,
    /// What was taken differently than the document says.
    warnings: Vec<String>,
}

/// A token. It holds nothing of the secret, but for the one answer that made it.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Token {
    id: String,
    /// An agent's name, or user:NAME.
    holder: String,
    label: String,
    created_at: String,
    #[schema(required)]
    expires_at: Option<String>,
    expired: bool,
    /// The token itself, which is shown only once: when it is made.
    token: Option<String>,
}

/// An edit, as far as the caller may know of it.
#[derive(ToSchema)]
pub(in crate::http) struct Change {
    /// The number of the state after it.
    revision: u64,
    at: String,
    /// Who made it; null where the caller's history does not show it.
    #[schema(required)]
    actor: Option<String>,
    #[schema(required)]
    operation: Option<String>,
    undoes: Option<u64>,
    pages: Vec<String>,
    segments: Option<Vec<String>>,
}

/// A committed edit.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct HistoryEntry {
    revision: u64,
    at: String,
    actor: String,
    /// The view it was made in.
    view: String,
    operation: String,
    /// The pages it was about; of very many the first.
    pages: Vec<String>,
    segments: Option<Vec<String>>,
    undoes: Option<u64>,
    undone_by: Option<u64>,
    fold: Option<Fold>,
}

/// What a fold saved and cost.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Fold {
    /// The edit it was committed as; null for a preview, or when none was due.
    revision: Option<u64>,
    /// How many pages it lowered.
    folded: u64,
    tokens_before: u64,
    tokens_after: u64,
    /// What the provider must read again.
    reread_tokens: u64,
    saved_tokens: u64,
}

/// What an undo did.
#[derive(ToSchema)]
pub(in crate::http) struct Undone {
    revision: u64,
    #[schema(required)]
    undone: Option<u64>,
    pages: Vec<String>,
}

/// A page that was found.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Found {
    index: String,
    name: String,
    #[schema(required)]
    parent: Option<String>,
    archived: bool,
    level: String,
    author: String,
    created_at: String,
    /// The message it was found by, counted from 0.
    #[schema(required)]
    message: Option<u64>,
    #[schema(required)]
    role: Option<String>,
    snippet: Snippet,
    /// Larger is better, among the results of one search.
    score: f32,
    explanation: Option<Vec<Value>>,
    /// What it takes in full, where it was brought back.
    tokens: Option<u64>,
}

/// A piece of a text.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Snippet {
    text: String,
    /// Where the words are that were looked for: beginning and end in bytes.
    highlights: Vec<Vec<u64>>,
    cut_before: bool,
    cut_behind: bool,
}

/// Pages that came back into the window.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Recall {
    #[schema(required)]
    revision: Option<u64>,
    pages: Vec<Found>,
    tokens: u64,
    already_shown: u64,
    left_out: u64,
    refused: u64,
}

/// What came of an anchor: a page, old and new indices, what was found, or an answer.
#[derive(ToSchema)]
#[schema(value_type = Object)]
pub(in crate::http) struct Pressed(Value);

/// A window that was sent, with its record.
#[derive(ToSchema)]
pub(in crate::http) struct SentWindow {
    #[schema(value_type = Object)]
    window: Value,
    #[schema(required, value_type = Option<Object>)]
    account: Option<Value>,
    #[schema(required, value_type = Option<Object>)]
    ledger: Option<Value>,
}

/// The level of a view.
#[derive(ToSchema)]
pub(in crate::http) struct SwitchedLevel {
    /// full, summary or gist.
    level: String,
    /// The edit that switched to it; null where nothing was switched.
    #[schema(required)]
    revision: Option<u64>,
}

/// Pages that were destroyed.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(in crate::http) struct Purged {
    purged: Vec<String>,
    /// The interrupted runs that were given up because they held some of them.
    runs_given_up: Vec<String>,
    /// Where bytes of them remain.
    traces: Vec<Value>,
}

/// A call that waits for an approval.
#[derive(ToSchema)]
pub(in crate::http) struct Approval {
    /// The run, such as fixer/3.
    run: String,
    /// The call's id.
    call: String,
    tool: String,
    /// What the call would change as things stand now, line by line.
    question: Vec<String>,
    /// The arguments, as the model wrote them.
    arguments: String,
    since: String,
}

/// What was decided about calls that waited.
#[derive(ToSchema)]
pub(in crate::http) struct Decided {
    run: String,
    calls: Vec<String>,
    /// approved or denied.
    decision: String,
    #[schema(required)]
    reason: Option<String>,
    by: String,
    /// The calls of the run that still wait.
    waiting: Vec<Approval>,
}

/// A run that stops.
#[derive(ToSchema)]
pub(in crate::http) struct Stopped {
    /// The agent.
    stopping: String,
}
