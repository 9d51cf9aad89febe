//! Pages: listed, read, created, changed, moved, archived, purged.

mod acts;
mod lists;

use std::sync::Arc;

use axum::{
    Json,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use contexture_agents::wire::{OutOfViewObject, PageObject, Texts};
use contexture_core::{
    Description, Edit, EditOutcome, ErrorKind, NewContentsPage, NewDetailPage, PageName,
    PageUpdate, Session, Visibility, storage::Version,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{body::Body, held::Held, path::Path, query::Query, schema};
use crate::{Host, Result, ServerError};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(lists::list, create))
        .routes(routes!(show, update, remove))
        .merge(lists::routes())
        .merge(acts::routes())
}

/// A page that an edit changed, or that the edit took out of the caller's view.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ChangedObject {
    Page(Box<PageObject>),
    OutOfView(OutOfViewObject),
}

/// Returns the page that an edit changed, in the tree or in the archive.
pub(super) async fn changed(session: &Session, outcome: &EditOutcome) -> Result<ChangedObject> {
    let out_of_view = || ChangedObject::OutOfView(OutOfViewObject::from(outcome));
    let Some(index) = outcome.pages.first() else { return Ok(out_of_view()) };
    match session.reader().page_or_archived(index).await {
        Ok(seen) => {
            let page = PageObject::read(session, &seen, Texts::Full).await?;
            Ok(ChangedObject::Page(Box::new(page)))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(out_of_view()),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPage {
    /// The directory it goes to the end of
    parent: String,
    /// Its name, 1 to 200 characters
    name: String,
    /// Its description, up to 2,000 characters
    #[serde(default)]
    description: String,
    /// The text of a leaf
    detail: Option<String>,
    /// Whether it is a directory
    #[serde(default)]
    contents: bool,
    /// The pages that a directory adopts, in order
    #[serde(default)]
    children: Vec<String>,
    /// Whether it begins hidden
    #[serde(default)]
    hidden: bool,
}

/// Create a page: a leaf with text, or a directory that adopts pages
#[utoipa::path(post, path = "/v1/sessions/{session}/pages", tag = "pages", request_body = NewPage,
    responses((status = 201, description = "The page", body = schema::ChangedPage)))]
async fn create(held: Held, Body(new): Body<NewPage>) -> Result<(StatusCode, Json<ChangedObject>)> {
    let session = &held.session;
    let (name, parent): (PageName, _) = (new.name.parse()?, session.index(&new.parent)?);
    let description: Description = new.description.parse()?;
    let visibility = new.hidden.then_some(Visibility::Hidden);
    let edit = match (new.contents, new.detail) {
        (true, Some(_)) => {
            return Err(ServerError::invalid(
                "a directory has no detail",
                "leave out 'detail', or 'contents'",
            ));
        }
        (true, None) => {
            let children = new.children.iter().map(|child| session.index(child));
            let children = children.collect::<Result<_, contexture_core::Error>>()?;
            Edit::CreateContentsPage(NewContentsPage {
                description,
                visibility,
                children,
                ..NewContentsPage::new(parent, name)
            })
        }
        (false, _) if !new.children.is_empty() => {
            return Err(ServerError::invalid(
                "a leaf has no children",
                "say 'contents': true to create a directory",
            ));
        }
        (false, detail) => Edit::CreateDetailPage(NewDetailPage {
            description,
            visibility,
            ..NewDetailPage::new(parent, name, detail.unwrap_or_default())
        }),
    };
    let outcome = session.apply(edit).await?;
    Ok((StatusCode::CREATED, Json(changed(session, &outcome).await?)))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(default, deny_unknown_fields)]
struct ShowQuery {
    /// Whether the page may be in the archive
    archived: bool,
}

/// Read a page with its text
///
/// The ETag is the page's version, which `If-Match` of an update expects.
#[utoipa::path(get, path = "/v1/sessions/{session}/pages/{index}", tag = "pages", params(ShowQuery),
    responses((status = 200, description = "The page", body = schema::Page)))]
async fn show(
    held: Held,
    Path((_, index)): Path<(String, String)>,
    Query(query): Query<ShowQuery>,
) -> Result<Response> {
    let session = &held.session;
    let index = session.index(&index)?;
    let seen = match query.archived {
        true => session.reader().page_or_archived(&index).await?,
        false => session.reader().page(&index).await?,
    };
    let version = seen.page.version;
    let page = PageObject::read(session, &seen, Texts::Full).await?;
    let mut response = Json(page).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct PageChange {
    /// The new name; left out or empty, it stays
    name: Option<String>,
    /// The new description; left out or empty, it stays
    description: Option<String>,
    /// The new text; left out or empty, it stays
    detail: Option<String>,
    /// What is emptied: `description`, `detail` or both
    clear: Vec<Clearable>,
    /// The version that the page must have; `If-Match` says the same
    if_version: Option<u64>,
}

/// What of a page can be emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Clearable {
    Description,
    Detail,
}

/// Change a page's name, description or text
#[utoipa::path(patch, path = "/v1/sessions/{session}/pages/{index}", tag = "pages",
    request_body = PageChange,
    params(("If-Match" = Option<String>, Header, description = "The version that the page must have, as its ETag has it")),
    responses((status = 200, description = "The page", body = schema::ChangedPage)))]
async fn update(
    held: Held,
    Path((_, index)): Path<(String, String)>,
    headers: HeaderMap,
    Body(change): Body<PageChange>,
) -> Result<Json<ChangedObject>> {
    let session = &held.session;
    let expected = expected_version(&headers)?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let (name, mut description, mut detail) =
        (given(change.name), given(change.description), given(change.detail));
    for what in change.clear {
        let field = match what {
            Clearable::Description => &mut description,
            Clearable::Detail => &mut detail,
        };
        if field.as_ref().is_some_and(|text| !text.is_empty()) {
            return Err(ServerError::invalid(
                "a text cannot be given and cleared at once",
                "leave out one of the two",
            ));
        }
        *field = Some(String::new());
    }
    let update = PageUpdate {
        page: session.index(&index)?,
        name: name.as_deref().map(str::parse).transpose()?,
        description: description.as_deref().map(str::parse).transpose()?,
        detail,
        if_version: expected.or(change.if_version.map(Version)),
    };
    let outcome = session.apply(Edit::UpdatePage(update)).await.map_err(|error| {
        // What was expected in the head of the request is answered as such.
        let is_stale = matches!(error, contexture_core::Error::VersionMismatch { .. });
        let error = ServerError::from(error);
        match is_stale && expected.is_some() {
            true => error.with_status(StatusCode::PRECONDITION_FAILED),
            false => error,
        }
    })?;
    Ok(Json(changed(session, &outcome).await?))
}

/// Returns the version that a request expects by its head.
fn expected_version(headers: &HeaderMap) -> Result<Option<Version>> {
    let Some(tag) = headers.get(header::IF_MATCH) else { return Ok(None) };
    let tag = tag.to_str().unwrap_or_default().trim();
    if tag == "*" {
        return Ok(None);
    }
    let number = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    match number.and_then(|number| number.parse().ok()) {
        Some(number) => Ok(Some(Version(number))),
        None => Err(ServerError::invalid(
            "If-Match names no version",
            "send the ETag of the page as it was read, such as \"3\"",
        )),
    }
}

/// Take a page, with all below it, to the archive: it can be restored
#[utoipa::path(delete, path = "/v1/sessions/{session}/pages/{index}", tag = "pages",
    responses((status = 200, description = "The page", body = schema::ChangedPage)))]
async fn remove(
    held: Held,
    Path((_, index)): Path<(String, String)>,
) -> Result<Json<ChangedObject>> {
    let session = &held.session;
    let outcome = session.apply(Edit::RemovePage(session.index(&index)?)).await?;
    Ok(Json(changed(session, &outcome).await?))
}
