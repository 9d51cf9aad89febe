//! Which mode an agent runs in here and now, who says so, and whose history that links it to.

use std::path::Path;

use crate::{
    AgentDefinition, ContextMode, Result, Team,
    mode::{Asked, Resolution, resolve},
    runner::link_name,
    settings::{Settings, Source},
    team::Link,
    wire::{EffectiveModeObject, ModeSaidObject},
};

/// The mode an agent runs in, with everyone who had a say in it.
#[derive(Debug, Clone)]
pub struct EffectiveMode {
    /// The mode, and who decided it.
    pub resolution: Resolution,
    /// Whose history it sees.
    pub link: Link,
}

impl EffectiveMode {
    /// Resolves an agent's mode; reading it makes nothing. Without a session only files speak.
    pub async fn of(
        agent: &AgentDefinition,
        settings: &Settings,
        team: Option<&Team>,
    ) -> Result<Self> {
        let session = match team {
            Some(team) => team.session_mode(&agent.name).await?,
            None => None,
        };
        let resolution = resolve(agent, settings, Asked { flag: None, session })?;
        let link = Team::link(agent, resolution.mode)?;
        Ok(Self { resolution, link })
    }

    /// Returns the mode the agent runs in.
    pub fn mode(&self) -> ContextMode {
        self.resolution.mode
    }

    /// Returns what the session says, where it says something.
    pub fn session(&self) -> Option<ContextMode> {
        let session = |(source, _): &&(Source, ContextMode)| *source == Source::SessionOverride;
        self.resolution.said.iter().find(session).map(|(_, mode)| *mode)
    }

    /// Returns whether the settings forbid the mode that was meant.
    pub fn is_shared_forbidden(&self) -> bool {
        self.resolution.said.first().is_some_and(|(_, mode)| *mode != self.resolution.mode)
    }

    /// Returns it as surfaces give it out, files of the project by their path in it.
    pub fn object(&self, agent: &AgentDefinition, project: &Path) -> EffectiveModeObject {
        let said = |(source, mode): &(Source, ContextMode)| ModeSaidObject {
            by: source.within(project),
            mode: *mode,
        };
        EffectiveModeObject {
            agent: agent.name.to_string(),
            mode: self.mode(),
            decided_by: self.resolution.source.within(project),
            session_override: self.session(),
            original_mode: self.resolution.original().1,
            linked_to: link_name(&self.link),
            segment: self.link.segment().to_string(),
            said: self.resolution.said.iter().map(said).collect(),
            warnings: self.resolution.warnings.clone(),
        }
    }
}
