//! The seam to agents' runs: what they need from outside, such as models, tools and this process's name.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use contexture_agents::{
    ContextMode, Response, Tool,
    runner::{StopSignal, Stopper, Watcher, stop_signal},
    team::StoredRun,
};
use contexture_core::{AgentName, ContextSystem, SessionId, Timestamp};

use crate::{Result, ServerError};

/// How an agent is to be run.
#[derive(Debug, Clone)]
pub struct RunWanted {
    /// The agent's name.
    pub agent: String,
    /// What it is asked; none resumes its interrupted run.
    pub prompt: Option<String>,
    /// Whose history it sees, for this run.
    pub context: Option<ContextMode>,
    /// The agent whose view a fork begins as.
    pub parent: Option<AgentName>,
    /// The model.
    pub model: Option<String>,
    /// The token budget of a window.
    pub budget: Option<u64>,
    /// How many requests may be sent to the model.
    pub max_turns: Option<u32>,
    /// The limit for all tokens of the run.
    pub token_limit: Option<u64>,
    /// The limit for the tokens of one answer.
    pub max_tokens: Option<u64>,
    /// Whether calls that change something wait until somebody approves them.
    pub ask: bool,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunDone {
    /// The answer, and what it took.
    pub response: Response,
    /// What else is worth knowing.
    pub warnings: Vec<String>,
}

/// Runs agents: models, tools, and the name of this process come from outside.
pub trait AgentRuns: Send + Sync {
    /// Returns whether the process that drives a run is alive at a time.
    fn is_alive(&self, run: &StoredRun, now: Timestamp) -> bool;

    /// Returns tools that say what a call would change if it were made now.
    fn tools(&self) -> Result<Vec<Arc<dyn Tool>>>;

    /// Runs an agent in a session until it has answered, was stopped or met a limit. It is called on a thread
    /// that may wait, within a runtime.
    fn run(
        &self,
        system: ContextSystem,
        wanted: RunWanted,
        watcher: &mut dyn Watcher,
        stop: StopSignal,
    ) -> Result<RunDone>;
}

/// The runs that this process drives, so that they can be stopped.
#[derive(Debug, Default)]
pub(crate) struct Driven {
    stoppers: Arc<Mutex<HashMap<(SessionId, String), Stopper>>>,
}

/// A run that this process drives for as long as this is held.
#[derive(Debug)]
pub(crate) struct Driving {
    key: (SessionId, String),
    stoppers: Arc<Mutex<HashMap<(SessionId, String), Stopper>>>,
}

impl Driven {
    /// Notes a run; of an agent there is one at a time in a session.
    pub(crate) fn begin(&self, session: &SessionId, agent: &str) -> Result<(Driving, StopSignal)> {
        let key = (session.clone(), agent.to_owned());
        let (stopper, signal) = stop_signal();
        let mut stoppers = self.stoppers.lock().unwrap_or_else(PoisonError::into_inner);
        if stoppers.contains_key(&key) {
            return Err(ServerError::of_kind(
                contexture_core::ErrorKind::Conflict,
                format!("agent '{agent}' is already running in this session"),
                "wait for it, stop it with POST /agents/AGENT/stop, or run it in another session",
            ));
        }
        stoppers.insert(key.clone(), stopper);
        Ok((Driving { key, stoppers: self.stoppers.clone() }, signal))
    }

    /// Stops a run of this process. Returns whether there was one.
    pub(crate) fn stop(&self, session: &SessionId, agent: &str) -> bool {
        let stoppers = self.stoppers.lock().unwrap_or_else(PoisonError::into_inner);
        let stopper = stoppers.get(&(session.clone(), agent.to_owned()));
        stopper.inspect(|stopper| stopper.stop()).is_some()
    }

    /// Stops all runs of this process.
    pub(crate) fn stop_all(&self) {
        let stoppers = self.stoppers.lock().unwrap_or_else(PoisonError::into_inner);
        stoppers.values().for_each(Stopper::stop);
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        let mut stoppers = self.stoppers.lock().unwrap_or_else(PoisonError::into_inner);
        stoppers.remove(&self.key);
    }
}
