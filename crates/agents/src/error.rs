//! What can go wrong with agents, folded into the core's kinds.

use contexture_core::ErrorKind;

use crate::model::ModelError;

/// The result of most operations here.
pub type Result<T, E = AgentsError> = std::result::Result<T, E>;

/// An operation on agents that did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentsError {
    /// There is no such agent.
    #[error("Agent '{name}' not found")]
    AgentNotFound {
        /// The name asked for.
        name: String,
        /// A name that exists and looks like it.
        nearest: Option<String>,
    },
    /// A file, setting or request is wrong.
    #[error("{what}")]
    Invalid {
        /// What is wrong, and where.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// The settings do not allow it.
    #[error("permission denied: {what}")]
    Denied {
        /// What was refused, and by what.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// Something else is going on that must end first.
    #[error("{what}")]
    Conflict {
        /// What.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// Something that must be there is lost.
    #[error("{what}")]
    Corrupt {
        /// What.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// The model's provider failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The context system refused or failed.
    #[error(transparent)]
    Core(#[from] contexture_core::Error),
}

impl AgentsError {
    /// Returns what the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            AgentsError::AgentNotFound { .. } => ErrorKind::NotFound,
            AgentsError::Invalid { .. } => ErrorKind::Invalid,
            AgentsError::Denied { .. } => ErrorKind::PermissionDenied,
            AgentsError::Conflict { .. } => ErrorKind::Conflict,
            AgentsError::Corrupt { .. } => ErrorKind::Corrupt,
            AgentsError::Model(error) => error.kind(),
            AgentsError::Core(error) => error.kind(),
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            AgentsError::AgentNotFound { nearest: Some(nearest), .. } => {
                format!("did you mean '{nearest}'? `agents list` shows what there is")
            }
            AgentsError::AgentNotFound { nearest: None, .. } => {
                "`agents list` shows what there is, `agents create NAME` makes one".to_owned()
            }
            AgentsError::Invalid { hint, .. }
            | AgentsError::Denied { hint, .. }
            | AgentsError::Conflict { hint, .. }
            | AgentsError::Corrupt { hint, .. } => hint.clone(),
            AgentsError::Model(error) => error.hint(),
            AgentsError::Core(error) => error.hint(),
        }
    }
}
