//! What of a run changes with every call, kept beside its record: that is large and written whole.
//!
//! ```text
//!  run.AGENT.000001               the run, as of the model's last answer
//!  part.AGENT.000001.step         which call began last
//!  part.AGENT.000001.0003.0017    what call 17 of answer 3 came to
//! ```
//!
//! The step is there as long as the run. Every call moves it on before it is made, and so does every
//! commit and everybody who takes the run over: a process that was taken for dead finds it moved and
//! makes no call any more. What calls came to goes with the commit that writes their exchange.

use contexture_core::{
    AgentName, ErrorKind, Timestamp,
    storage::{RunKey, RunPut, RunRecord},
};
use serde::{Deserialize, Serialize};

use super::{
    Team,
    state::{put, read},
};
use crate::{
    Result,
    run::{CallState, Run},
};

/// What the keys of parts begin with.
pub(super) const PARTS: &str = "part.";

/// Which call of a run began last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// Which of the model's answers asks for it, counted from 1.
    answer: u32,
    /// Its place among that answer's calls; none when none has begun.
    call: Option<usize>,
}

/// The parts of a run as they are kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Parts {
    /// None in runs that an earlier version began.
    pub(crate) step: Option<RunRecord>,
    pub(crate) calls: Vec<RunRecord>,
}

impl Parts {
    /// Returns the change that moves the step on: to the call that is next, or to no call.
    pub(crate) fn next_step(&self, run: &Run, begins: bool, at: Timestamp) -> Result<RunPut> {
        let call = run.open_call().filter(|_| begins);
        let step = Step { answer: run.iterations, call };
        Ok(put(step_key(run)?, self.step.as_ref(), &step, at))
    }

    /// Returns the change that takes the run over: the step stays what it is and moves on all the same.
    pub(crate) fn claim(&self, run: &Run, at: Timestamp) -> Result<RunPut> {
        match &self.step {
            Some(step) => Ok(step.next(step.value.clone(), at)),
            None => self.next_step(run, false, at),
        }
    }

    /// Takes in that a part was kept or removed.
    pub(crate) fn kept(&mut self, run: &Run, put: &RunPut) -> Result<()> {
        if put.key == step_key(run)? {
            self.step = put.record();
            return Ok(());
        }
        self.calls.retain(|record| record.key != put.key);
        self.calls.extend(put.record());
        Ok(())
    }

    /// Returns the changes that remove what calls came to.
    pub(crate) fn call_removals(&self, at: Timestamp) -> impl Iterator<Item = RunPut> + '_ {
        self.calls.iter().map(move |record| record.removal(at))
    }

    /// Returns the changes that remove all.
    pub(crate) fn removals(&self, at: Timestamp) -> impl Iterator<Item = RunPut> + '_ {
        self.call_removals(at).chain(self.step.iter().map(move |record| record.removal(at)))
    }

    /// Tells a run how far its calls have come.
    fn restore(&self, run: &mut Run) -> Result<()> {
        let step: Step = self.step.as_ref().map(read).transpose()?.unwrap_or_default();
        let begun = step.call.filter(|_| step.answer == run.iterations);
        let mut states = Vec::new();
        for record in &self.calls {
            // What a process brought that was taken for dead may be of an answer before.
            if let Some(call) = call_of(run, &record.key) {
                states.push((call, read(record)?));
            }
        }
        run.restore(begun, states);
        Ok(())
    }
}

impl Team {
    /// Returns the parts of a run, and tells the run what they say.
    pub(crate) async fn parts(&self, run: &mut Run) -> Result<Parts> {
        let step = step_key(run)?;
        let mut parts = Parts::default();
        for record in self.system.runs(&prefix(run)).await? {
            if record.key == step {
                parts.step = Some(record);
            } else {
                parts.calls.push(record);
            }
        }
        parts.restore(run)?;
        Ok(parts)
    }

    /// Returns the records of a run's parts, also those that another process left.
    pub(crate) async fn part_records(&self, run: &Run) -> Result<Vec<RunRecord>> {
        Ok(self.system.runs(&prefix(run)).await?)
    }

    /// Removes the parts of a run that is over, also those that another process left.
    pub(crate) async fn remove_parts(&self, run: &Run) -> Result<()> {
        self.remove_all(&prefix(run)).await
    }

    /// Removes the parts that are left of an agent's runs, when there is no run any more.
    pub(crate) async fn sweep_parts(&self, agent: &AgentName) -> Result<()> {
        self.remove_all(&format!("{PARTS}{agent}.")).await
    }

    async fn remove_all(&self, prefix: &str) -> Result<()> {
        let now = self.system.now();
        for record in self.system.runs(prefix).await? {
            match self.system.keep_run(&record.removal(now)).await {
                // Somebody else is at it.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                removed => drop(removed?),
            }
        }
        Ok(())
    }
}

/// Returns the change that keeps what a call came to.
pub(crate) fn put_call(run: &Run, call: usize, state: &CallState, at: Timestamp) -> Result<RunPut> {
    Ok(put(call_key(run, call)?, None, state, at))
}

fn prefix(run: &Run) -> String {
    format!("{PARTS}{}.{:06}.", run.agent, run.number)
}

fn step_key(run: &Run) -> Result<RunKey> {
    Ok(format!("{}step", prefix(run)).parse()?)
}

fn call_key(run: &Run, call: usize) -> Result<RunKey> {
    Ok(format!("{}{:04}.{call:04}", prefix(run), run.iterations).parse()?)
}

/// Returns which call of a run's present answer a record is about.
fn call_of(run: &Run, key: &RunKey) -> Option<usize> {
    let (answer, call) = key.as_str().strip_prefix(&prefix(run))?.split_once('.')?;
    (answer.parse() == Ok(run.iterations)).then(|| call.parse().ok())?
}
