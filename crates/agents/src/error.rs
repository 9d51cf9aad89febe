//! Errors of agents, with the kinds of the core.

use std::path::PathBuf;

use contexture_core::{Advice, AgentName, ErrorKind};

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
    /// The agent's file is broken and defines no agent.
    #[error("the file of agent '{name}' is broken: {}", file.display())]
    FileBroken {
        /// The name asked for.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// No file defines the agent, and broken files may be meant to.
    #[error("no file defines agent '{name}', but it may be in a broken file: {}", listed(files))]
    MaybeBroken {
        /// The name asked for.
        name: AgentName,
        /// The broken files.
        files: Vec<PathBuf>,
    },
    /// The session knows that the agent has a file, and it is not where agent files are searched for.
    #[error("agent '{name}' has a file, but it was not found from here")]
    FileMissing {
        /// The agent.
        name: AgentName,
    },
    /// No such call waits for an approval, or not any more.
    #[error("{what}")]
    NotWaiting {
        /// Which run or call does not wait.
        what: String,
    },
    /// Somebody has answered already whether calls may be made.
    #[error("{what}")]
    Decided {
        /// What was decided about which calls, by whom.
        what: String,
        /// The agent whose run it is.
        agent: AgentName,
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
    /// A run of the agent was interrupted and must end first.
    #[error(
        "run {number} of agent '{agent}' was interrupted: its record may quote the text to be purged, \
         and resuming it would bring that text back"
    )]
    RunInterrupted {
        /// The agent.
        agent: AgentName,
        /// Which of its runs.
        number: u64,
    },
    /// The agent is running in this session.
    #[error("agent '{agent}' is already running here (run {number})")]
    AlreadyRunning {
        /// The agent.
        agent: AgentName,
        /// Which of its runs.
        number: u64,
    },
    /// The session says something about the agent's mode that cannot be read.
    #[error("the session's override for agent '{agent}' is broken: {reason}")]
    BrokenOverride {
        /// The agent.
        agent: AgentName,
        /// Why.
        reason: String,
    },
    /// The session has no main segment to share.
    #[error("agent '{agent}' runs shared, but the session has no main segment '{segment}'")]
    NoMainSegment {
        /// The agent.
        agent: AgentName,
        /// The segment that is missing.
        segment: &'static str,
    },
    /// A page of a prompt that the model must see is lost.
    #[error("{what} lost, so nothing was sent: an agent does not run without its prompt")]
    PromptLost {
        /// Which pages, with the verb.
        what: String,
    },
    /// Something else that is running must end first.
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
            AgentsError::AgentNotFound { .. }
            | AgentsError::FileMissing { .. }
            | AgentsError::NotWaiting { .. } => ErrorKind::NotFound,
            AgentsError::FileBroken { .. }
            | AgentsError::MaybeBroken { .. }
            | AgentsError::BrokenOverride { .. }
            | AgentsError::NoMainSegment { .. }
            | AgentsError::Invalid { .. } => ErrorKind::Invalid,
            AgentsError::Denied { .. } => ErrorKind::PermissionDenied,
            AgentsError::RunInterrupted { .. }
            | AgentsError::AlreadyRunning { .. }
            | AgentsError::Decided { .. }
            | AgentsError::Conflict { .. } => ErrorKind::Conflict,
            AgentsError::PromptLost { .. } | AgentsError::Corrupt { .. } => ErrorKind::Corrupt,
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
                "list the agents to see which exist, or create one".to_owned()
            }
            AgentsError::FileBroken { .. } | AgentsError::MaybeBroken { .. } => {
                "check the agent files to see what is wrong".to_owned()
            }
            AgentsError::FileMissing { .. } => {
                "run this in the project's folder, or restore the file: it says what the agent may see"
                    .to_owned()
            }
            AgentsError::RunInterrupted { .. } => {
                "resume the run first, or give it up with the purge".to_owned()
            }
            AgentsError::AlreadyRunning { .. } => {
                "wait for it, or run it in another session".to_owned()
            }
            AgentsError::BrokenOverride { .. } => "set the agent's mode again".to_owned(),
            AgentsError::NoMainSegment { .. } => "create the session's segments first".to_owned(),
            AgentsError::PromptLost { .. } => Advice::CheckStore.to_string(),
            AgentsError::NotWaiting { .. } => {
                "list the approvals to see which calls wait".to_owned()
            }
            AgentsError::Decided { .. } => "resume the run to act on it".to_owned(),
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
