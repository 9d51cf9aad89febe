//! What a command works on: an opened session, and on whose behalf.

use std::{collections::BTreeMap, sync::Arc};

use contexture_agents::{AgentDefinition, Team};
use contexture_core::{
    Actor, AgentContext, AgentName, ContextSystem, Edit, Error, ErrorKind, Format, PageIndex,
    PageStorage, SegmentId, Sent, SentWindow, View, WindowOptions,
    context::Apps,
    system::{FoldOutcome, Outcome, PageView, Pressed, Reader},
};
use contexture_storage::SystemClock;

use crate::{
    crew::Crew,
    error::{Result, Stop},
    settings::Settings,
    store::{Access, StoreUrl},
};

/// An opened session with the one who asks: the system side unchecked, an agent through its proxy.
pub(crate) enum Caller {
    /// The system side.
    System(ContextSystem),
    /// An agent, and the session its proxy stands before.
    Agent(ContextSystem, AgentContext),
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
        Ok(match &settings.caller {
            Actor::System => Caller::System(system),
            Actor::Agent(name) => {
                let view = view(&system, name).await?;
                Caller::Agent(system.clone(), AgentContext::new(system, view))
            }
        })
    }

    /// Returns the session, to read what a page already seen refers to.
    pub(crate) fn system(&self) -> &ContextSystem {
        match self {
            Caller::System(system) | Caller::Agent(system, _) => system,
        }
    }

    /// Answers questions as far as the caller may see.
    pub(crate) fn reader(&self) -> Reader<'_> {
        match self {
            Caller::System(system) => system.reader(),
            Caller::Agent(_, agent) => agent.reader(),
        }
    }

    /// Makes an edit, as far as the caller may.
    pub(crate) async fn apply(&self, edit: Edit) -> Result<Outcome> {
        Ok(match self {
            Caller::System(system) => system.apply_internal(edit).await?,
            Caller::Agent(_, agent) => agent.apply(edit).await?,
        })
    }

    /// Takes the fold that is due in the caller's view, and records the window as sent.
    pub(crate) async fn send(&self, options: &WindowOptions) -> Result<Sent, Error> {
        match self {
            Caller::System(system) => system.send(options).await,
            Caller::Agent(_, agent) => agent.send(options).await,
        }
    }

    /// Renders a window again that the caller's view was sent.
    pub(crate) async fn sent(&self, options: &WindowOptions, number: u64) -> Result<Sent, Error> {
        match self {
            Caller::System(system) => system.sent(options, number).await,
            Caller::Agent(_, agent) => agent.sent(options, number).await,
        }
    }

    /// Returns the newest window the caller's view was sent in a format.
    pub(crate) async fn newest_sent(&self, format: Format) -> Result<Option<SentWindow>, Error> {
        Ok(self.ledger(format, 1).await?.pop())
    }

    /// Returns the newest windows the caller's view was sent in a format, newest first.
    pub(crate) async fn ledger(
        &self,
        format: Format,
        limit: usize,
    ) -> Result<Vec<SentWindow>, Error> {
        match self {
            Caller::System(system) => system.ledger(format, limit).await,
            Caller::Agent(_, agent) => agent.ledger(format, limit).await,
        }
    }

    /// Takes the fold that is due in the caller's view; none when none is due.
    pub(crate) async fn fold(&self, options: &WindowOptions) -> Result<Option<FoldOutcome>> {
        Ok(match self {
            Caller::System(system) => system.fold(options).await?,
            Caller::Agent(_, agent) => agent.fold(options).await?,
        })
    }

    /// Presses an anchor, as far as the caller may.
    pub(crate) async fn press(
        &self,
        key: &str,
        params: &BTreeMap<String, String>,
    ) -> Result<Pressed> {
        let apps = Apps::default();
        Ok(match self {
            Caller::System(system) => system.press(key, params, &apps).await?,
            Caller::Agent(_, agent) => agent.press(key, params, &apps).await?,
        })
    }

    /// Reads an index; a bare number needs a view with exactly one segment (C02).
    pub(crate) fn index(&self, text: &str) -> Result<PageIndex> {
        let segments = self.reader().segments();
        let only = match segments.as_slice() {
            [only] => Some(&only.id),
            _ => None,
        };
        Ok(PageIndex::parse_within(text, only)?)
    }

    /// Returns the segment turns go to: the one named, or where the caller writes.
    pub(crate) fn turn_segment(&self, named: Option<&str>) -> Result<SegmentId> {
        match (named, self) {
            (Some(named), _) => Ok(named.parse()?),
            (None, Caller::Agent(_, agent)) => Ok(agent.view().writes_to.clone()),
            (None, Caller::System(_)) => Ok("usr".parse()?),
        }
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
    if system.reader().segment(&format!("prompt-{name}").parse()?).is_ok() {
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
