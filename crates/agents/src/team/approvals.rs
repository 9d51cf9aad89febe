//! Approvals: which calls of a session's runs wait for one, and answering them from any process.

use std::{fmt, str::FromStr, sync::Arc};

use contexture_core::{Actor, AgentName, ErrorKind, Timestamp, message::ToolCall};
use serde::{Serialize, Serializer};

use super::{StoredRun, Team, put, run_key};
use crate::{
    AgentsError, Result, Tool,
    run::{Approval, Decision, Run, WaitingCall},
    tools::{self, Question},
};

/// How often an answer is tried while others change the run's record.
const ATTEMPTS: usize = 5;

/// A run as people name it: `reviewer/3` is run 3 of agent reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunName {
    /// The agent.
    pub agent: AgentName,
    /// Which of its runs.
    pub number: u64,
}

impl RunName {
    /// Names a run.
    pub fn of(run: &Run) -> Self {
        Self { agent: run.agent.clone(), number: run.number }
    }
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.number)
    }
}

impl FromStr for RunName {
    type Err = AgentsError;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || AgentsError::Invalid {
            what: format!("'{text}' does not name a run"),
            hint: "name the agent and the number of its run, such as reviewer/3".to_owned(),
        };
        let (agent, number) = text.split_once('/').ok_or_else(wrong)?;
        let agent = agent.parse().map_err(|_| wrong())?;
        Ok(Self { agent, number: number.parse().map_err(|_| wrong())? })
    }
}

impl Serialize for RunName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A call that waits for an approval, as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingApproval {
    /// The run.
    pub run: RunName,
    /// The call's id.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What the call would change as things stand now, line by line.
    pub question: Vec<String>,
    /// The arguments that the call is made with, as the model wrote them.
    pub arguments: String,
    /// Since when it waits.
    pub since: Timestamp,
}

impl PendingApproval {
    pub(crate) fn new(run: &Run, waiting: &WaitingCall<'_>, question: &Question) -> Self {
        Self {
            run: RunName::of(run),
            call: waiting.call.id.clone(),
            tool: waiting.call.name.clone(),
            question: question.lines(),
            arguments: waiting.call.arguments.clone(),
            since: waiting.asked.since,
        }
    }
}

/// Which calls of a run are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichCalls<'a> {
    /// All that wait.
    All,
    /// The one with this id.
    One(&'a str),
}

impl WhichCalls<'_> {
    fn include(self, call: &ToolCall) -> bool {
        match self {
            WhichCalls::All => true,
            WhichCalls::One(id) => call.id == id,
        }
    }
}

impl Team {
    /// Returns the calls that wait for an approval, of an agent or of all. Tools look at what their
    /// calls would change now; a tool that is not given is shown by its arguments.
    pub async fn approvals(
        &self,
        agent: Option<&AgentName>,
        tools: &[Arc<dyn Tool>],
    ) -> Result<Vec<PendingApproval>> {
        let mut pending = Vec::new();
        for stored in self.runs(agent).await? {
            for waiting in stored.run.waiting() {
                let question = tools::stored_question(tools, waiting.call, waiting.asked).await;
                pending.push(PendingApproval::new(&stored.run, &waiting, &question));
            }
        }
        Ok(pending)
    }

    /// Answers calls that wait, and returns their ids. The answer is stored in the run's record, and
    /// whoever resumes the run acts on it.
    pub async fn answer_approval(
        &self,
        name: &RunName,
        which: WhichCalls<'_>,
        decision: &Decision,
        by: &Actor,
        is_alive: impl Fn(&StoredRun) -> bool,
    ) -> Result<Vec<String>> {
        if !by.is_system_side() {
            return Err(AgentsError::Denied {
                what: "agents cannot approve or deny calls".to_owned(),
                hint: "a person answers, on the system side".to_owned(),
            });
        }
        let mut attempts = 1;
        loop {
            match self.try_answer(name, which, decision, by, &is_alive).await {
                // Somebody else stored first: what they stored says whether this still holds.
                Err(AgentsError::Core(error))
                    if error.kind() == ErrorKind::Conflict && attempts < ATTEMPTS =>
                {
                    attempts += 1;
                }
                answered => return answered,
            }
        }
    }

    async fn try_answer(
        &self,
        name: &RunName,
        which: WhichCalls<'_>,
        decision: &Decision,
        by: &Actor,
        is_alive: impl Fn(&StoredRun) -> bool,
    ) -> Result<Vec<String>> {
        let runs = self.runs(Some(&name.agent)).await?;
        let stored = runs.into_iter().find(|stored| stored.run.number == name.number);
        let Some(stored) = stored else {
            let what = format!("run {name} has ended or does not exist");
            return Err(AgentsError::NotWaiting { what });
        };
        if is_alive(&stored) {
            let (agent, number) = (name.agent.clone(), name.number);
            return Err(AgentsError::AlreadyRunning { agent, number });
        }
        let waiting = stored.run.waiting();
        let waiting: Vec<(usize, String)> = waiting
            .iter()
            .filter(|waiting| which.include(waiting.call))
            .map(|waiting| (waiting.place, waiting.call.id.clone()))
            .collect();
        if waiting.is_empty() {
            return Err(not_waiting(name, &stored.run, which));
        }
        let now = self.system().now();
        let mut run = stored.run.clone();
        for (place, _) in &waiting {
            run.decide(*place, Approval { decision: decision.clone(), by: by.clone(), at: now });
        }
        let answer = put(run_key(&run)?, Some(&stored.record), &run, now);
        self.system().keep_run(&answer).await?;
        Ok(waiting.into_iter().map(|(_, id)| id).collect())
    }
}

/// Says why there is nothing to answer: it was decided already, or it does not wait.
fn not_waiting(name: &RunName, run: &Run, which: WhichCalls<'_>) -> AgentsError {
    let decided = run.decided();
    let decided: Vec<String> = decided
        .iter()
        .filter(|(call, _)| which.include(call))
        .map(|(call, Approval { decision, by, at })| {
            format!("call {} of run {name} was {} by {by} at {at}", call.id, decision.as_str())
        })
        .collect();
    if decided.is_empty() {
        let what = match which {
            WhichCalls::All => format!("no call of run {name} waits for an approval"),
            WhichCalls::One(id) => {
                format!("run {name} has no call '{id}' that waits for an approval")
            }
        };
        return AgentsError::NotWaiting { what };
    }
    AgentsError::Decided { what: decided.join("; "), agent: name.agent.clone() }
}
