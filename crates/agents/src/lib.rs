//! Agents: definitions, isolated and shared contexts, a run loop on real providers, tools.
//!
//! ```text
//!  agent files ──► Catalog ──► AgentDefinition ─┐
//!  settings.json ─► Settings ──► mode, model ───┼─► Team ──► view, prompt segment, AgentContext
//!                                               │              │
//!                            Toolbox ◄──────────┘              ▼
//!                               ▲            Runner: drives a Run, step by step
//!                               └── calls ──────┤   (Run decides and never waits)
//!                                               └── requests ──► Model: OpenAI, Anthropic, Gemini
//! ```
//!
//! This crate reads files where it is told to and speaks to providers and MCP servers; it knows no
//! terminal and no environment: both come in as arguments.

mod error;

pub mod catalog;
pub mod definition;
pub mod effective_mode;
pub mod mode;
pub mod settings;
pub mod shares;

pub mod model;
pub mod provider;

pub mod tool;
pub mod tools;

pub mod import;
pub mod prompts;
pub mod run;
pub mod runner;
pub mod setup;
pub mod team;

pub mod wire;

pub use definition::{AgentDefinition, ContextMode};
pub use error::{AgentsError, Result};
pub use model::{Answer, Model, ModelError, ModelEvent, ModelRequest};
pub use runner::{ContextManager, ExecuteOptions, Job, Response, Runner};
pub use team::Team;
pub use tool::{Tool, ToolOutput, ToolSpec};
