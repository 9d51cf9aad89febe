//! What a command works on: an opened session, and on whose behalf.

use std::{ops::Deref, sync::Arc};

use contexture_agents::{AgentDefinition, Team};
use contexture_core::{
    Actor, AgentName, ContextSystem, Error, ErrorKind, Format, PageStorage, Principal, SegmentId,
    SentWindow, Session, View,
    system::{Outcome, PageView},
};
use contexture_storage::SystemClock;

use crate::{
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
        let session = settings.session.clone();
        let opened = ContextSystem::open(storage, session, Arc::new(SystemClock)).await;
        let system = opened.map_err(|error| not_opened(error, settings))?;
        let principal = match &settings.caller {
            Actor::System => Principal::System,
            Actor::User(name) => Principal::User(name.clone()),
            Actor::Agent(name) => Principal::from(view(&system, name).await?),
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
    pub(crate) async fn changed_page(&self, outcome: &Outcome) -> Result<Option<PageView>> {
        let Some(index) = outcome.pages.first() else { return Ok(None) };
        match self.reader().page_or_archived(index).await {
            Ok(seen) => Ok(Some(seen)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let revision = outcome.revision;
                let message =
                    format!("revision {revision} was made, but {index} is not shown: {error}");
                Err(Stop::failed(error.kind(), message, error.hint()))
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

/// Returns the view of an agent: that of its mode where it has a file, else of all that is common.
/// It makes nothing. Broken files of other agents do not matter to one that has its own; broken settings
/// do, they decide the mode.
async fn view(system: &ContextSystem, name: &AgentName) -> Result<View> {
    let crew = Crew::load()?;
    if let Some(agent) = definition(&crew, name)? {
        let team = Team::new(system.clone());
        let mode = crew.mode(&team, agent, None).await?.mode;
        return Ok(team.view(agent, mode).await?);
    }
    // One whose file lies elsewhere must not see more than with it: its prompt is here, so it had one.
    if system.as_system().reader().segment(&format!("prompt-{name}").parse()?).is_ok() {
        return Err(Stop::failed(
            ErrorKind::NotFound,
            format!("agent '{name}' has run in this session, but its file is not found from here"),
            "go to the project's folder, or bring the file back: it says what the agent sees",
        ));
    }
    Ok(View::common(name.clone()))
}

/// Returns what an agent's file says, where it has one. A file that cannot be read is an error: without
/// it the agent must not see more than with it.
pub(crate) fn definition<'a>(
    crew: &'a Crew,
    name: &AgentName,
) -> Result<Option<&'a AgentDefinition>> {
    if let Some(agent) = crew.catalog.get(name.as_str()) {
        return Ok(Some(agent));
    }
    match crew.broken(name.as_str()).or_else(|| crew.maybe_broken(name)) {
        Some(broken) => Err(broken),
        None => Ok(None),
    }
}

fn not_opened(error: Error, settings: &Settings) -> Stop {
    if settings.store == StoreUrl::Memory && error.kind() == ErrorKind::NotFound {
        let hint = "memory: lives as long as one command; use sqlite:PATH to keep a session";
        return Stop::failed(error.kind(), error.to_string(), hint);
    }
    error.into()
}
