//! Which mode an agent runs in, and why: precedence, and the settings that forbid shared contexts.

use crate::{
    AgentDefinition, AgentsError, ContextMode, Result,
    settings::{Settings, Source},
};

/// The mode an agent runs in, and where that came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The mode it runs in.
    pub mode: ContextMode,
    /// Who decided it.
    pub source: Source,
    /// Everybody who said something, in order of precedence; the first decided, unless shared is forbidden.
    pub said: Vec<(Source, ContextMode)>,
    /// What forbidding shared contexts changed.
    pub warnings: Vec<String>,
}

impl Resolution {
    /// Returns what would hold without a flag and without a session override.
    pub fn original(&self) -> (Source, ContextMode) {
        let lasting = |said: &&(Source, ContextMode)| {
            !matches!(said.0, Source::Flag | Source::SessionOverride)
        };
        let default = || (Source::Default, ContextMode::Isolated);
        self.said.iter().find(lasting).cloned().unwrap_or_else(default)
    }
}

/// Says what is asked for beside the files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asked {
    /// What the call says.
    pub flag: Option<ContextMode>,
    /// What the session says.
    pub session: Option<ContextMode>,
}

/// Resolves an agent's mode: call, session, definition, project, user, `isolated`. Then what is forbidden: an
/// explicit request for a forbidden shared context is an error; a shared default or definition runs
/// isolated, with a warning.
pub fn resolve(agent: &AgentDefinition, settings: &Settings, asked: Asked) -> Result<Resolution> {
    let mut said = Vec::new();
    said.extend(asked.flag.map(|mode| (Source::Flag, mode)));
    said.extend(asked.session.map(|mode| (Source::SessionOverride, mode)));
    // The assistant of `chat` needs no file.
    let file = || match agent.file.as_os_str().is_empty() {
        true => Source::Default,
        false => Source::Definition(agent.file.clone()),
    };
    // An agent that names a group wants to share with it, one that names a parent to fork it.
    let shares = agent.context_group.as_ref().map(|_| ContextMode::Shared);
    let forks = agent.context_parent.as_ref().map(|_| ContextMode::Fork);
    let defined = shares.or(forks);
    said.extend(agent.context_mode.or(defined).map(|mode| (file(), mode)));
    said.extend(settings.default_mode.clone().map(|set| (set.source, set.value)));
    said.push((Source::Default, ContextMode::Isolated));
    let (source, mode) = said[0].clone();
    let mut resolution = Resolution { mode, source, said, warnings: Vec::new() };
    let Some(gate) = settings.shared_forbidden.as_ref().filter(|_| mode.sees_others()) else {
        return Ok(resolution);
    };
    if matches!(resolution.source, Source::Flag | Source::SessionOverride) {
        return Err(AgentsError::Denied {
            what: format!(
                "agent '{}' cannot run {}: agents.allowSharedContext is false in {gate}",
                agent.name,
                match mode {
                    ContextMode::Fork => "as a fork",
                    _ => "shared",
                }
            ),
            hint: "run it isolated, or allow shared contexts there".to_owned(),
        });
    }
    resolution.warnings.push(format!(
        "agent '{}' is set to {} by {}, but shared contexts are forbidden by {gate}: it runs isolated",
        agent.name, resolution.mode, resolution.source
    ));
    resolution.mode = ContextMode::Isolated;
    Ok(resolution)
}

#[cfg(test)]
#[path = "mode_tests.rs"]
mod tests;
