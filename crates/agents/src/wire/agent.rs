//! Agents: what their files say, which mode they run in and why, and what their runs did.

use std::{collections::BTreeMap, path::Path};

use contexture_core::{AgentName, PageIndex, Timestamp};
use serde::Serialize;

use crate::{
    AgentDefinition, ContextMode, Response,
    definition::{ContextFilter, Dialect, FileProblem, PublishResult, Scope, ToolRules},
    effective_mode::EffectiveMode,
    settings::Settings,
    shares::ShareSettings,
    team::{ClearScope, Cleared, LastRun, PendingApproval, RunName, StoredRun},
};

/// An agent in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentObject {
    /// Its name.
    pub name: String,
    /// What people call it.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// The mode it runs in; none where the settings refuse what the session asks for.
    pub mode: Option<ContextMode>,
    /// Who decided its mode.
    pub mode_decided_by: Option<String>,
    /// The model it runs on.
    pub model: String,
    /// Who decided its model.
    pub model_decided_by: String,
    /// How its file is written.
    pub dialect: Dialect,
    /// Whether it is the project's or the user's.
    pub scope: Scope,
    /// Its file; one of the project by its path in it.
    pub file: String,
}

impl AgentObject {
    /// Describes an agent of a project; without an effective mode, its mode was refused.
    pub fn of(
        agent: &AgentDefinition,
        effective: Option<&EffectiveMode>,
        settings: &Settings,
        project: &Path,
    ) -> Self {
        let (model, source) = settings.model_of(agent, None);
        let file = agent.file.strip_prefix(project).unwrap_or(&agent.file);
        Self {
            name: agent.name.to_string(),
            title: agent.title.clone(),
            description: agent.description.clone(),
            mode: effective.map(EffectiveMode::mode),
            mode_decided_by: effective.map(|it| it.resolution.source.within(project)),
            model,
            model_decided_by: source.within(project),
            dialect: agent.dialect,
            scope: agent.scope,
            file: file.display().to_string(),
        }
    }
}

/// Everything an agent's file says, and what comes of it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentFileObject<'a> {
    /// Always `agent`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'a str,
    /// What people call it.
    pub title: &'a str,
    /// What it is for.
    pub description: &'a str,
    /// The model its file names.
    pub model: Option<&'a str>,
    /// The colour its file names.
    pub color: Option<&'a str>,
    /// Whether it is the project's or the user's.
    pub scope: Scope,
    /// The version its file names.
    pub version: Option<&'a str>,
    /// The mode its file names.
    pub context_mode: Option<ContextMode>,
    /// The group whose history it shares.
    pub context_group: Option<&'a str>,
    /// The agent whose view it forks.
    pub context_parent: Option<&'a AgentName>,
    /// What it sees of a shared history.
    pub context_filter: &'a ContextFilter,
    /// What of its work is recorded in the main session.
    pub publish_result: PublishResult,
    /// The tools it may use.
    pub tools: &'a ToolRules,
    /// Its MCP servers by name: how one is reached may hold a secret.
    pub mcp: Vec<&'a str>,
    /// How often its model may be asked in a run.
    pub max_turns: Option<u32>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// How much its model should think.
    pub effort: Option<&'a str>,
    /// The shares of its windows that its file sets.
    pub shares: &'a ShareSettings,
    /// Its prompt.
    pub system_prompt: &'a str,
    /// Its file.
    pub file_path: String,
    /// How its file is written.
    pub dialect: Dialect,
    /// When it was made, as its file says.
    pub created_at: Option<Timestamp>,
    /// When it was changed, as its file says.
    pub updated_at: Option<Timestamp>,
    /// Fields that are not understood, as JSON.
    pub extra: &'a BTreeMap<String, String>,
    /// The mode it runs in; none where the settings refuse what the session asks for.
    pub resolved_mode: Option<ContextMode>,
    /// The model it runs on.
    pub resolved_model: String,
}

impl<'a> AgentFileObject<'a> {
    /// Describes an agent; without an effective mode, its mode was refused.
    pub fn of(
        agent: &'a AgentDefinition,
        effective: Option<&EffectiveMode>,
        settings: &Settings,
    ) -> Self {
        Self {
            kind: "agent",
            name: agent.name.as_str(),
            title: &agent.title,
            description: &agent.description,
            model: agent.model.as_deref(),
            color: agent.color.as_deref(),
            scope: agent.scope,
            version: agent.version.as_deref(),
            context_mode: agent.context_mode,
            context_group: agent.context_group.as_deref(),
            context_parent: agent.context_parent.as_ref(),
            context_filter: &agent.context_filter,
            publish_result: agent.publish_result,
            tools: &agent.tools,
            mcp: agent.mcp.iter().map(|server| server.name.as_str()).collect(),
            max_turns: agent.max_turns,
            temperature: agent.temperature,
            effort: agent.effort.as_deref(),
            shares: &agent.shares,
            system_prompt: &agent.system_prompt,
            file_path: agent.file.display().to_string(),
            dialect: agent.dialect,
            created_at: agent.created_at,
            updated_at: agent.updated_at,
            extra: &agent.extra,
            resolved_mode: effective.map(EffectiveMode::mode),
            resolved_model: settings.model_of(agent, None).0,
        }
    }
}

/// An agent file that was made.
#[derive(Debug, Serialize)]
pub struct CreatedAgentObject {
    /// The agent's name.
    pub name: String,
    /// The file.
    pub file: String,
    /// Whether it is the project's or the user's.
    pub scope: Scope,
}

/// What is wrong with agent files.
#[derive(Debug, Serialize)]
pub struct ValidatedObject<'a> {
    /// Whether there are no errors.
    pub ok: bool,
    /// Why files make no agent.
    pub errors: Vec<FileProblemObject<'a>>,
    /// Why files may not make the agent that was meant.
    pub warnings: Vec<FileProblemObject<'a>>,
}

/// Something wrong with an agent file.
#[derive(Debug, Serialize)]
pub struct FileProblemObject<'a> {
    /// The file.
    pub file: String,
    /// What is wrong, and where in it.
    #[serde(flatten)]
    pub problem: &'a FileProblem,
}

/// Which mode an agent runs in, and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveModeObject {
    /// The agent.
    pub agent: String,
    /// The mode it runs in.
    pub mode: ContextMode,
    /// Who decided that.
    pub decided_by: String,
    /// What the session says about it.
    pub session_override: Option<ContextMode>,
    /// What would hold without the session's say.
    pub original_mode: ContextMode,
    /// Whose history it sees, in words.
    pub linked_to: String,
    /// The segment its turns are written to.
    pub segment: String,
    /// Everyone who had a say, in order of precedence.
    pub said: Vec<ModeSaidObject>,
    /// What the settings changed.
    pub warnings: Vec<String>,
}

/// What somebody says about an agent's mode.
#[derive(Debug, Serialize)]
pub struct ModeSaidObject {
    /// Who says it.
    pub by: String,
    /// What they say.
    pub mode: ContextMode,
}

/// An agent's mode with its runs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentContextObject {
    /// Which mode it runs in, and why.
    #[serde(flatten)]
    pub effective: EffectiveModeObject,
    /// How its last run ended.
    pub last_run: Option<LastRun>,
    /// Its runs that have not ended.
    pub runs: Vec<RunObject>,
}

/// A run that has not ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunObject {
    /// Its number.
    pub number: u64,
    /// The mode it runs in.
    pub mode: ContextMode,
    /// `running`; where no process drives it, `waiting` if calls wait for an approval, else
    /// `interrupted`.
    pub state: &'static str,
    /// When it began.
    pub began_at: Timestamp,
}

impl RunObject {
    /// Describes a stored run; the host knows whether a process still drives it.
    pub fn of(stored: &StoredRun, is_alive: bool) -> Self {
        Self {
            number: stored.run.number,
            mode: stored.run.mode,
            state: match stored.run.waiting().is_empty() {
                _ if is_alive => "running",
                true => "interrupted",
                false => "waiting",
            },
            began_at: stored.run.began_at,
        }
    }
}

/// What somebody decided about calls that waited for an approval.
#[derive(Debug, Serialize)]
pub struct DecidedObject<'a> {
    /// The run, such as `reviewer/3`.
    pub run: &'a RunName,
    /// The calls that were decided about, by their ids.
    pub calls: &'a [String],
    /// `approved` or `denied`.
    pub decision: &'static str,
    /// The reason that was given with a denial.
    pub reason: Option<&'a str>,
    /// Who decided: `system`, or a user such as `user:anna`.
    pub by: String,
    /// The calls of the run that still wait.
    pub waiting: Vec<PendingApproval>,
}

/// What was cleared of an agent's history.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClearedObject<'a> {
    /// The agent.
    pub agent: &'a str,
    /// What was to be cleared.
    pub scope: &'static str,
    /// Pages of its own history that went to the archive.
    pub isolated: &'a [PageIndex],
    /// Pages in the main session that went to the archive.
    pub published: &'a [PageIndex],
    /// Published turns that stay in the main session.
    pub published_kept: u64,
    /// Turns it took in the main session itself: they stay.
    pub own_turns_kept: u64,
    /// Turns it took in segments of groups.
    pub group_turns_kept: u64,
    /// Interrupted runs that were given up.
    pub runs_given_up: u64,
    /// What the session says about its mode: that stays.
    pub session_override: Option<ContextMode>,
}

impl<'a> ClearedObject<'a> {
    /// Describes what was cleared.
    pub fn of(
        agent: &'a AgentName,
        scope: ClearScope,
        cleared: &'a Cleared,
        session_override: Option<ContextMode>,
    ) -> Self {
        Self {
            agent: agent.as_str(),
            scope: scope.as_str(),
            isolated: &cleared.isolated,
            published: &cleared.published,
            published_kept: cleared.published_kept,
            own_turns_kept: cleared.kept,
            group_turns_kept: cleared.group_kept,
            runs_given_up: cleared.runs,
            session_override,
        }
    }
}

/// The answer of an agent's run.
#[derive(Debug, Serialize)]
pub struct ResponseObject<'a> {
    /// What it answered, and what that took.
    #[serde(flatten)]
    pub response: &'a Response,
    /// What else is worth knowing.
    pub warnings: Vec<String>,
}
