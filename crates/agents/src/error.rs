//! What can go wrong with agents, folded into the core's kinds.

use std::path::PathBuf;

use contexture_core::{AgentName, ErrorKind};

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
    /// There is a file which should make the agent and does not.
    #[error("the file of agent '{name}' is broken: {}", file.display())]
    FileBroken {
        /// The name asked for.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// No file makes the agent, and what broken files would make is not known.
    #[error("no file makes agent '{name}', and it may be in one that is broken: {}", listed(files))]
    MaybeBroken {
        /// The name asked for.
        name: AgentName,
        /// The broken files.
        files: Vec<PathBuf>,
    },
    /// The agent has run in the session, and its file is not where files are looked for.
    #[error("agent '{name}' has run in this session, but its file is not found from here")]
    FileMissing {
        /// The agent.
        name: AgentName,
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
        /// What is going on.
        what: String,
        /// What to do next.
        hint: String,
    },
    /// Something that must be there is lost.
    #[error("{what}")]
    Corrupt {
        /// What is lost.
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
            AgentsError::AgentNotFound { .. } | AgentsError::FileMissing { .. } => {
                ErrorKind::NotFound
            }
            AgentsError::FileBroken { .. }
            | AgentsError::MaybeBroken { .. }
            | AgentsError::Invalid { .. } => ErrorKind::Invalid,
            AgentsError::Denied { .. } => ErrorKind::PermissionDenied,
            AgentsError::Conflict { .. } => ErrorKind::Conflict,
            AgentsError::Corrupt { .. } => ErrorKind::Corrupt,
            AgentsError::Model(error) => error.kind(),
            AgentsError::Core(error) => error.kind(),
        }
    }

    /// Returns what to do next. A surface that has better words for an error uses those.
    pub fn hint(&self) -> String {
        match self {
            AgentsError::AgentNotFound { nearest: Some(nearest), .. } => {
                format!("did you mean '{nearest}'?")
            }
            AgentsError::AgentNotFound { nearest: None, .. } => {
                "list the agents to see what there is, or make one".to_owned()
            }
            AgentsError::FileBroken { .. } | AgentsError::MaybeBroken { .. } => {
                "check the agent files to see what is wrong".to_owned()
            }
            AgentsError::FileMissing { .. } => {
                "go to the project's folder, or bring the file back: it says what the agent sees"
                    .to_owned()
            }
            AgentsError::Invalid { hint, .. }
            | AgentsError::Denied { hint, .. }
            | AgentsError::Conflict { hint, .. }
            | AgentsError::Corrupt { hint, .. } => hint.clone(),
            AgentsError::Model(error) => error.hint(),
            AgentsError::Core(error) => error.advice().to_string(),
        }
    }
}

fn listed(files: &[PathBuf]) -> String {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    files.join(", ")
}
