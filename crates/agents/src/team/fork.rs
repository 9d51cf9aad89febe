//! Forks: an agent that begins as what another view shows, and goes on alone.
//!
//! ```text
//!  parent   [system] [prompt-LEAD] [usr ........]  goes on
//!                                              │
//!  fork     [system] [prompt-LEAD] [usr ........] [fork-NAME: own prompt, request, ...]
//! ```
//!
//! Its requests begin with the bytes of the parent's, so that the provider's cache is shared: the system
//! text, the tools and the model are the parent's. Where the parent is a fork itself, they are those that
//! the parent sends.

use std::sync::Arc;

use contexture_core::{
    AgentContext, AgentName, ContextSystem, Edit, Mounts, NewSegment, Principal, SegmentId,
    SegmentKind, View, ViewFilter,
    storage::{Branch, BranchParent},
};
use serde::{Deserialize, Serialize};

use super::{Team, assistant, chat_name, prompt_segment};
use crate::{
    AgentDefinition, AgentsError, ContextMode, Result, catalog::Catalog, settings::Settings,
};

/// A fork that has begun, as it is kept with its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The agent whose view it began as; none for the main view of a host that runs its own loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentName>,
    /// The agent whose system text and tools it sends; none where the main view is a host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_as: Option<AgentName>,
    /// What it inherited, and what is its own.
    pub branch: Branch,
}

/// An agent in the mode it runs in.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The agent.
    pub agent: AgentDefinition,
    /// Its mode.
    pub mode: ContextMode,
}

/// Where a fork begins, and whose requests it continues.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ForkOrigin {
    /// Whose view it begins as; none for the main view of a host that runs its own loop.
    pub parent: Option<Arc<Member>>,
    /// Whose system text and tools it sends: the parent's, or what the parent sends where that is a fork.
    pub sends_as: Option<Arc<Member>>,
    /// The model that the parent was last asked with.
    pub model: Option<String>,
}

impl Team {
    /// Finds where a new fork of an agent begins: at the agent that is named, by the call or by its file;
    /// else at the assistant of `chat`, if it has spoken here; else at what the host sees.
    pub async fn fork_origin(
        &self,
        agent: &AgentDefinition,
        named: Option<&AgentName>,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<ForkOrigin> {
        let parent = match named.or(agent.context_parent.as_ref()) {
            Some(parent) => Some(parent.clone()),
            None if self.state(&chat_name()).await?.0.runs > 0 => Some(chat_name()),
            None => None,
        };
        let Some(parent) = parent else { return Ok(ForkOrigin::default()) };
        if parent == agent.name {
            return Err(AgentsError::Invalid {
                what: format!("agent '{parent}' cannot fork itself"),
                hint: "name another agent as its parent".to_owned(),
            });
        }
        let parent = self.member(&parent, catalog, settings).await?;
        let (state, _) = self.state(&parent.agent.name).await?;
        let unfinished = self.runs(Some(&parent.agent.name)).await?.pop();
        let model = unfinished.map(|stored| stored.run.model).or(state.last.map(|last| last.model));
        let sends_as = match (parent.mode, state.fork) {
            (ContextMode::Fork, Some(fork)) => self.sender(&fork, catalog, settings).await?,
            (ContextMode::Fork, None) => return Err(no_fork(&parent.agent.name)),
            _ => Some(parent.clone()),
        };
        Ok(ForkOrigin { parent: Some(parent), sends_as, model })
    }

    /// Returns whose system text and tools a fork sends.
    pub async fn sender(
        &self,
        fork: &Fork,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<Option<Arc<Member>>> {
        match &fork.sends_as {
            Some(name) => self.member(name, catalog, settings).await.map(Some),
            None => Ok(None),
        }
    }

    async fn member(
        &self,
        name: &AgentName,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<Arc<Member>> {
        let agent = match catalog.definition(name)? {
            Some(agent) => agent.clone(),
            // It needs no file.
            None if *name == chat_name() => assistant(),
            None => catalog.find(name.as_str())?.clone(),
        };
        let mode = self.mode(&agent, settings, None).await?.mode;
        Ok(Arc::new(Member { agent, mode }))
    }

    /// Begins a fork of an agent, with a number that no fork of it had.
    pub(crate) async fn fork(
        &self,
        agent: &AgentDefinition,
        origin: &ForkOrigin,
        number: u64,
    ) -> Result<Fork> {
        let segment = Self::fork_segment(agent)?;
        if self.system.as_system().reader().segment(&segment).is_err() {
            let new = NewSegment::new(segment.clone(), SegmentKind::Custom);
            self.system.as_system().apply(Edit::AddSegment(new)).await?;
        }
        let (principal, before) = match origin.parent.as_deref() {
            None => (Principal::System, None),
            Some(Member { agent: parent, mode: ContextMode::Fork }) => {
                let fork = self.state(&parent.name).await?.0.fork;
                let fork = fork.ok_or_else(|| no_fork(&parent.name))?;
                (Principal::System, Some(fork.branch))
            }
            Some(Member { agent: parent, mode }) => {
                let prompt = prompt_segment(parent)?;
                // One that was here before keeps what it was told: its requests are to be continued.
                if self.system.as_system().reader().segment(&prompt).is_err() {
                    self.enter(parent, *mode).await?;
                }
                (Principal::from(self.view(parent, *mode).await?), None)
            }
        };
        let parent = match &before {
            Some(branch) => BranchParent::Branch(branch),
            None => BranchParent::Session(&principal),
        };
        let branch = self.system.branch(parent, &agent.name, number, &segment).await?;
        let name = |member: &Arc<Member>| member.agent.name.clone();
        let (parent, sends_as) =
            (origin.parent.as_ref().map(name), origin.sends_as.as_ref().map(name));
        Ok(Fork { parent, sends_as, branch })
    }

    /// Opens a fork: the session as it stands in it, and its agent's proxy.
    pub(crate) async fn open_fork(&self, fork: &Fork) -> Result<(ContextSystem, AgentContext)> {
        let system = self.system.open_branch(&fork.branch).await?;
        let context = AgentContext::new(system.clone(), fork.branch.view.clone());
        Ok((system, context))
    }

    /// Returns what an agent sees of its latest fork; before its first, nothing but prompts of the session.
    pub(super) async fn latest_fork(&self, agent: &AgentDefinition) -> Result<AgentContext> {
        if let Some(fork) = self.state(&agent.name).await?.0.fork {
            return Ok(self.open_fork(&fork).await?.1);
        }
        let segment = Self::fork_segment(agent)?;
        let mut mounted = self.system_segments();
        mounted.push(segment.clone());
        let view = View {
            agent: agent.name.clone(),
            mounts: Mounts::Listed(mounted),
            writes_to: segment,
            filter: ViewFilter::default(),
            branch: None,
        };
        Ok(AgentContext::new(self.system.clone(), view))
    }

    /// Returns the segment that an agent's forks write to.
    pub(super) fn fork_segment(agent: &AgentDefinition) -> Result<SegmentId> {
        Ok(format!("fork-{}", agent.name).parse()?)
    }
}

fn no_fork(agent: &AgentName) -> AgentsError {
    AgentsError::Invalid {
        what: format!("agent '{agent}' runs as a fork, and has no fork here yet"),
        hint: "run it first, or name another parent".to_owned(),
    }
}
