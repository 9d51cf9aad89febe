//! Opens what a command works on: a session, held by the caller.

use std::sync::Arc;

use contexture_agents::Team;
use contexture_core::{
    Actor, ContextSystem, EditOutcome, Engine, Error, ErrorKind, PageStorage, PageView, Principal,
    Session,
};
use contexture_search::LazyIndex;
use contexture_storage::SystemClock;

use crate::{
    advice,
    error::{Result, Stop},
    project::{self, Project},
    settings::Settings,
    store::{Access, StoreUrl},
};

/// Opens the session that the settings name, for the caller; it must exist.
pub(crate) async fn open(settings: &Settings) -> Result<Session> {
    Ok(open_host(settings).await?.1)
}

/// Opens the session for the caller, with the search index of its store.
pub(crate) async fn open_search(settings: &Settings) -> Result<(Session, LazyIndex)> {
    let (system, session) = open_host(settings).await?;
    let folder = settings.store.search_folder();
    let index = LazyIndex::embedding(system.storage(), folder, project::embedder());
    Ok((session, index))
}

/// Opens a snapshot of the session: long reads see one moment, whatever others write meanwhile.
pub(crate) async fn open_snapshot(settings: &Settings) -> Result<Session> {
    let storage = settings.store.open(Access::Existing).await?;
    let snapshot = storage.snapshot().await.map_err(Error::from)?;
    Ok(open_on(snapshot, settings).await?.1)
}

/// Opens the session twice over: for operations that only the host performs, and for the caller.
pub(crate) async fn open_host(settings: &Settings) -> Result<(ContextSystem, Session)> {
    let storage = settings.store.open(Access::Existing).await?;
    open_on(storage, settings).await
}

async fn open_on(
    storage: Arc<dyn PageStorage>,
    settings: &Settings,
) -> Result<(ContextSystem, Session)> {
    let engine = Engine::new(storage, Arc::new(SystemClock));
    let opened = engine.open(&settings.session).await;
    let system = opened.map_err(|error| not_opened(error, settings))?;
    let session = match &settings.caller {
        Actor::System => system.held_by(Principal::System),
        Actor::User(name) => system.held_by(Principal::User(name.clone())),
        Actor::Agent(name) => {
            // Broken settings are an error: they decide the mode.
            let project = Project::load()?;
            let team = Team::new(system.clone());
            team.context_of(name, &project.catalog, &project.settings).await?.into()
        }
    };
    Ok((system, session))
}

/// Returns the page that an edit changed, in the tree or in the archive; none if the caller no longer
/// sees it, perhaps because of the edit itself.
pub(crate) async fn changed_page(
    session: &Session,
    outcome: &EditOutcome,
) -> Result<Option<PageView>> {
    let Some(index) = outcome.pages.first() else { return Ok(None) };
    match session.reader().page_or_archived(index).await {
        Ok(seen) => Ok(Some(seen)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let revision = outcome.revision;
            let message =
                format!("revision {revision} was committed, but {index} cannot be shown: {error}");
            Err(Stop::failed(error.kind(), message, advice::words(&error.advice())))
        }
    }
}

fn not_opened(error: Error, settings: &Settings) -> Stop {
    if settings.store == StoreUrl::Memory && error.kind() == ErrorKind::NotFound {
        let hint = "a memory: store lasts for one command only; use sqlite:PATH to keep a session";
        return Stop::failed(error.kind(), error.to_string(), hint);
    }
    error.into()
}
