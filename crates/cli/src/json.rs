//! The objects that `--json` prints, in the words and the order of the documentation.

use contexture_core::{
    Actor, FoldReport, HistoryEntry, Lifecycle, Message, Operation, Owner, Page, PageIndex,
    Permission, Revision, Segment, SegmentId, SegmentKind, Timestamp, Tokens, Trust, Version,
    ViewId, Visibility, WindowLevel,
    message::detail_text,
    storage::{Order, SessionInfo},
    system::{Outcome, PageView},
};
use serde::Serialize;

use crate::{context::Caller, error::Result};

/// How many children a page object names.
const CHILDREN_NAMED: usize = 1_000;

/// Some of a list, and where it goes on.
#[derive(Debug, Serialize)]
pub(crate) struct ListObject<T> {
    pub(crate) items: Vec<T>,
    pub(crate) next: Option<String>,
}

/// A page as the caller's view has it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageObject<C = PageIndex> {
    pub(crate) index: PageIndex,
    r#type: &'static str,
    pub(crate) name: String,
    pub(crate) description: String,
    lifecycle: Lifecycle,
    visibility: Visibility,
    level: WindowLevel,
    /// None for a root.
    parent: Option<PageIndex>,
    #[serde(flatten)]
    pub(crate) body: BodyObject<C>,
    turn: Option<PageIndex>,
    pinned: bool,
    version: Version,
    created_at: Timestamp,
    updated_at: Timestamp,
    author: Actor,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewritten_by: Option<Actor>,
    trust: Trust,
    sources: Vec<PageIndex>,
}

/// What a page holds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum BodyObject<C> {
    #[serde(rename_all = "camelCase")]
    Contents { children: Vec<C>, child_count: u64 },
    #[serde(rename_all = "camelCase")]
    Detail {
        #[serde(flatten)]
        said: Option<SaidObject>,
        message_count: u32,
    },
}

/// What a page says: as one text, and message by message as an export has it.
#[derive(Debug, Serialize)]
pub(crate) struct SaidObject {
    pub(crate) detail: String,
    messages: Vec<Message>,
}

/// Whether page objects say what their pages say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Texts {
    Full,
    Absent,
}

impl<C> PageObject<C> {
    /// Puts a page and what it holds into one object.
    pub(crate) fn new(seen: &PageView, body: BodyObject<C>) -> Self {
        let page = &seen.page;
        Self {
            index: page.index.clone(),
            r#type: page.type_name(),
            name: page.name.to_string(),
            description: page.description.to_string(),
            lifecycle: seen.lifecycle,
            visibility: seen.visibility,
            level: seen.level,
            parent: page.parent.clone(),
            body,
            turn: page.turn.clone(),
            pinned: seen.pinned,
            version: page.version,
            created_at: page.created_at,
            updated_at: page.updated_at,
            author: page.author.clone(),
            rewritten_by: page.rewritten_by.clone(),
            trust: page.trust,
            sources: page.sources.clone(),
        }
    }
}

impl PageObject {
    /// Reads what a page holds, as far as the object tells it.
    pub(crate) async fn read(caller: &Caller, seen: &PageView, texts: Texts) -> Result<Self> {
        let body = match detail(caller, &seen.page, texts).await? {
            Some(body) => body,
            None => children(caller, &seen.page.index).await?,
        };
        Ok(Self::new(seen, body))
    }

    /// Reads a list of pages.
    pub(crate) async fn read_all(
        caller: &Caller,
        seen: &[PageView],
        texts: Texts,
    ) -> Result<Vec<Self>> {
        let mut objects = Vec::with_capacity(seen.len());
        for seen in seen {
            objects.push(Self::read(caller, seen, texts).await?);
        }
        Ok(objects)
    }
}

/// Reads what a page that the caller sees says; none for a directory.
pub(crate) async fn detail<C>(
    caller: &Caller,
    page: &Page,
    texts: Texts,
) -> Result<Option<BodyObject<C>>> {
    let Some(detail) = page.detail() else { return Ok(None) };
    let said = match texts {
        Texts::Absent => None,
        Texts::Full => {
            let messages = caller.reader().messages(&page.index).await?;
            Some(SaidObject { detail: detail_text(&messages), messages })
        }
    };
    Ok(Some(BodyObject::Detail { said, message_count: detail.message_count() }))
}

/// Lists the children of a directory that the caller sees.
async fn children(caller: &Caller, index: &PageIndex) -> Result<BodyObject<PageIndex>> {
    let reader = caller.reader();
    let listing = reader.children(index, Order::Forward, None, CHILDREN_NAMED).await?;
    let child_count =
        if listing.more { reader.child_count(index).await? } else { listing.items.len() as u64 };
    let children = listing.items.into_iter().map(|seen| seen.page.index.clone()).collect();
    Ok(BodyObject::Contents { children, child_count })
}

/// A segment.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SegmentObject {
    id: SegmentId,
    name: String,
    description: String,
    segment_type: SegmentKind,
    permission: Permission,
    root_index: PageIndex,
    max_capacity: Tokens,
    next_index: u64,
    owner: Option<Owner>,
}

impl From<&Segment> for SegmentObject {
    fn from(segment: &Segment) -> Self {
        Self {
            id: segment.id.clone(),
            name: segment.name.to_string(),
            description: segment.description.to_string(),
            segment_type: segment.kind,
            permission: segment.permission,
            root_index: segment.root(),
            max_capacity: segment.capacity,
            next_index: segment.last_number(),
            owner: segment.owner.clone(),
        }
    }
}

/// A session's head.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionObject {
    id: String,
    app: String,
    revision: Revision,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<&SessionInfo> for SessionObject {
    fn from(info: &SessionInfo) -> Self {
        Self {
            id: info.id.to_string(),
            app: info.app.clone(),
            revision: info.revision,
            created_at: info.created_at,
            updated_at: info.updated_at,
        }
    }
}

/// A committed edit.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryObject {
    revision: Revision,
    at: Timestamp,
    actor: Actor,
    view: ViewId,
    operation: Operation,
    pages: Vec<PageIndex>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    segments: Vec<SegmentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undoes: Option<Revision>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_by: Option<Revision>,
    /// What it saved and cost, when it is a fold.
    #[serde(skip_serializing_if = "Option::is_none")]
    fold: Option<FoldReport>,
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
pub(crate) struct UndoObject {
    revision: Revision,
    undone: Option<Revision>,
    pages: Vec<PageIndex>,
}

impl From<&Outcome> for UndoObject {
    fn from(outcome: &Outcome) -> Self {
        Self { revision: outcome.revision, undone: outcome.undone, pages: outcome.pages.clone() }
    }
}
