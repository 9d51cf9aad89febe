//! Purging while runs have not ended: their records may quote what is to be destroyed.

use contexture_core::{Edit, EditOutcome, PageIndex, Principal, Timestamp, storage::RunPut};

use super::{
    AgentState, LastRun, StoredRun, Team,
    parts::PARTS,
    put,
    state::{STATES, read},
};
use crate::{AgentsError, Result, run::Ending};

/// What becomes of runs that were interrupted when something is purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptedRuns {
    /// They are left alone, so nothing is purged.
    Keep,
    /// They are given up in the same commit: nobody can resume them any more.
    GiveUp,
}

/// What was purged.
#[derive(Debug, Clone)]
pub struct Purged {
    /// What the edit did.
    pub outcome: EditOutcome,
    /// The runs that were given up.
    pub given_up: Vec<StoredRun>,
}

impl Team {
    /// Destroys a page, with all below it, for good.
    ///
    /// A run that has not ended holds answers and results that are not in the tree yet, and they may
    /// quote anything its agent has seen: while there is one, it is refused.
    pub async fn purge(
        &self,
        by: &Principal,
        page: PageIndex,
        interrupted: InterruptedRuns,
        is_alive: impl Fn(&StoredRun) -> bool,
    ) -> Result<Purged> {
        let runs = self.runs(None).await?;
        if let Some(running) = runs.iter().find(|stored| is_alive(stored)) {
            return Err(AgentsError::Conflict {
                what: format!(
                    "agent '{}' is running (run {}) and may bring back the text to be purged",
                    running.run.agent, running.run.number
                ),
                hint: "wait for it, or stop it with Ctrl-C where it runs".to_owned(),
            });
        }
        if let (Some(stored), InterruptedRuns::Keep) = (runs.first(), interrupted) {
            let agent = &stored.run.agent;
            let (agent, number) = (agent.clone(), stored.run.number);
            return Err(AgentsError::RunInterrupted { agent, number });
        }
        let now = self.system.now();
        let mut puts: Vec<RunPut> = runs.iter().map(|stored| stored.record.removal(now)).collect();
        // No run is left, so no part of one is needed: also none that a dead process left behind.
        let parts = self.system.runs(PARTS).await?;
        puts.extend(parts.iter().map(|part| part.removal(now)));
        puts.extend(self.without_quotes(now).await?);
        let outcome = self.system.apply_with_runs(by, &Edit::PurgePage(page), &puts).await?;
        Ok(Purged { outcome, given_up: runs })
    }

    /// Takes the words of providers from what is kept of agents: a refusal may quote the request.
    async fn without_quotes(&self, now: Timestamp) -> Result<Vec<RunPut>> {
        let mut puts = Vec::new();
        for record in self.system.runs(STATES).await? {
            let mut state: AgentState = read(&record)?;
            if let Some(LastRun { ending: Ending::Refused(words), .. }) = &mut state.last
                && !words.is_empty()
            {
                words.clear();
                puts.push(put(record.key.clone(), Some(&record), &state, now));
            }
        }
        Ok(puts)
    }
}
