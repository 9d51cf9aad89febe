//! Agent definitions: what an agent file says, whatever its dialect.
//!
//! [`parse()`] and [`read()`] make one of a file and say what is wrong with it, [`create()`] writes a
//! new file. Which files there are, the [`catalog`](crate::catalog) knows.

mod create;
mod dialect;
mod fields;
mod filter;
mod front;
mod mcp;
mod naming;
mod node;
mod parse;
mod problem;
mod recover;
mod rules;
mod toml;
mod tool_name;
mod window;
mod yaml;

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

use contexture_core::{AgentName, Timestamp};
use serde::{Deserialize, Serialize};

use crate::shares::ShareSettings;

pub use create::{NewAgent, create};
pub(crate) use parse::read_placed;
pub use parse::{Parsed, Times, parse, read};
pub use problem::{FileProblem, Severity};
pub(crate) use problem::{nearest, quoted};
pub use tool_name::{ToolName, canonical_tool};

/// Whose history an agent sees (M-01, M-06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextMode {
    /// Its own only.
    Isolated,
    /// The main session's, or its group's.
    Shared,
    /// What another view shows when a run begins, then its own.
    Fork,
}

impl ContextMode {
    /// All of them.
    pub const ALL: [ContextMode; 3] =
        [ContextMode::Isolated, ContextMode::Shared, ContextMode::Fork];

    /// Returns the mode as it is spelt everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            ContextMode::Isolated => "isolated",
            ContextMode::Shared => "shared",
            ContextMode::Fork => "fork",
        }
    }

    /// Tells whether an agent in this mode sees what others said: the settings may forbid it.
    pub fn sees_others(self) -> bool {
        self != ContextMode::Isolated
    }
}

impl fmt::Display for ContextMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ContextMode {
    type Err = String;

    /// Reads a mode; nothing but the exact words is one (M-33).
    fn from_str(text: &str) -> Result<Self, String> {
        let mode = ContextMode::ALL.into_iter().find(|mode| mode.as_str() == text);
        mode.ok_or_else(|| {
            format!("'{text}' is not a context mode: use 'isolated', 'shared' or 'fork'")
        })
    }
}

/// An agent: who it is, what it may use, and its system prompt (M-08, M-09).
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDefinition {
    /// Its name.
    pub name: AgentName,
    /// What people call it.
    pub title: String,
    /// What it is for; empty when the file does not say.
    pub description: String,
    /// The model it wants, as the file spells it; `inherit` and the like are none.
    pub model: Option<String>,
    /// A colour for terminals.
    pub color: Option<String>,
    /// Where it was found.
    pub scope: Scope,
    /// The definition's own version.
    pub version: Option<String>,
    /// Whose history it sees, where the file says so.
    pub context_mode: Option<ContextMode>,
    /// Which messages of others it sees in a shared context.
    pub context_filter: ContextFilter,
    /// The group it shares with, instead of the main session.
    pub context_group: Option<String>,
    /// The agent whose view it forks, instead of the main view.
    pub context_parent: Option<AgentName>,
    /// What of a run is recorded in the main session, where it does not write there itself.
    pub publish_result: PublishResult,
    /// The tools it may use.
    pub tools: ToolRules,
    /// The MCP servers it uses.
    pub mcp: Vec<McpServer>,
    /// How often it may ask the model in one run, where the file says so.
    pub max_turns: Option<u32>,
    /// The sampling temperature, where the file says so.
    pub temperature: Option<f64>,
    /// How hard the model is to think, where the file says so: `low`, `medium`, `high` or another word
    /// of the provider's.
    pub effort: Option<String>,
    /// The shares of its windows, where the file sets them.
    pub shares: ShareSettings,
    /// The body of the file.
    pub system_prompt: String,
    /// The file.
    pub file: PathBuf,
    /// How the file is written.
    pub dialect: Dialect,
    /// When the file was made, where the file system tells.
    pub created_at: Option<Timestamp>,
    /// When the file last changed, where the file system tells.
    pub updated_at: Option<Timestamp>,
    /// Fields that are not understood, kept as text (JSON).
    pub extra: BTreeMap<String, String>,
}

impl AgentDefinition {
    /// Makes a definition that says nothing but its name.
    pub fn bare(name: AgentName) -> Self {
        Self {
            title: name.to_string(),
            name,
            description: String::new(),
            model: None,
            color: None,
            scope: Scope::Project,
            version: None,
            context_mode: None,
            context_filter: ContextFilter::default(),
            context_group: None,
            context_parent: None,
            publish_result: PublishResult::default(),
            tools: ToolRules::default(),
            mcp: Vec::new(),
            max_turns: None,
            temperature: None,
            effort: None,
            shares: ShareSettings::default(),
            system_prompt: String::new(),
            file: PathBuf::new(),
            dialect: Dialect::Contexture,
            created_at: None,
            updated_at: None,
            extra: BTreeMap::new(),
        }
    }
}

/// Where a definition was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// In the user's folders: for all projects.
    Global,
    /// In the project's folders.
    Project,
}

/// How an agent file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// The seed's own.
    Contexture,
    /// Claude Code's.
    ClaudeCode,
    /// Gemini CLI's.
    Gemini,
    /// OpenCode's.
    OpenCode,
    /// Letta Code's.
    Letta,
    /// Codex's TOML.
    Codex,
}

/// What of an isolated run or a fork is recorded in the main session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PublishResult {
    /// The request and the final answer, as one attributed turn.
    #[default]
    Exchange,
    /// Nothing is recorded.
    None,
}

/// Which messages of others an agent sees in a shared context (M-39).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextFilter {
    /// Only turns of these agents and its own; `user` stands for the person at the main session.
    pub agents: Option<Vec<String>>,
    /// Only messages of these roles: `user` always, `assistant`, `tool`.
    pub roles: Option<Vec<String>>,
    /// Only turns at or after this time.
    pub since: Option<Timestamp>,
    /// Only turns at most this old when the run begins, in seconds.
    pub max_age_seconds: Option<u64>,
}

/// The tools an agent may use. Names are ours: those of other dialects are translated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolRules {
    /// Only these; none: all there are.
    pub allow: Option<Vec<String>>,
    /// Never these, whatever else is said.
    pub deny: Vec<String>,
}

/// An MCP server an agent uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Its name: tools are called `mcp__NAME__TOOL`.
    pub name: String,
    /// How it is reached, where the agent file says so itself; else the settings do.
    pub config: Option<McpConfig>,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum McpConfig {
    /// A program that speaks on its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What is added to its environment.
        env: BTreeMap<String, String>,
    },
    /// A server that speaks streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers to send along.
        headers: BTreeMap<String, String>,
    },
}

#[cfg(test)]
#[path = "definition/mangled_tests.rs"]
mod mangled_tests;
