//! What a run comes to: the seed's response (M-21).

use contexture_core::{Message, PageIndex, SegmentId, Timestamp};
use serde::Serialize;

use super::link_name;
use crate::{
    ContextMode,
    run::{Ending, Run, Totals},
    team::{Link, PendingApproval},
};

/// What an agent answered, and what it took.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The agent.
    pub agent_name: String,
    /// Its answer; empty when it gave none.
    pub text: String,
    /// Where the exchange stands.
    pub context: RunContext,
    /// What it took.
    pub metadata: Metadata,
    /// How it ended.
    pub ending: Ending,
    /// The calls that wait for an approval, where it ended for now because of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<PendingApproval>,
}

/// Where an exchange stands in the session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunContext {
    /// The segment.
    pub segment: SegmentId,
    /// Its pages.
    pub pages: Vec<PageIndex>,
    /// What the agent's history is linked to, in words.
    pub linked_to: String,
    /// The latest messages of that history as the agent sees it, the answer included, as far as the
    /// settings bound a shared window. It is not written to JSON: there the pages are named.
    #[serde(skip)]
    pub conversation_history: Vec<Message>,
}

/// What a run took.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The model asked.
    pub model: String,
    /// Tokens of all requests and answers.
    pub tokens_used: u64,
    /// The same, told apart.
    pub tokens: Totals,
    /// How long it took.
    pub duration_ms: i64,
    /// How often the model was asked.
    pub iterations: u32,
    /// The mode it ran in (M-35, M-41).
    pub context_mode: ContextMode,
}

impl Response {
    pub(super) fn new(
        run: &Run,
        ending: Ending,
        waiting: Vec<PendingApproval>,
        (link, conversation_history): (Link, Vec<Message>),
        now: Timestamp,
    ) -> Self {
        Self {
            agent_name: run.agent.to_string(),
            text: run.text(),
            context: RunContext {
                segment: link.segment().clone(),
                pages: run.pages.clone(),
                linked_to: link_name(&link),
                conversation_history,
            },
            metadata: Metadata {
                model: run.model.clone(),
                tokens_used: run.used.all(),
                tokens: run.used,
                duration_ms: now.as_millis() - run.began_at.as_millis(),
                iterations: run.iterations,
                context_mode: run.mode,
            },
            ending,
            waiting,
        }
    }
}
