//! What a command works on: an opened session, and on whose behalf.

use std::{ops::Deref, sync::Arc};

use contexture_agents::Team;
use contexture_core::{
    Actor, ContextSystem, EditOutcome, Engine, Error, ErrorKind, Format, PageStorage, PageView,
    Principal, SegmentId, Session, storage::SentWindow,
};
use contexture_storage::SystemClock;

use crate::{
    advice,
    crew::Crew,
    error::{Result, Stop},
    settings::Settings,
    store::{Access, StoreUrl},
};

/// An opened session in the hands of the one who asks.
pub(crate) struct Caller {
    system: ContextSystem,
    session: Session,
}

impl Caller {
    /// Opens the session the settings name; it must exist.
    pub(crate) async fn open(settings: &Settings) -> Result<Self> {
        let storage = settings.store.open(Access::Existing).await?;
        Self::open_on(storage, settings).await
    }

    /// Opens the session to read much of it as of one moment, whatever others write meanwhile.
    pub(crate) async fn open_snapshot(settings: &Settings) -> Result<Self> {
        let storage = settings.store.open(Access::Existing).await?;
        let snapshot = storage.snapshot().await.map_err(Error::from)?;
        Self::open_on(snapshot, settings).await
    }

    async fn open_on(storage: Arc<dyn PageStorage>, settings: &Settings) -> Result<Self> {
        let engine = Engine::new(storage, Arc::new(SystemClock));
        let opened = engine.open(&settings.session).await;
        let system = opened.map_err(|error| not_opened(error, settings))?;
        let principal = match &settings.caller {
            Actor::System => Principal::System,
            Actor::User(name) => Principal::User(name.clone()),
            Actor::Agent(name) => {
                // Broken settings are an error: they decide the mode.
                let crew = Crew::load()?;
                let team = Team::new(system.clone());
                Principal::from(team.view_of(name, &crew.catalog, &crew.settings).await?)
            }
        };
        let session = system.held_by(principal);
        Ok(Self { system, session })
    }

    /// Returns the session without anybody's view, for what only the host does.
    pub(crate) fn system(&self) -> &ContextSystem {
        &self.system
    }

    /// Returns the newest window the caller's view was sent in a format.
    pub(crate) async fn newest_sent(&self, format: Format) -> Result<Option<SentWindow>, Error> {
        Ok(self.ledger(format, 1).await?.pop())
    }

    /// Returns the segment turns go to: the one named, or where the caller writes.
    pub(crate) fn turn_segment(&self, named: Option<&str>) -> Result<SegmentId> {
        Ok(named.map_or_else(|| Ok(self.writes_to()), str::parse)?)
    }

    /// Returns the page an edit was about, wherever it now stands; none if the caller does not see it
    /// any more, be it through the edit itself.
    pub(crate) async fn changed_page(&self, outcome: &EditOutcome) -> Result<Option<PageView>> {
        let Some(index) = outcome.pages.first() else { return Ok(None) };
        match self.reader().page_or_archived(index).await {
            Ok(seen) => Ok(Some(seen)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let revision = outcome.revision;
                let message =
                    format!("revision {revision} was made, but {index} is not shown: {error}");
                Err(Stop::failed(error.kind(), message, advice::words(&error.advice())))
            }
        }
    }
}

impl Deref for Caller {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

fn not_opened(error: Error, settings: &Settings) -> Stop {
    if settings.store == StoreUrl::Memory && error.kind() == ErrorKind::NotFound {
        let hint = "memory: lives as long as one command; use sqlite:PATH to keep a session";
        return Stop::failed(error.kind(), error.to_string(), hint);
    }
    error.into()
}
