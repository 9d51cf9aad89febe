//! Opens what a command works on: a session, held by the caller.

use std::sync::Arc;

use contexture_agents::Team;
use contexture_core::{
    Actor, ContextSystem, EditOutcome, Engine, Error, ErrorKind, PageStorage, PageView, Principal,
    Session, SessionId, storage::StorageError,
};
use contexture_search::LazyIndex;
use contexture_storage::SystemClock;

use crate::{
    advice,
    error::{Result, Stop},
    project::Project,
    settings::{Opened, Settings},
    store::{Access, StoreUrl},
};

/// Opens the session that the settings name, for the caller; it must exist.
pub(crate) async fn open(settings: &Settings) -> Result<Session> {
    Ok(open_host(settings).await?.1)
}

/// Opens the session for the caller, with the search index of its store.
pub(crate) async fn open_search(settings: &Settings) -> Result<(Session, LazyIndex)> {
    let Opened { engine, index } = opened(settings).await?;
    let (_, session) = open_in(&engine, settings).await?;
    Ok((session, index))
}

/// Opens a snapshot of the session: long reads see one moment, whatever others write meanwhile.
pub(crate) async fn open_snapshot(settings: &Settings) -> Result<Session> {
    if settings.opened.is_some() {
        // Opening the session again would take longer than all that is read.
        return open(settings).await;
    }
    let storage = settings.store.open(Access::Existing).await?;
    let snapshot = storage.snapshot().await.map_err(Error::from)?;
    let Opened { engine, .. } = opened_on(snapshot, settings);
    Ok(open_in(&engine, settings).await?.1)
}

/// Opens the session twice over: for operations that only the host performs, and for the caller.
pub(crate) async fn open_host(settings: &Settings) -> Result<(ContextSystem, Session)> {
    let Opened { engine, .. } = opened(settings).await?;
    open_in(&engine, settings).await
}

/// Returns the store as this process has it open, or opens it.
async fn opened(settings: &Settings) -> Result<Opened> {
    match &settings.opened {
        Some(opened) => Ok(opened.clone()),
        None => Ok(opened_on(settings.store.open(Access::Existing).await?, settings)),
    }
}

fn opened_on(storage: Arc<dyn PageStorage>, settings: &Settings) -> Opened {
    let index = settings.index(&storage);
    let engine = Engine::new(storage, Arc::new(SystemClock)).finding_with(Arc::new(index.clone()));
    Opened { engine, index }
}

async fn open_in(engine: &Engine, settings: &Settings) -> Result<(ContextSystem, Session)> {
    let opened = match settings.opened {
        Some(_) => open_now(engine, &settings.session).await,
        None => engine.open(&settings.session).await,
    };
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

/// Opens a session as it stands now, with what other processes have committed since it was opened first.
async fn open_now(engine: &Engine, session: &SessionId) -> Result<ContextSystem, Error> {
    let system = engine.open(session).await?;
    match system.refresh().await {
        Ok(_) => Ok(system),
        // Another process removed it, and may have made another of its name.
        Err(StorageError::SessionMissing { .. }) => {
            engine.close(session);
            engine.open(session).await
        }
        Err(error) => Err(error.into()),
    }
}

fn not_opened(error: Error, settings: &Settings) -> Stop {
    if settings.store == StoreUrl::Memory && error.kind() == ErrorKind::NotFound {
        let hint = "a memory: store lasts for one command only; use sqlite:PATH to keep a session";
        return Stop::failed(error.kind(), error.to_string(), hint);
    }
    error.into()
}
