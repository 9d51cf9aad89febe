//! Agents' runs in the server: on the models, tools and settings of the project, as `agents run` has them.

use std::sync::Arc;

use contexture_agents::{
    Tool,
    runner::{StopSignal, Watcher},
    team::StoredRun,
};
use contexture_core::{ContextSystem, ErrorKind, Timestamp};
use contexture_server::{AgentRuns, RunDone, RunWanted, ServerError};
use tokio::runtime::Handle;

use crate::{
    agent_run::{self, ReadyRun, RunOptions},
    args::Ask,
    error::Stop,
    process,
    project::{Project, explained},
    store::StoreUrl,
};

/// Runs agents on what the project and the environment offer.
pub(super) struct ProjectRuns {
    /// The store, which no tool may reach.
    pub(super) store: StoreUrl,
}

impl AgentRuns for ProjectRuns {
    fn is_alive(&self, run: &StoredRun, now: Timestamp) -> bool {
        process::is_alive(run, now)
    }

    fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ServerError> {
        let project = Project::load().map_err(refused)?;
        project.workspace_tools(Some(&self.store)).map_err(refused)
    }

    fn run(
        &self,
        system: ContextSystem,
        wanted: RunWanted,
        watcher: &mut dyn Watcher,
        stop: StopSignal,
    ) -> Result<RunDone, ServerError> {
        Handle::current().block_on(self.drive(system, wanted, watcher, stop)).map_err(refused)
    }
}

impl ProjectRuns {
    async fn drive(
        &self,
        system: ContextSystem,
        wanted: RunWanted,
        watcher: &mut dyn Watcher,
        stop: StopSignal,
    ) -> Result<RunDone, Stop> {
        let project = Project::load()?;
        let agent = project.agent(&wanted.agent)?;
        let mut options = self.options(&wanted);
        if wanted.prompt.is_none() {
            let interrupted = agent_run::interrupted(&project, &system, agent).await?;
            // It resumes as it began, unless the call says otherwise.
            options.context = Some(interrupted.run.mode);
            options.fork = interrupted.run.fork;
            options.model.get_or_insert(interrupted.run.model);
        }
        let ready = agent_run::prepare(&project, &system, agent, &options).await?;
        let ReadyRun { runner, job, warnings, .. } = ready;
        let done = match &wanted.prompt {
            Some(prompt) => runner.execute(&job, prompt, watcher, stop).await.map(Some),
            None => runner.resume(&job, watcher, stop).await,
        };
        match done {
            Ok(Some(response)) => Ok(RunDone { response, warnings }),
            Ok(None) => Err(Stop::failed(
                ErrorKind::Conflict,
                format!("somebody else took over the run of agent '{}'", agent.name),
                "its context shows its runs",
            )),
            Err(error) => Err(explained(error).await.into()),
        }
    }

    fn options(&self, wanted: &RunWanted) -> RunOptions {
        RunOptions {
            context: wanted.context,
            parent: wanted.parent.clone(),
            model: wanted.model.clone(),
            budget: wanted.budget,
            max_turns: wanted.max_turns,
            token_limit: wanted.token_limit,
            max_tokens: wanted.max_tokens,
            // Nobody is asked here: calls wait in the run's record.
            ask: wanted.ask.then_some(Ask::Later),
            store: Some(self.store.clone()),
            ..RunOptions::default()
        }
    }
}

/// Turns the error of a command into one of the server.
pub(super) fn refused(stop: Stop) -> ServerError {
    match stop {
        Stop::Failed { kind, message, hint } => ServerError::of_kind(kind, message, hint),
        Stop::Closed => ServerError::unavailable("the output was closed", "try again"),
    }
}
