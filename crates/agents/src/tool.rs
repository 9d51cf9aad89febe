//! The seam to tools: what a model may call.

use async_trait::async_trait;
use contexture_core::{PageIndex, message::RawJson};

/// A tool a model may call.
///
/// For implementers: `call` takes the arguments as parsed JSON and answers in words a model reads.
/// An error is an answer too: it says what is wrong and what to do, and nothing has changed.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns how it is described to the model.
    fn spec(&self) -> &ToolSpec;

    /// Tells whether calling it again after a crash could do something twice.
    fn effect(&self) -> Effect;

    /// Returns the MCP server it comes from and what it is called there, where it does: rules may name
    /// it so.
    fn origin(&self) -> Option<(&str, &str)> {
        None
    }

    /// Tells whether somebody has to allow a call also in a run that asks about no other.
    fn always_asks(&self, _arguments: &serde_json::Value) -> bool {
        false
    }

    /// Says in a few words what a call would change, as far as that can be seen before it is made: for
    /// the person who is asked. It changes nothing itself.
    async fn foresee(&self, _arguments: &serde_json::Value) -> Option<String> {
        None
    }

    /// Calls it.
    async fn call(&self, arguments: &serde_json::Value) -> ToolOutput;
}

/// What calling a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: it may be called again after a crash.
    Reads,
    /// Something: after a crash it is not known whether it happened, so it is not repeated.
    Changes,
}

/// How a tool is described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does, in a sentence or two.
    pub description: String,
    /// The JSON schema of its arguments: an object, its bytes fixed.
    pub schema: RawJson,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// Whether it failed.
    pub error: bool,
    /// Pages whose level rises at the next fold: their content itself stands in the text.
    pub expands: Vec<PageIndex>,
    /// Pages that it made or changed.
    pub changes: Vec<PageIndex>,
}

impl ToolOutput {
    /// Makes an answer.
    pub fn of(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Says that it made or changed a page.
    #[must_use]
    pub fn changing(mut self, page: PageIndex) -> Self {
        self.changes.push(page);
        self
    }

    /// Makes an answer that says what is wrong.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), error: true, ..Self::default() }
    }
}
