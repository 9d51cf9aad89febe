//! Lists of pages: of the tree, of the archive, of a directory, and the way up from a page.

use std::sync::Arc;

use axum::Json;
use contexture_agents::wire::{ListObject, PageObject, Texts, TreeBounds, TreeObject};
use contexture_core::{
    ListQuery, PageView,
    storage::{Order, Place},
};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Host, Result, ServerError,
    http::{
        held::Held,
        list::{Listed, Shape, limit},
        path::Path,
        query::Query,
        schema,
    },
};

/// How many pages a tree has at most.
const MOST_IN_A_TREE: usize = 10_000;

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(children))
        .routes(routes!(ancestors))
        .routes(routes!(parent))
        .routes(routes!(tree))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PagesQuery {
    /// The archive instead of the tree
    archived: bool,
    /// The newest page of each segment first
    newest: bool,
    /// Whether the pages carry their text
    full: bool,
    /// How many at most, up to 1,000; 100 by default
    limit: Option<u16>,
    /// Where an earlier list ended: its `next`
    cursor: Option<String>,
}

/// List the pages in view, in natural order
#[utoipa::path(get, path = "/v1/sessions/{session}/pages", tag = "pages", params(PagesQuery),
    responses((status = 200, description = "Some of them", body = schema::List<schema::Page>)))]
pub(super) async fn list(
    held: Held,
    Query(query): Query<PagesQuery>,
    shape: Shape,
) -> Result<Listed<PageObject>> {
    let session = &held.session;
    let after = query.cursor.as_deref().map(|cursor| session.index(cursor)).transpose()?;
    if let Some(after) = after.as_ref().filter(|_| !query.archived) {
        session.reader().segment(after.segment())?;
    }
    let limit = limit(query.limit)?;
    let PagesQuery { archived, newest, .. } = query;
    let wanted = ListQuery { after, limit, archived, newest, matching: None };
    let listing = session.list_pages(&wanted).await?;
    let next = listing.items.last().filter(|_| listing.more);
    let next = next.map(|seen| seen.page.index.to_string());
    let items = PageObject::read_all(session, &listing.items, texts(query.full)).await?;
    Ok(Listed::new(shape, ListObject { items, next }))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct ChildrenQuery {
    /// Whether the pages carry their text
    full: bool,
    /// The last so many instead, still in order; up to 1,000, and without `limit` and `cursor`
    last: Option<u16>,
    /// How many at most, up to 1,000; 100 by default
    limit: Option<u16>,
    /// Where an earlier list ended: its `next`
    cursor: Option<String>,
}

/// List the pages in a directory, in order
#[utoipa::path(get, path = "/v1/sessions/{session}/pages/{index}/children", tag = "pages",
    params(ChildrenQuery),
    responses((status = 200, description = "Some of them", body = schema::List<schema::Page>)))]
async fn children(
    held: Held,
    Path((_, index)): Path<(String, String)>,
    Query(query): Query<ChildrenQuery>,
    shape: Shape,
) -> Result<Listed<PageObject>> {
    let session = &held.session;
    let after = query.cursor.as_deref().map(place).transpose()?;
    let (index, reader) = (session.index(&index)?, session.reader());
    if query.last.is_some() && (query.limit.is_some() || after.is_some()) {
        return Err(ServerError::invalid(
            "'last' goes with neither 'limit' nor 'cursor'",
            "ask for the last pages, or page through all of them",
        ));
    }
    let order = if query.last.is_some() { Order::Backward } else { Order::Forward };
    let limit = limit(query.last.or(query.limit))?;
    let mut listing = reader.children(&index, order, after, limit).await?;
    if order == Order::Backward {
        listing.items.reverse();
    }
    let next = listing.items.last().filter(|_| listing.more && order == Order::Forward);
    let next = next.map(|seen| seen.page.place.to_string());
    let items = PageObject::read_all(session, &listing.items, texts(query.full)).await?;
    Ok(Listed::new(shape, ListObject { items, next }))
}

/// List the directories that the page is in, nearest first
#[utoipa::path(get, path = "/v1/sessions/{session}/pages/{index}/ancestors", tag = "pages",
    responses((status = 200, description = "All of them", body = schema::List<schema::Page>)))]
async fn ancestors(
    held: Held,
    Path((_, index)): Path<(String, String)>,
    shape: Shape,
) -> Result<Listed<PageObject>> {
    let session = &held.session;
    let seen = session.get_ancestors(&index).await?;
    let items = PageObject::read_all(session, &seen, Texts::Absent).await?;
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

/// The directory that the page is in
#[utoipa::path(get, path = "/v1/sessions/{session}/pages/{index}/parent", tag = "pages",
    responses((status = 200, description = "The directory", body = schema::Page)))]
async fn parent(held: Held, Path((_, index)): Path<(String, String)>) -> Result<Json<PageObject>> {
    let session = &held.session;
    let Some(seen): Option<PageView> = session.get_parent(&index).await? else {
        return Err(ServerError::not_found(
            format!("{index} is a root: it is in no directory"),
            "GET /segments lists the segments and their roots",
        ));
    };
    Ok(Json(PageObject::read(session, &seen, Texts::Absent).await?))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct TreeQuery {
    /// The page at the top; by default the roots of all segments in view
    index: Option<String>,
    /// How many children of one directory at most, up to 1,000; 50 by default
    limit: Option<u16>,
    /// How many directories within directories at most, up to 64; 16 by default
    depth: Option<u16>,
    /// Whether the newest children come first
    newest: bool,
    /// Whether the pages carry their text
    full: bool,
}

/// The tree of pages, nested, as far as its bounds leave room for
#[utoipa::path(get, path = "/v1/sessions/{session}/tree", tag = "pages", params(TreeQuery),
    responses((status = 200, description = "One tree for each top", body = schema::List<schema::Page>)))]
async fn tree(
    held: Held,
    Query(query): Query<TreeQuery>,
    shape: Shape,
) -> Result<Listed<TreeObject>> {
    let session = &held.session;
    let depth = query.depth.unwrap_or(16);
    if !(1..=64).contains(&depth) {
        return Err(ServerError::invalid(
            "invalid depth: it is not between 1 and 64",
            "read deeper trees from a page further down",
        ));
    }
    let mut bounds = TreeBounds {
        order: if query.newest { Order::Backward } else { Order::Forward },
        children: limit(query.limit.or(Some(50)))?,
        depth: depth.into(),
        pages: MOST_IN_A_TREE,
    };
    let tops = match &query.index {
        Some(index) => vec![session.index(index)?],
        None => session.list_segments()?.iter().map(|segment| segment.root()).collect(),
    };
    let mut items = Vec::with_capacity(tops.len());
    for top in tops {
        let seen = session.reader().page(&top).await?;
        let texts = texts(query.full);
        items.push(TreeObject::read(session, &seen, texts, &mut bounds).await?);
    }
    Ok(Listed::new(shape, ListObject { items, next: None }))
}

fn texts(full: bool) -> Texts {
    if full { Texts::Full } else { Texts::Absent }
}

fn place(cursor: &str) -> Result<Place> {
    cursor.parse().map(Place).map_err(|_| {
        ServerError::invalid(
            "invalid cursor: it is not a number",
            "use the `next` of the previous list",
        )
    })
}
