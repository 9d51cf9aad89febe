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
