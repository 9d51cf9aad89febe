//! Which view an agent's name stands for.

use contexture_core::{AgentContext, AgentName, View};

use super::Team;
use crate::{
    AgentDefinition, AgentsError, ContextMode, Result,
    catalog::Catalog,
    mode::{self, Asked, Resolution},
    settings::Settings,
};

impl Team {
    /// Resolves the mode an agent runs in, with the session's own say.
    pub async fn mode(
        &self,
        agent: &AgentDefinition,
        settings: &Settings,
        flag: Option<ContextMode>,
    ) -> Result<Resolution> {
        let session = self.session_mode(&agent.name).await?;
        mode::resolve(agent, settings, Asked { flag, session })
    }

    /// Returns what an agent sees: in its mode where it has a file, else all that is common. It makes
    /// nothing. Broken files of other agents do not matter to one that has its own.
    pub async fn context_of(
        &self,
        name: &AgentName,
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<AgentContext> {
        if let Some(agent) = catalog.definition(name)? {
            let mode = self.mode(agent, settings, None).await?.mode;
            return self.context(agent, mode).await;
        }
        // One whose file lies elsewhere must not see more than with it: its prompt is here, so it had one.
        let prompt = format!("prompt-{name}").parse()?;
        if self.system().as_system().reader().segment(&prompt).is_ok() {
            return Err(AgentsError::FileMissing { name: name.clone() });
        }
        Ok(AgentContext::new(self.system().clone(), View::common(name.clone())))
    }
}
