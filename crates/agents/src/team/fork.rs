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
    AgentDefinition, AgentsError, ContextMode, Result, catalog::Catalog, definition::ToolRules,
    settings::Settings,
};

/// A fork that has begun, as it is kept with its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fork {
    /// The agent whose view it began as; none for the main view of a host that runs its own loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentName>,
    /// The agent whose system text and tools it sends; none where the main view is a host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_as: Option<Sender>,
    /// What it inherited, and what is its own.
    pub branch: Branch,
}

/// The agent whose requests a fork continues, as it was when the fork began: its file may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The agent.
    pub agent: AgentName,
    /// The mode it ran in.
    pub mode: ContextMode,
    /// By which rules its tools are listed.
    pub tools: ToolRules,
    /// How hard its model thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// What its windows may take, where its last request tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

impl Sender {
    fn of(member: &Member, budget: Option<u64>) -> Self {
        let Member { agent, mode } = member;
        let (tools, effort) = (agent.tools.clone(), agent.effort.clone());
        Self { agent: agent.name.clone(), mode: *mode, tools, effort, budget }
    }
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
    /// What the parent's last window could take.
    pub budget: Option<u64>,
    /// The fork that the parent is, where it is one.
    pub fork: Option<Box<Fork>>,
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
        let found = self.member(&parent, catalog, settings).await;
        let parent = found.map_err(|error| match error {
            AgentsError::AgentNotFound { .. } if named.is_none() => AgentsError::Invalid {
                what: format!("agent '{}' forks '{parent}', which has no agent file", agent.name),
                hint: "bring the file back, or name another parent".to_owned(),
            },
            error => error,
        })?;
        let (state, _) = self.state(&parent.agent.name).await?;
        let unfinished = self.runs(Some(&parent.agent.name)).await?.pop();
        let unfinished = unfinished.map(|stored| (stored.run.model, stored.run.budget));
        let last = unfinished.or(state.last.map(|last| (last.model, last.budget)));
        let (model, budget) = last.map_or((None, None), |(model, budget)| (Some(model), budget));
        let fork = state.fork.filter(|_| parent.mode == ContextMode::Fork);
        let sends_as = match &fork {
            Some(fork) => self.sender(fork, catalog, settings).await?,
            None if parent.mode == ContextMode::Fork => return Err(no_fork(&parent.agent.name)),
            None => Some(parent.clone()),
        };
        Ok(ForkOrigin { parent: Some(parent), sends_as, model, budget, fork })
    }

    /// Returns whose system text and tools a fork sends.
    pub async fn sender(
        &self,
        fork: &Fork,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<Option<Arc<Member>>> {
        let Some(Sender { agent: name, mode, tools, effort, .. }) = &fork.sends_as else {
            return Ok(None);
        };
        // Where its file is gone, what is kept of it suffices.
        let agent = match self.member(name, catalog, settings).await {
            Ok(member) => member.agent.clone(),
            Err(_) => AgentDefinition::bare(name.clone()),
        };
        let agent = AgentDefinition { tools: tools.clone(), effort: effort.clone(), ..agent };
        Ok(Some(Arc::new(Member { agent, mode: *mode })))
    }

    /// Returns where a fork that has begun goes on.
    pub async fn resumed_origin(
        &self,
        fork: &Fork,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<ForkOrigin> {
        let sends_as = self.sender(fork, catalog, settings).await?;
        let budget = fork.sends_as.as_ref().and_then(|sender| sender.budget);
        Ok(ForkOrigin { sends_as, budget, ..ForkOrigin::default() })
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
        let principal = match origin.parent.as_deref() {
            None => None,
            Some(Member { agent: parent, mode: ContextMode::Fork }) => {
                if origin.fork.is_none() {
                    return Err(no_fork(&parent.name));
                }
                None
            }
            Some(Member { agent: parent, mode }) => {
                let prompt = prompt_segment(parent)?;
                // One that was here before keeps what it was told: its requests are to be continued.
                if self.system.as_system().reader().segment(&prompt).is_err() {
                    self.enter(parent, *mode).await?;
                }
                Some(Principal::from(self.view(parent, *mode).await?))
            }
        };
        let parent = match (&origin.fork, &principal) {
            (Some(fork), _) => BranchParent::Branch(&fork.branch),
            (None, Some(principal)) => BranchParent::Session(principal),
            // What is another agent's own stays so.
            (None, None) => BranchParent::Common,
        };
        let branch = self.system.branch(parent, &agent.name, number, &segment).await?;
        let parent = origin.parent.as_ref().map(|member| member.agent.name.clone());
        let sends_as = origin.sends_as.as_ref().map(|member| Sender::of(member, origin.budget));
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
