//! Pages, alone, in lists and as trees.

use contexture_core::{
    Actor, Lifecycle, Message, Page, PageIndex, PageView, Result, Session, Timestamp, Trust,
    Visibility, WindowLevel,
    message::detail_text,
    storage::{Order, Version},
};
use futures::future::{BoxFuture, FutureExt as _};
use serde::Serialize;

/// How many children a page object names.
const CHILDREN_NAMED: usize = 1_000;

/// A page as a principal's view has it. `C` is how children are given: by index, or as objects.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageObject<C = PageIndex> {
    /// Its index.
    pub index: PageIndex,
    /// `ContentsPage` or `DetailPage`.
    pub r#type: &'static str,
    /// Its name.
    pub name: String,
    /// Its description, which may be empty.
    pub description: String,
    /// Whether it is active or archived.
    pub lifecycle: Lifecycle,
    /// Whether the view expands or hides it.
    pub visibility: Visibility,
    /// How much of it stands in the window.
    pub level: WindowLevel,
    /// The directory it is in; none for a root.
    pub parent: Option<PageIndex>,
    /// What it holds.
    #[serde(flatten)]
    pub body: BodyObject<C>,
    /// The first page of the turn it belongs to.
    pub turn: Option<PageIndex>,
    /// Whether the view pins it.
    pub pinned: bool,
    /// How often it was changed.
    pub version: Version,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// Who made it.
    pub author: Actor,
    /// Who last wrote its text, where that is somebody else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewritten_by: Option<Actor>,
    /// How far its text is trusted.
    pub trust: Trust,
    /// The pages it was made from.
    pub sources: Vec<PageIndex>,
}

/// What a page holds.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum BodyObject<C> {
    /// A directory.
    #[serde(rename_all = "camelCase")]
    Contents {
        /// Its first pages.
        children: Vec<C>,
        /// How many pages it holds, named or not.
        child_count: u64,
    },
    /// A leaf.
    #[serde(rename_all = "camelCase")]
    Detail {
        /// Its text; none where texts were not asked for.
        #[serde(flatten)]
        said: Option<SaidObject>,
        /// How many messages it holds.
        message_count: u32,
        /// The calls in its last exchange that have no result yet.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        open_calls: Vec<String>,
    },
}

/// The text of a page: as one string, and message by message as an export has it.
#[derive(Debug, Serialize)]
pub struct SaidObject {
    /// All of its text.
    pub detail: String,
    /// Its messages.
    pub messages: Vec<Message>,
}

/// Whether page objects hold the text of their pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Texts {
    /// The text is there.
    Full,
    /// The text is left out.
    Absent,
}

impl<C> PageObject<C> {
    /// Puts a page and what it holds into one object.
    pub fn new(seen: &PageView, body: BodyObject<C>) -> Self {
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
    /// Reads a page: its text where that is asked for, or the indices of its children.
    pub async fn read(session: &Session, seen: &PageView, texts: Texts) -> Result<Self> {
        let body = match BodyObject::detail(session, &seen.page, texts).await? {
            Some(body) => body,
            None => children(session, &seen.page.index).await?,
        };
        Ok(Self::new(seen, body))
    }

    /// Reads a list of pages.
    pub async fn read_all(session: &Session, seen: &[PageView], texts: Texts) -> Result<Vec<Self>> {
        let mut objects = Vec::with_capacity(seen.len());
        for seen in seen {
            objects.push(Self::read(session, seen, texts).await?);
        }
        Ok(objects)
    }
}

impl<C> BodyObject<C> {
    /// Reads what a leaf holds; none for a directory.
    pub async fn detail(session: &Session, page: &Page, texts: Texts) -> Result<Option<Self>> {
        let Some(detail) = page.detail() else { return Ok(None) };
        let said = match texts {
            Texts::Absent => None,
            Texts::Full => {
                let messages = session.reader().messages(&page.index).await?;
                Some(SaidObject { detail: detail_text(&messages), messages })
            }
        };
        let (message_count, open_calls) = (detail.message_count(), detail.open.clone());
        Ok(Some(BodyObject::Detail { said, message_count, open_calls }))
    }
}

/// Lists the children of a directory.
async fn children(session: &Session, index: &PageIndex) -> Result<BodyObject<PageIndex>> {
    let reader = session.reader();
    let listing = reader.children(index, Order::Forward, None, CHILDREN_NAMED).await?;
    let child_count =
        if listing.more { reader.child_count(index).await? } else { listing.items.len() as u64 };
    let children = listing.items.into_iter().map(|seen| seen.page.index.clone()).collect();
    Ok(BodyObject::Contents { children, child_count })
}

/// A tree: a page object whose children are page objects.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct TreeObject(pub PageObject<TreeObject>);

/// How much of a tree is read, and from which end.
#[derive(Debug, Clone, Copy)]
pub struct TreeBounds {
    /// Which children of a directory come first.
    pub order: Order,
    /// How many children of one directory at most.
    pub children: usize,
    /// How many directories within directories at most.
    pub depth: usize,
    /// How many pages at most.
    pub pages: usize,
}

impl TreeObject {
    /// Reads the tree below a page, as much as the bounds leave room for, and takes what it read off them.
    pub async fn read(
        session: &Session,
        seen: &PageView,
        texts: Texts,
        bounds: &mut TreeBounds,
    ) -> Result<Self> {
        tree(session, seen, texts, bounds.depth, bounds).await
    }
}

fn tree<'a>(
    session: &'a Session,
    seen: &'a PageView,
    texts: Texts,
    depth: usize,
    bounds: &'a mut TreeBounds,
) -> BoxFuture<'a, Result<TreeObject>> {
    async move {
        bounds.pages = bounds.pages.saturating_sub(1);
        if let Some(body) = BodyObject::detail(session, &seen.page, texts).await? {
            return Ok(TreeObject(PageObject::new(seen, body)));
        }
        let (reader, index) = (session.reader(), &seen.page.index);
        let wanted = if depth == 0 { 0 } else { bounds.children.min(bounds.pages) };
        let listing = reader.children(index, bounds.order, None, wanted).await?;
        let child_count = match listing.more {
            true => reader.child_count(index).await?,
            false => listing.items.len() as u64,
        };
        let mut children = Vec::new();
        for child in &listing.items {
            if bounds.pages == 0 {
                break;
            }
            children.push(tree(session, child, texts, depth - 1, bounds).await?);
        }
        let body = BodyObject::Contents { children, child_count };
        Ok(TreeObject(PageObject::new(seen, body)))
    }
    .boxed()
}
