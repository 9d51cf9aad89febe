//! The settings of a command: the raw flags, resolved, with every default filled in.

use std::sync::Arc;

use contexture_core::{Actor, Engine, PageStorage, Principal, SessionId};
use contexture_search::LazyIndex;
use contexture_storage::SystemClock;

use crate::{
    args::GlobalArgs,
    error::Result,
    project,
    store::{self, Access, StoreUrl},
};

/// The store, the session and the caller of a command.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The store.
    pub(crate) store: StoreUrl,
    /// The session in it.
    pub(crate) session: SessionId,
    /// The system side, perhaps as a named user, or an agent.
    pub(crate) caller: Actor,
    /// The store, where this process has it open already.
    pub(crate) opened: Option<Opened>,
}

/// A store that a process has open for all its commands.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// Its sessions.
    pub(crate) engine: Engine,
    /// Its search index.
    pub(crate) index: LazyIndex,
}

impl Settings {
    /// Opens the store, creating it if it does not exist.
    pub(crate) async fn engine(&self) -> Result<Engine> {
        let storage = self.store.open(Access::Create).await?;
        let index = self.index(&storage);
        Ok(Engine::new(storage, Arc::new(SystemClock)).finding_with(Arc::new(index)))
    }

    /// Returns the search index of the store, which is opened when somebody searches.
    pub(crate) fn index(&self, storage: &Arc<dyn PageStorage>) -> LazyIndex {
        LazyIndex::embedding(storage.clone(), self.store.search_folder(), project::embedder())
    }

    /// Returns who acts on the system side: the host, or the user that was named.
    pub(crate) fn system_side(&self) -> Principal {
        match &self.caller {
            Actor::User(name) => Principal::User(name.clone()),
            // Agents are refused before anything is opened.
            Actor::System | Actor::Agent(_) => Principal::System,
        }
    }

    /// Checks the flags and touches nothing. Without --store, uses the project's store.
    pub(crate) fn resolve(global: &GlobalArgs, caller: Actor) -> Result<Self> {
        let project = project::folder::find()?;
        let usual = match project == project::folder::working_folder()? {
            true => store::DEFAULT.parse()?,
            false => StoreUrl::in_project(&project),
        };
        Self::new(global, caller, usual)
    }

    /// Does the same for commands that create a project: without --store, uses the working folder's.
    pub(crate) fn here(global: &GlobalArgs, caller: Actor) -> Result<Self> {
        Self::new(global, caller, store::DEFAULT.parse()?)
    }

    fn new(global: &GlobalArgs, caller: Actor, usual: StoreUrl) -> Result<Self> {
        let store = global.store.as_deref().map_or(Ok(usual), str::parse)?;
        Ok(Self { store, session: global.session.parse()?, caller, opened: None })
    }
}
