//! What is done to one page: expanded, hidden, pinned, moved, restored, purged.

use std::sync::Arc;

use axum::Json;
use contexture_agents::{
    Team,
    team::{InterruptedRuns, StoredRun},
    wire::{MovedObject, PurgedObject},
};
use contexture_core::{Edit, PageIndex};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{ChangedObject, changed};
use crate::{
    Host, Result,
    http::{body::Body, held::Held, path::Path, schema},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Host>> {
    OpenApiRouter::new()
        .routes(routes!(expand))
        .routes(routes!(hide))
        .routes(routes!(pin))
        .routes(routes!(unpin))
        .routes(routes!(focus))
        .routes(routes!(archive))
        .routes(routes!(restore))
        .routes(routes!(move_page))
        .routes(routes!(purge))
}

/// Makes an edit of one page and returns the page.
async fn act(held: Held, index: &str, edit: fn(PageIndex) -> Edit) -> Result<Json<ChangedObject>> {
    let session = &held.session;
    let outcome = session.apply(edit(session.index(index)?)).await?;
    Ok(Json(changed(session, &outcome).await?))
}

type Named = Path<(String, String)>;

macro_rules! acts {
    ($($(#[doc = $doc:literal])+ $name:ident $path:literal $edit:ident;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "pages",
            responses((status = 200, description = "The page", body = schema::ChangedPage)))]
        async fn $name(held: Held, Path((_, index)): Named) -> Result<Json<ChangedObject>> {
            act(held, &index, Edit::$edit).await
        }
    )+};
}

acts! {
    /// Show the page in full in the caller's view
    expand "/v1/sessions/{session}/pages/{index}/expand" ExpandDetails;
    /// Hide the page in the caller's view
    hide "/v1/sessions/{session}/pages/{index}/hide" HideDetails;
    /// Keep the page from folding in the caller's view
    pin "/v1/sessions/{session}/pages/{index}/pin" PinPage;
    /// Take a pin back
    unpin "/v1/sessions/{session}/pages/{index}/unpin" UnpinPage;
    /// Set the focus of the caller's view
    focus "/v1/sessions/{session}/pages/{index}/focus" FocusPage;
    /// Take the page out of the window: it stays in the tree
    archive "/v1/sessions/{session}/pages/{index}/archive" ArchivePage;
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
struct Restoration {
    /// The directory it goes to; by default its old place
    to: Option<String>,
}

/// Bring the page back from the archive
#[utoipa::path(post, path = "/v1/sessions/{session}/pages/{index}/restore", tag = "pages",
    request_body = Restoration,
    responses((status = 200, description = "The page", body = schema::ChangedPage)))]
async fn restore(
    held: Held,
    Path((_, index)): Named,
    Body(wanted): Body<Restoration>,
) -> Result<Json<ChangedObject>> {
    let session = &held.session;
    let page = session.index(&index)?;
    let to = wanted.to.as_deref().map(|to| session.index(to)).transpose()?;
    let outcome = session.apply(Edit::RestorePage { page, to }).await?;
    Ok(Json(changed(session, &outcome).await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Move {
    /// The directory it goes to the end of
    to: String,
}

/// Move the page, with all below it, to the end of a directory
#[utoipa::path(post, path = "/v1/sessions/{session}/pages/{index}/move", tag = "pages",
    request_body = Move,
    responses((status = 200, description = "Old and new indices", body = schema::Moved)))]
async fn move_page(
    held: Held,
    Path((_, index)): Named,
    Body(wanted): Body<Move>,
) -> Result<Json<MovedObject>> {
    let session = &held.session;
    let (page, to) = (session.index(&index)?, session.index(&wanted.to)?);
    let outcome = session.apply(Edit::MovePage { page: page.clone(), to }).await?;
    Ok(Json(MovedObject::new(&page, outcome)))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Purge {
    /// Whether interrupted runs that hold some of the pages are given up
    give_up_runs: bool,
}

/// Destroy the page, with all below it, for good: nothing brings it back
#[utoipa::path(post, path = "/v1/sessions/{session}/pages/{index}/purge", tag = "pages",
    request_body = Purge,
    responses((status = 200, description = "What was destroyed", body = schema::Purged)))]
async fn purge(
    held: Held,
    Path((_, index)): Named,
    Body(wanted): Body<Purge>,
) -> Result<Json<PurgedObject>> {
    let (host, session) = (&held.host, &held.session);
    let page = session.index(&index)?;
    let system = host.system(session, "page purge").await?;
    let interrupted = match wanted.give_up_runs {
        true => InterruptedRuns::GiveUp,
        false => InterruptedRuns::Keep,
    };
    let now = session.now();
    let is_alive = |run: &StoredRun| host.runs().is_alive(run, now);
    let team = Team::new(system.clone());
    let purged = team.purge(session.principal(), page, interrupted, is_alive).await?;
    let indexed = host.forget(Some(session.id())).await;
    Ok(Json(PurgedObject {
        purged: purged.outcome.pages,
        runs_given_up: purged.given_up.iter().map(|run| run.record.key.to_string()).collect(),
        traces: [system.storage().traces().await?, indexed].concat(),
    }))
}
