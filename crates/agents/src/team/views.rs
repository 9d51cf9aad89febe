//! Which view an agent's name stands for.

use contexture_core::{
    AgentContext, AgentName, View,
    storage::{RunKey, RunPut},
};

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

    /// Returns what an agent sees: in its mode where it has a file, all that is common where it never had one, and
    /// an error where its file is not found. It makes nothing. Broken files of other agents do not matter to one that has its own.
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
        // One whose file lies elsewhere must not see more than with it.
        if self.has_had_a_file(name).await? {
            return Err(AgentsError::FileMissing { name: name.clone() });
        }
        Ok(AgentContext::new(self.system().clone(), View::common(name.clone())))
    }

    /// Notes in the session that an agent has a file: without it, it is refused from now on. It lies outside the
    /// history, so no undo takes it back.
    pub async fn note_file(&self, name: &AgentName) -> Result<()> {
        let key = file_key(name)?;
        if self.is_noted(&key).await? {
            return Ok(());
        }
        let put = RunPut::first(key.clone(), "{}", self.system().now());
        match self.system().keep_run(&put).await {
            // Another process has noted it meanwhile.
            Err(_) if self.is_noted(&key).await? => Ok(()),
            noted => noted.map(drop).map_err(Into::into),
        }
    }

    /// Returns whether an agent without a file had one: it has a prompt here, or a mode, or that was noted.
    async fn has_had_a_file(&self, name: &AgentName) -> Result<bool> {
        let prompt = format!("prompt-{name}").parse()?;
        Ok(self.system().as_system().reader().segment(&prompt).is_ok()
            || self.session_mode(name).await?.is_some()
            || self.is_noted(&file_key(name)?).await?)
    }

    async fn is_noted(&self, key: &RunKey) -> Result<bool> {
        let records = self.system().runs(key.as_str()).await?;
        Ok(records.iter().any(|record| record.key == *key))
    }
}

fn file_key(name: &AgentName) -> Result<RunKey> {
    Ok(format!("file.{name}").parse()?)
}
