//! `--share`, and the shares that apply to the caller.

use contexture_agents::{
    AgentDefinition,
    shares::{Share, ShareSettings},
};
use contexture_core::Actor;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Result, Stop},
    project::Project,
    settings::Settings,
};

/// The shares that a call sets.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
pub(crate) struct ShareArgs {
    /// Set one of the shares that shape folds, such as requests=0.25; repeatable
    #[arg(long = "share", value_name = "NAME=VALUE")]
    pub(crate) share: Vec<String>,
}

impl ShareArgs {
    /// Parses the shares.
    pub(crate) fn read(&self) -> Result<ShareSettings> {
        let mut shares = ShareSettings::default();
        for given in &self.share {
            let hint = "write --share NAME=VALUE, such as --share requests=0.25";
            let Some((name, value)) = given.split_once('=') else {
                return Err(Stop::invalid(format!("--share '{given}' has no value"), hint));
            };
            let named: Result<Share, String> = name.parse();
            let share =
                named.map_err(|reason| Stop::invalid(format!("--share: {reason}"), hint))?;
            let value = share.read(value).ok_or_else(|| {
                let wanted = share.wanted();
                let message = format!("--share {share} is '{value}': it must be {wanted}");
                Stop::invalid(message, hint)
            })?;
            if shares.set(share, value).is_some() {
                let message = format!("--share {share} is given twice");
                return Err(Stop::invalid(message, "give each share once"));
            }
        }
        Ok(shares)
    }
}

/// Returns the agent that a command acts as, if it has a file. A broken file is an error.
pub(crate) fn agent<'a>(
    project: &'a Project,
    settings: &Settings,
) -> Result<Option<&'a AgentDefinition>> {
    match &settings.caller {
        Actor::System | Actor::User(_) => Ok(None),
        Actor::Agent(name) => Ok(project.catalog.definition(name)?),
    }
}
