//! Which mode an agent runs in here and now, and who says so, as people and programs are told.

use contexture_agents::{
    AgentDefinition, ContextMode, Team,
    mode::{Asked, Resolution, resolve},
    runner::link_name,
    settings::Source,
    team::Link,
};
use serde::Serialize;

use crate::{crew::Crew, error::Result};

/// An agent's mode with everybody who had a say in it (C28, C30).
pub(super) struct Standing {
    pub(super) resolution: Resolution,
    pub(super) link: Link,
}

impl Standing {
    /// Resolves an agent's mode; reading it makes nothing. Without a session only files speak.
    pub(super) async fn of(
        crew: &Crew,
        team: Option<&Team>,
        agent: &AgentDefinition,
    ) -> Result<Self> {
        let session = match team {
            Some(team) => team.session_mode(&agent.name).await?,
            None => None,
        };
        let resolution = resolve(agent, &crew.settings, Asked { flag: None, session })?;
        let link = Team::link(agent, resolution.mode)?;
        Ok(Self { resolution, link })
    }

    pub(super) fn mode(&self) -> ContextMode {
        self.resolution.mode
    }

    /// Returns what the session says, where it says something.
    pub(super) fn session(&self) -> Option<ContextMode> {
        let session = |(source, _): &&(Source, ContextMode)| *source == Source::SessionOverride;
        self.resolution.said.iter().find(session).map(|(_, mode)| *mode)
    }

    /// Tells whether the gate made it isolated.
    pub(super) fn is_gated(&self) -> bool {
        self.resolution.said.first().is_some_and(|(_, mode)| *mode != self.resolution.mode)
    }

    /// Returns the mode with who decided it, where it is not the default.
    pub(super) fn short(&self) -> String {
        let mode = self.mode();
        let by = match &self.resolution.source {
            _ if self.is_gated() => "shared is forbidden",
            Source::Flag => "the call",
            Source::SessionOverride => "session override",
            Source::Definition(_) => "agent file",
            Source::Project(_) => "project settings",
            Source::User(_) => "user settings",
            Source::Default => return mode.to_string(),
        };
        format!("{mode} ({by})")
    }

    /// Returns it as `--json` prints it.
    pub(super) fn object(&self, crew: &Crew, agent: &AgentDefinition) -> StandingObject {
        let said = |(source, mode): &(Source, ContextMode)| SaidObject {
            by: crew.said_by(source),
            mode: *mode,
        };
        StandingObject {
            agent: agent.name.to_string(),
            mode: self.mode(),
            decided_by: crew.said_by(&self.resolution.source),
            session_override: self.session(),
            original_mode: self.resolution.original().1,
            linked_to: link_name(&self.link),
            segment: self.link.segment().to_string(),
            said: self.resolution.said.iter().map(said).collect(),
            warnings: self.resolution.warnings.clone(),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StandingObject {
    agent: String,
    mode: ContextMode,
    decided_by: String,
    session_override: Option<ContextMode>,
    original_mode: ContextMode,
    linked_to: String,
    segment: String,
    said: Vec<SaidObject>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SaidObject {
    by: String,
    mode: ContextMode,
}
