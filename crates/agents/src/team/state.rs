//! What the engine keeps of an agent between its runs, and the runs that are under way.

use contexture_core::{
    AgentName, PageIndex, Timestamp,
    storage::{RunKey, RunPut, RunRecord},
};
use serde::{Deserialize, Serialize};

use super::{Absences, Fork, Team, parts::Parts};
use crate::{
    AgentsError, ContextMode, Result,
    run::{Ending, Run, Totals},
};

/// What the keys of agents' states begin with.
pub(super) const STATES: &str = "agent.";

/// What is kept of an agent between its runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentState {
    /// How many runs it had.
    pub runs: u64,
    /// How many forks of it have begun, also those whose run never did.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forks: u64,
    /// Its latest fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Box<Fork>>,
    /// Its last run that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastRun>,
    /// Pages it expanded in a run, whose level rises at the next fold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<PageIndex>,
    /// System pages that are known to be gone rightly, so that nobody looks for them again.
    #[serde(default, skip_serializing_if = "Absences::is_empty")]
    pub absences: Absences,
}

/// A run that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// Its number.
    pub number: u64,
    /// The mode it ran in.
    pub mode: ContextMode,
    /// The model asked.
    pub model: String,
    /// When it began.
    pub began_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// How it ended.
    pub ending: Ending,
    /// What it took.
    pub used: Totals,
    /// What its windows could take; none in runs that an earlier version made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

/// A run that is under way, or was when its process ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The run, as far as it came.
    pub run: Run,
    /// Its record.
    pub record: RunRecord,
    pub(crate) parts: Parts,
}

impl StoredRun {
    /// Returns when it last came on.
    pub fn heard_at(&self) -> Timestamp {
        let parts = self.parts.step.iter().chain(&self.parts.calls);
        parts.map(|part| part.updated_at).fold(self.record.updated_at, Timestamp::max)
    }

    /// Returns the changes that remove it.
    pub(crate) fn removals(&self, at: Timestamp) -> Vec<RunPut> {
        self.parts.removals(at).chain([self.record.removal(at)]).collect()
    }
}

impl Team {
    /// Returns what is kept of an agent, and its record if there is one.
    pub async fn state(&self, agent: &AgentName) -> Result<(AgentState, Option<RunRecord>)> {
        let key = state_key(agent)?;
        let records = self.system.runs(key.as_str()).await?;
        match records.into_iter().find(|record| record.key == key) {
            Some(record) => Ok((read(&record)?, Some(record))),
            None => Ok((AgentState::default(), None)),
        }
    }

    /// Returns the runs of an agent, or of all, that have not ended.
    pub async fn runs(&self, agent: Option<&AgentName>) -> Result<Vec<StoredRun>> {
        let unfinished = RunKey::UNFINISHED;
        let prefix =
            agent.map_or_else(|| unfinished.to_owned(), |agent| format!("{unfinished}{agent}."));
        let records = self.system.runs(&prefix).await?;
        let mut runs = Vec::new();
        for record in records {
            let mut run = read(&record)?;
            let parts = self.parts(&mut run).await?;
            runs.push(StoredRun { run, record, parts });
        }
        Ok(runs)
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(crate) fn state_key(agent: &AgentName) -> Result<RunKey> {
    Ok(format!("{STATES}{agent}").parse()?)
}

pub(crate) fn run_key(run: &Run) -> Result<RunKey> {
    Ok(format!("{}{}.{:06}", RunKey::UNFINISHED, run.agent, run.number).parse()?)
}

/// Returns the change that keeps a value.
pub(crate) fn put<T: Serialize>(
    key: RunKey,
    before: Option<&RunRecord>,
    value: &T,
    at: Timestamp,
) -> RunPut {
    let value = serde_json::to_string(value).expect("run states have only string keys");
    RunPut { key, expect: before.map(|record| record.version), value: Some(value), at }
}

pub(super) fn read<T: for<'de> Deserialize<'de>>(record: &RunRecord) -> Result<T> {
    serde_json::from_str(&record.value).map_err(|error| AgentsError::Invalid {
        what: format!("the record '{}' cannot be read: {error}", record.key),
        hint: "a newer contexture may have written it; use that one".to_owned(),
    })
}
