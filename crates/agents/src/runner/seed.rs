//! The source documents' ContextManager, for readers who come from them: an agent's history by its
//! name and mode.
//!
//! It keeps no history of its own. What it reads is what the agent's view shows in that mode, what it
//! writes goes through the agent's proxy, and modes are resolved as for a run, forbidden shared contexts included.

use contexture_core::{
    AgentContext, Edit, ErrorKind, Message, PageIndex, SegmentId, Timestamp,
    storage::{Order, Place, RunKey, RunRecord},
};
use serde::{Deserialize, Serialize};

use super::{Job, Runner, main_segment};
use crate::{
    AgentDefinition, AgentsError, ContextMode, Result,
    mode::{Asked, resolve},
    team::{ClearScope, Cleared, put},
};

/// How many pages are listed at a time.
const BATCH: usize = 100;

/// The histories of a session's agents, by name.
pub struct ContextManager<'a> {
    runner: &'a Runner,
    agents: &'a [AgentDefinition],
}

/// An agent's history in a mode.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentHistory {
    /// The agent.
    pub agent_name: String,
    /// The messages: all of an isolated history, the latest of a shared one as far as the settings
    /// bound it.
    pub conversation_history: Vec<Message>,
    /// Where they stand.
    pub segment: SegmentId,
    /// The mode.
    pub mode: ContextMode,
    /// When it was first asked for.
    pub created_at: Timestamp,
    /// When it was last asked for: now.
    pub last_accessed_at: Timestamp,
}

/// When a history was asked for, first and last.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Access {
    created_at: Timestamp,
    last_accessed_at: Timestamp,
}

impl Runner {
    /// Looks at the histories of these agents.
    pub fn contexts<'a>(&'a self, agents: &'a [AgentDefinition]) -> ContextManager<'a> {
        ContextManager { runner: self, agents }
    }

    /// Returns a job in the mode its options ask for, where they ask for one; where shared is forbidden it stays so.
    pub(super) fn as_asked<'a>(&self, job: &Job<'a>) -> Result<Option<Job<'a>>> {
        let Some(flag) = job.options.context_mode else { return Ok(None) };
        let asked = Asked { flag: Some(flag), session: None };
        let mode = resolve(job.agent, &self.settings, asked)?.mode;
        let (model, tools, options) = (job.model.clone(), job.tools.clone(), job.options.clone());
        let origin = job.origin.clone();
        Ok(Some(Job { agent: job.agent, mode, model, tools, options, origin }))
    }
}

impl ContextManager<'_> {
    /// Returns the mode an agent runs in; asking makes nothing (getContextMode).
    pub async fn get_context_mode(&self, agent: &str) -> Result<ContextMode> {
        let agent = self.agent(agent)?;
        let session = self.runner.team.session_mode(&agent.name).await?;
        Ok(resolve(agent, &self.runner.settings, Asked { flag: None, session })?.mode)
    }

    /// Returns an agent's history in a mode, and notes that it was asked for (getContext).
    pub async fn get_context(&self, agent: &str, mode: ContextMode) -> Result<AgentHistory> {
        let agent = self.allowed(agent, mode)?;
        let most = match mode {
            ContextMode::Isolated | ContextMode::Fork => u64::MAX,
            ContextMode::Shared => self.runner.settings.max_messages(),
        };
        let context = self.runner.team.context(agent, mode).await?;
        let conversation_history = history(&context, most).await?;
        let Access { created_at, last_accessed_at } = self.touch(agent, mode).await?;
        Ok(AgentHistory {
            agent_name: agent.name.to_string(),
            conversation_history,
            segment: context.view().writes_to.clone(),
            mode,
            created_at,
            last_accessed_at,
        })
    }

    /// Returns when an agent's history was last asked for in a mode, or last used by a run in it.
    pub async fn last_accessed_at(
        &self,
        agent: &str,
        mode: ContextMode,
    ) -> Result<Option<Timestamp>> {
        let agent = self.agent(agent)?;
        let team = &self.runner.team;
        let asked = self.access(agent, mode).await?.map(|(access, _)| access.last_accessed_at);
        let last = team.state(&agent.name).await?.0.last;
        let last = last.filter(|last| last.mode == mode).map(|last| last.ended_at);
        let runs = team.runs(Some(&agent.name)).await?;
        let now = runs.iter().filter(|it| it.run.mode == mode).map(|it| it.heard_at());
        Ok(now.chain(asked).chain(last).max())
    }

    /// Returns the main session's latest messages as far as the settings bound them; none where there
    /// is no main session (getMainSessionContext).
    pub async fn get_main_session_context(&self) -> Result<Vec<Message>> {
        let system = self.runner.team.system();
        let most = self.runner.settings.max_messages();
        latest(&system.as_system().reader(), &main_segment(), most).await
    }

    /// Writes a message to an agent's history: the main session's when shared, its own when isolated
    /// (addMessage). A user's message begins a turn, others extend it; refused while the agent runs.
    pub async fn add_message(
        &self,
        agent: &str,
        message: Message,
        mode: ContextMode,
    ) -> Result<Vec<PageIndex>> {
        let agent = self.allowed(agent, mode)?;
        self.runner.interrupted(agent).await?;
        let context = self.runner.team.enter(agent, mode).await?;
        self.touch(agent, mode).await?;
        let segment = context.view().writes_to.clone();
        let messages = vec![message];
        if messages[0].role != contexture_core::Role::User {
            let edit = Edit::ExtendTurn { segment: segment.clone(), messages: messages.clone() };
            match context.apply(edit).await {
                // Nothing was asked yet: then it begins a turn itself.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                made => return Ok(made?.pages),
            }
        }
        Ok(context.apply(Edit::AddTurn { segment, messages }).await?.pages)
    }

    /// Empties an agent's isolated history and forgets when its shared one was asked for; the main
    /// session stays (clearHistory). It can be undone, and is refused while the agent runs.
    pub async fn clear_history(&self, agent: &str) -> Result<Cleared> {
        let agent = self.agent(agent)?;
        let team = &self.runner.team;
        let is_alive = |stored: &_| (self.runner.is_alive)(stored);
        let cleared = team.clear(&agent.name, ClearScope::Isolated, is_alive).await?;
        if let Some((_, record)) = self.access(agent, ContextMode::Shared).await? {
            let gone = team.system().keep_run(&record.removal(team.system().now())).await;
            gone.map(drop).or_else(unless_moved)?;
        }
        self.touch(agent, ContextMode::Isolated).await?;
        Ok(cleared)
    }

    fn agent(&self, name: &str) -> Result<&AgentDefinition> {
        let found = self.agents.iter().find(|agent| agent.name.as_str() == name);
        found.ok_or_else(|| AgentsError::AgentNotFound { name: name.to_owned(), nearest: None })
    }

    /// Returns an agent, if it may have that mode.
    fn allowed(&self, name: &str, mode: ContextMode) -> Result<&AgentDefinition> {
        let agent = self.agent(name)?;
        resolve(agent, &self.runner.settings, Asked { flag: Some(mode), session: None })?;
        Ok(agent)
    }

    async fn access(
        &self,
        agent: &AgentDefinition,
        mode: ContextMode,
    ) -> Result<Option<(Access, RunRecord)>> {
        let key = access_key(agent, mode)?;
        let records = self.runner.team.system().runs(key.as_str()).await?;
        let record = records.into_iter().find(|record| record.key == key);
        // A record that cannot be read says nothing that would be missed.
        Ok(record.and_then(|record| Some((serde_json::from_str(&record.value).ok()?, record))))
    }

    async fn touch(&self, agent: &AgentDefinition, mode: ContextMode) -> Result<Access> {
        let system = self.runner.team.system();
        let now = system.now();
        let before = self.access(agent, mode).await?;
        let created_at = before.as_ref().map_or(now, |(access, _)| access.created_at);
        let access = Access { created_at, last_accessed_at: now };
        let record = before.as_ref().map(|(_, record)| record);
        let kept = system.keep_run(&put(access_key(agent, mode)?, record, &access, now)).await;
        kept.map(drop).or_else(unless_moved)?;
        Ok(access)
    }
}

/// Lets pass that somebody else noted it at the same moment.
fn unless_moved(error: contexture_core::Error) -> Result<()> {
    match error.kind() {
        ErrorKind::Conflict => Ok(()),
        _ => Err(error.into()),
    }
}

fn access_key(agent: &AgentDefinition, mode: ContextMode) -> Result<RunKey> {
    Ok(format!("access.{mode}.{}", agent.name).parse()?)
}

/// Returns the latest messages an agent's view has of the history it writes to, at most so many, by
/// whole pages.
pub(super) async fn history(context: &AgentContext, most: u64) -> Result<Vec<Message>> {
    latest(&context.reader(), &context.view().writes_to, most).await
}

async fn latest(
    reader: &contexture_core::Reader<'_>,
    segment: &SegmentId,
    most: u64,
) -> Result<Vec<Message>> {
    let mut pages: Vec<Vec<Message>> = Vec::new();
    let mut count = 0;
    if reader.segment(segment).is_err() {
        return Ok(Vec::new());
    }
    // Directories that are open, each with how far it was read from its end.
    let mut open: Vec<(PageIndex, Option<Place>)> = vec![(segment.root(), None)];
    'walk: while let Some((directory, before)) = open.pop() {
        let listed = reader.children(&directory, Order::Backward, before, BATCH).await?;
        for seen in &listed.items {
            let page = &seen.page;
            if page.is_contents() {
                open.push((directory, Some(page.place)));
                open.push((page.index.clone(), None));
                continue 'walk;
            }
            // Notes are no part of the conversation.
            if page.turn.is_none() {
                continue;
            }
            let messages = reader.messages(&page.index).await?;
            count += messages.len() as u64;
            if count > most && !pages.is_empty() {
                break 'walk;
            }
            pages.push(messages);
        }
        if let (true, Some(last)) = (listed.more, listed.items.last()) {
            open.push((directory, Some(last.page.place)));
        }
    }
    Ok(pages.into_iter().rev().flatten().collect())
}
