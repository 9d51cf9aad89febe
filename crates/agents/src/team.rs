//! A session's agents: their segments and views, session overrides, published results, clearing.
//!
//! ```text
//!  isolated   [system] [prompt-NAME] [agent-NAME]      writes to agent-NAME
//!  shared     [system] [prompt-NAME] [usr]             writes to usr, the main session
//!  in a group [system] [prompt-NAME] [group-GROUP]     writes to group-GROUP
//!  fork       what its parent showed, [fork-NAME]      writes to fork-NAME
//! ```
//!
//! What is not mounted does not exist for the agent; nothing here filters what was already read.

mod approvals;
mod clear;
mod fork;
mod guard;
mod parts;
mod purge;
mod state;
mod views;

use std::{collections::BTreeSet, sync::Arc};

use contexture_core::{
    Actor, AgentContext, AgentName, ContextSystem, Edit, ErrorKind, Mounts, NewDetailPage,
    NewSegment, PageIndex, PageUpdate, SegmentId, SegmentKind, Timestamp, View, ViewFilter,
    message::{MessageFilter, detail_text},
    storage::{CustomKey, Order},
};

pub use approvals::{PendingApproval, RunName, WhichCalls};
pub use clear::{ClearScope, Cleared};
pub use fork::{Fork, ForkOrigin, Member, Sender};
pub use guard::Absences;
pub(crate) use guard::lost;
pub(crate) use parts::{Parts, put_call};
pub use purge::{InterruptedRuns, Purged};
pub use state::{AgentState, LastRun, StoredRun};
pub(crate) use state::{put, run_key, state_key};

use crate::{
    AgentDefinition, AgentsError, ContextMode, Result,
    definition::ContextFilter,
    prompts::{self, Stance},
};

/// The main session's segment.
const MAIN: &str = "usr";

/// The agents of one session.
#[derive(Debug, Clone)]
pub struct Team {
    system: ContextSystem,
}

/// What an agent's history is linked to, as people are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// Its own segment.
    Own(SegmentId),
    /// The main session.
    Main(SegmentId),
    /// A group's segment.
    Group(SegmentId),
    /// A segment of its own behind what its parent showed.
    Fork {
        /// The segment.
        segment: SegmentId,
        /// The agent that its file names as the parent; none for the main view.
        parent: Option<AgentName>,
    },
}

impl Link {
    /// Returns the segment.
    pub fn segment(&self) -> &SegmentId {
        match self {
            Link::Own(id) | Link::Main(id) | Link::Group(id) => id,
            Link::Fork { segment, .. } => segment,
        }
    }

    /// Returns what the agent's prompt says of it; none for a fork, which is told in a message.
    fn stance(&self) -> Option<Stance> {
        match self {
            Link::Own(_) => Some(Stance::Isolated),
            Link::Main(_) => Some(Stance::Shared),
            Link::Group(_) => Some(Stance::Group),
            Link::Fork { .. } => None,
        }
    }
}

impl Team {
    /// Looks at a session's agents.
    pub fn new(system: ContextSystem) -> Self {
        Self { system }
    }

    /// Returns the session.
    pub fn system(&self) -> &ContextSystem {
        &self.system
    }

    /// Returns what an agent's history is linked to in a mode.
    pub fn link(agent: &AgentDefinition, mode: ContextMode) -> Result<Link> {
        Ok(match (mode, &agent.context_group) {
            (ContextMode::Isolated, _) => Link::Own(format!("agent-{}", agent.name).parse()?),
            (ContextMode::Shared, Some(group)) => Link::Group(format!("group-{group}").parse()?),
            (ContextMode::Shared, None) => Link::Main(MAIN.parse()?),
            (ContextMode::Fork, _) => Link::Fork {
                segment: Self::fork_segment(agent)?,
                parent: agent.context_parent.clone(),
            },
        })
    }

    /// Returns the session's own say on an agent's mode (M-27).
    pub async fn session_mode(&self, agent: &AgentName) -> Result<Option<ContextMode>> {
        let Some(text) = self.custom(&mode_key(agent)?).await? else { return Ok(None) };
        text.parse().map(Some).map_err(|reason: String| {
            let agent = agent.clone();
            AgentsError::BrokenOverride { agent, reason }
        })
    }

    /// Returns what the session says windows may take, in tokens.
    pub async fn session_budget(&self) -> Result<Option<u64>> {
        let text = self.custom(&"budget".parse()?).await?;
        Ok(text.and_then(|text| text.trim().parse().ok()))
    }

    async fn custom(&self, key: &CustomKey) -> Result<Option<String>> {
        let custom = self.system.storage().custom(self.system.session()).await;
        let custom = custom.map_err(contexture_core::Error::from)?;
        Ok(custom.into_iter().find(|(there, _)| there == key).map(|(_, text)| text))
    }

    /// Sets or clears the session's own say on an agent's mode. It is an edit like any other.
    pub async fn set_session_mode(
        &self,
        agent: &AgentName,
        mode: Option<ContextMode>,
    ) -> Result<()> {
        let value = mode.map(|mode| mode.as_str().to_owned());
        self.system.as_system().apply(Edit::SetCustom { key: mode_key(agent)?, value }).await?;
        Ok(())
    }

    /// Returns what an agent sees in a mode: of a fork, its latest one. It makes nothing: what is missing
    /// is not seen.
    pub async fn context(
        &self,
        agent: &AgentDefinition,
        mode: ContextMode,
    ) -> Result<AgentContext> {
        match mode {
            ContextMode::Fork => self.latest_fork(agent).await,
            mode => Ok(AgentContext::new(self.system.clone(), self.view(agent, mode).await?)),
        }
    }

    /// Returns the segments that prompt every agent.
    fn system_segments(&self) -> Vec<SegmentId> {
        let session = self.system.as_system();
        let segments = session.reader().segments();
        let common = segments
            .iter()
            .filter(|segment| segment.kind == SegmentKind::System && segment.owner.is_none());
        common.map(|segment| segment.id.clone()).collect()
    }

    /// Returns an agent's view in a mode that is no fork.
    async fn view(&self, agent: &AgentDefinition, mode: ContextMode) -> Result<View> {
        let link = Self::link(agent, mode)?;
        let prompt = prompt_segment(agent)?;
        let mut mounted = self.system_segments();
        mounted.push(prompt.clone());
        mounted.push(link.segment().clone());
        let mut filter = match &link {
            Link::Own(_) | Link::Fork { .. } => ViewFilter::default(),
            Link::Main(_) | Link::Group(_) => {
                view_filter(&agent.context_filter, self.system.now())?
            }
        };
        // The other modes' texts are not for it, nor is what it said on its own.
        let (pages, stance) = (prompts::pages(agent), link.stance());
        for (page, index, _) in self.prompt_pages(&prompt).await? {
            let prompt_page = pages.iter().find(|it| it.name.as_str() == page);
            if prompt_page.and_then(|it| it.stance).is_some_and(|other| Some(other) != stance) {
                filter.without.insert(index);
            }
        }
        if !matches!(link, Link::Own(_)) {
            let own: SegmentId = format!("agent-{}", agent.name).parse()?;
            filter.without.insert(own.root());
        }
        let writes_to = link.segment().clone();
        let mounts = Mounts::Listed(mounted);
        Ok(View { agent: agent.name.clone(), mounts, writes_to, filter, branch: None })
    }

    /// Brings an agent into the session: its segments are made, its prompt is brought up to date. A fork
    /// begins with a run only: here it is the latest one.
    pub async fn enter(&self, agent: &AgentDefinition, mode: ContextMode) -> Result<AgentContext> {
        if mode == ContextMode::Fork {
            return self.latest_fork(agent).await;
        }
        let link = Self::link(agent, mode)?;
        // Others of a group may make the same segment at this very moment.
        if let Err(error) = self.make(agent, &link).await {
            if error.kind() != ErrorKind::Conflict {
                return Err(error);
            }
            self.system.refresh().await.map_err(contexture_core::Error::from)?;
            self.make(agent, &link).await?;
        }
        let view = self.view(agent, mode).await?;
        Ok(AgentContext::new(self.system.clone(), view))
    }

    /// Makes what an agent lacks in the session.
    async fn make(&self, agent: &AgentDefinition, link: &Link) -> Result<()> {
        let session = self.system.as_system();
        let reader = session.reader();
        let mut edits = Vec::new();
        if reader.segment(link.segment()).is_err() {
            if matches!(link, Link::Main(_)) {
                let agent = agent.name.clone();
                return Err(AgentsError::NoMainSegment { agent, segment: MAIN });
            }
            edits.push(Edit::AddSegment(NewSegment::new(
                link.segment().clone(),
                SegmentKind::Custom,
            )));
        }
        edits.extend(self.prompt_edits(agent).await?);
        if !edits.is_empty() {
            self.system.as_system().apply(Edit::Batch(edits)).await?;
        }
        Ok(())
    }

    /// Returns the edits that bring an agent's prompt segment up to date.
    async fn prompt_edits(&self, agent: &AgentDefinition) -> Result<Vec<Edit>> {
        let segment = prompt_segment(agent)?;
        let mut edits = Vec::new();
        if self.system.as_system().reader().segment(&segment).is_err() {
            let new = NewSegment::new(segment.clone(), SegmentKind::System);
            edits.push(Edit::AddSegment(new));
        }
        let mut there = self.prompt_pages(&segment).await?;
        for page in prompts::pages(agent) {
            let found = there.iter().position(|(name, ..)| name == page.name.as_str());
            match found.map(|at| there.remove(at)) {
                Some((_, _, text)) if text == page.text => {}
                Some((_, index, _)) => edits.push(Edit::UpdatePage(PageUpdate {
                    detail: Some(page.text),
                    ..PageUpdate::of(index)
                })),
                None => edits.push(Edit::CreateDetailPage(NewDetailPage::new(
                    segment.root(),
                    page.name,
                    page.text,
                ))),
            }
        }
        // What the file no longer says is no longer told; the archive keeps it.
        edits.extend(there.into_iter().map(|(_, index, _)| Edit::RemovePage(index)));
        Ok(edits)
    }

    /// Returns the pages of a prompt segment: name, index, text. None when it is not there.
    async fn prompt_pages(&self, segment: &SegmentId) -> Result<Vec<(String, PageIndex, String)>> {
        let session = self.system.as_system();
        let reader = session.reader();
        if reader.segment(segment).is_err() {
            return Ok(Vec::new());
        }
        let listed = reader.children(&segment.root(), Order::Forward, None, 1_000).await?;
        let mut pages = Vec::new();
        for seen in listed.items {
            let index = seen.page.index.clone();
            let text = match seen.page.detail() {
                Some(_) => detail_text(&reader.messages(&index).await?),
                None => String::new(),
            };
            pages.push((seen.page.name.to_string(), index, text));
        }
        Ok(pages)
    }

    /// Returns the agents that have anything of their own in the session, by name.
    pub fn members(&self) -> Vec<AgentName> {
        let owned = |segment: &Arc<contexture_core::Segment>| match &segment.owner {
            Some(contexture_core::Owner::Agent(name)) => Some(name.clone()),
            _ => None,
        };
        let names: BTreeSet<AgentName> =
            self.system.as_system().reader().segments().iter().filter_map(owned).collect();
        names.into_iter().collect()
    }
}

fn prompt_segment(agent: &AgentDefinition) -> Result<SegmentId> {
    Ok(format!("prompt-{}", agent.name).parse()?)
}

fn mode_key(agent: &AgentName) -> Result<CustomKey> {
    Ok(format!("contexture.mode.{agent}").parse()?)
}

/// Returns a definition's filter as the view applies it. What is at most so old is measured from the
/// run's beginning, so that it does not move while the run goes on.
fn view_filter(filter: &ContextFilter, now: Timestamp) -> Result<ViewFilter> {
    let author = |name: &String| match name.as_str() {
        "user" => Ok(Actor::System),
        name => name.parse().map(Actor::Agent),
    };
    let authors = match &filter.agents {
        Some(names) => {
            let mut authors: BTreeSet<Actor> =
                names.iter().map(author).collect::<Result<_, _>>()?;
            // The person at the main session speaks to the assistant of `chat`.
            if authors.contains(&Actor::System) {
                authors.insert(Actor::Agent(chat_name()));
            }
            Some(authors)
        }
        None => None,
    };
    let hears = |role: &str| {
        filter.roles.as_ref().is_none_or(|roles| roles.iter().any(|heard| heard == role))
    };
    let speech = match (hears("assistant"), hears("tool")) {
        (true, true) => MessageFilter::All,
        (true, false) => MessageFilter::WithoutTools,
        (false, _) => MessageFilter::RequestsOnly,
    };
    let oldest = filter.max_age_seconds.map(|age| {
        let age = i64::try_from(age).unwrap_or(i64::MAX).saturating_mul(1_000);
        Timestamp::from_millis(now.as_millis().saturating_sub(age))
    });
    let since = filter.since.max(oldest);
    Ok(ViewFilter { authors, speech, since, without: BTreeSet::new() })
}

/// Returns the name of the assistant that answers in `chat` when no agent is named.
pub fn chat_name() -> AgentName {
    "chat".parse().expect("chat follows the grammar of names")
}

/// Returns the assistant that answers in `chat` when no agent is named, and no file makes one of its name.
pub fn assistant() -> AgentDefinition {
    AgentDefinition {
        title: "Assistant".to_owned(),
        description: "answers in chat when no agent is named".to_owned(),
        context_mode: Some(ContextMode::Shared),
        system_prompt: prompts::CHAT.to_owned(),
        ..AgentDefinition::bare(chat_name())
    }
}
