//! The settings of a command: raw flags resolved, with nothing left open.

use contexture_core::{Actor, SessionId};

use crate::{
    args::GlobalArgs,
    error::Result,
    project,
    store::{self, StoreUrl},
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
    /// Checks the flags; touches nothing. Where no store is named it is the project's.
    pub(crate) fn resolve(global: &GlobalArgs, caller: Actor) -> Result<Self> {
        let project = project::find()?;
        let usual = match project == project::working_folder()? {
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
