//! The agent's proxy: the source documents' name for a session that an agent holds.
//!
//! Agents reach the context through nothing else. All it does is what a [`Session`] does for any
//! principal, confined to the agent's view.

use std::{ops::Deref, sync::Arc};

use crate::{AgentName, ContextSystem, Principal, Session, Timestamp, View};

/// A session held by an agent.
#[derive(Debug, Clone)]
pub struct AgentContext {
    session: Session,
    view: Arc<View>,
    created_at: Timestamp,
}

impl AgentContext {
    /// Puts a view before a context system; neither is ever replaced.
    pub fn new(system: ContextSystem, view: View) -> Self {
        let (view, created_at) = (Arc::new(view), system.now());
        let session = system.held_by(Principal::Agent(view.clone()));
        Self { session, view, created_at }
    }

    /// Returns the agent.
    pub fn agent(&self) -> &AgentName {
        &self.view.agent
    }

    /// Returns the view.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns when the proxy was made.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }
}

impl Deref for AgentContext {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl From<AgentContext> for Session {
    fn from(agent: AgentContext) -> Self {
        agent.session
    }
}
