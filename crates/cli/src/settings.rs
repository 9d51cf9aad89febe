//! The settings of a command: raw flags resolved, with nothing left open.

use std::sync::Arc;

use contexture_core::{Actor, Engine, Principal, SessionId};
use contexture_storage::SystemClock;

use crate::{
    args::GlobalArgs,
    error::Result,
    project,
    store::{self, Access, StoreUrl},
};

/// Which store, which session, and on whose behalf.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The storage.
    pub(crate) store: StoreUrl,
    /// The session in it.
    pub(crate) session: SessionId,
    /// The system side, or an agent.
    pub(crate) caller: Actor,
}

impl Settings {
    /// Opens the store, made where it does not exist, for the process.
    pub(crate) async fn engine(&self) -> Result<Engine> {
        let storage = self.store.open(Access::Create).await?;
        Ok(Engine::new(storage, Arc::new(SystemClock)))
    }

    /// Returns who works on the system side: the host, or the person that is named.
    pub(crate) fn system_side(&self) -> Principal {
        match &self.caller {
            Actor::User(name) => Principal::User(name.clone()),
            // An agent is refused before anything opens.
            Actor::System | Actor::Agent(_) => Principal::System,
        }
    }

    /// Checks the flags; touches nothing. Where no store is named it is the project's.
    pub(crate) fn resolve(global: &GlobalArgs, caller: Actor) -> Result<Self> {
        let project = project::folder::find()?;
        let usual = match project == project::folder::working_folder()? {
            true => store::DEFAULT.parse()?,
            false => StoreUrl::in_project(&project),
        };
        Self::new(global, caller, usual)
    }

    /// The same for what makes a project: where no store is named it is the working folder's.
    pub(crate) fn here(global: &GlobalArgs, caller: Actor) -> Result<Self> {
        Self::new(global, caller, store::DEFAULT.parse()?)
    }

    fn new(global: &GlobalArgs, caller: Actor, usual: StoreUrl) -> Result<Self> {
        let store = global.store.as_deref().map_or(Ok(usual), str::parse)?;
        Ok(Self { store, session: global.session.parse()?, caller })
    }
}
