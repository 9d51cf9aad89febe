//! The settings of a command: raw flags resolved, with nothing left open.

use contexture_core::{Actor, SessionId};

use crate::{args::GlobalArgs, error::Result, store::StoreUrl};

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
    /// Checks the flags; touches nothing.
    pub(crate) fn resolve(global: &GlobalArgs, caller: Actor) -> Result<Self> {
        Ok(Self { store: global.store.parse()?, session: global.session.parse()?, caller })
    }
}
