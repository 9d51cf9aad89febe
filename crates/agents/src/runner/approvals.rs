//! Calls that somebody has to allow: asked about now, or left to wait in the run's record.

use std::sync::Arc;

use contexture_core::{Actor, message::ToolCall};

use super::{Drive, Response, Runner, Verdict, Watcher};
use crate::{
    AgentDefinition, Result, Tool,
    run::{Approval, AskedApproval, Decision, Ending},
    team::{PendingApproval, Team, put, run_key},
    tools,
};

/// The result of a call that somebody denied when they were asked.
pub(super) const DENIED: &str = "permission denied: the user did not allow this call";

impl Runner {
    /// Returns what the agent's run has come to that was left to wait, as long as calls of it wait; none
    /// where it can be resumed. It starts and asks nothing. Tools look at what calls would change.
    pub async fn still_waiting(
        &self,
        agent: &AgentDefinition,
        tools: &[Arc<dyn Tool>],
    ) -> Result<Option<Response>> {
        let Some(stored) = self.interrupted(agent).await?.pop() else { return Ok(None) };
        let run = &stored.run;
        let mut pending = Vec::new();
        for waiting in run.waiting() {
            let question = tools::stored_question(tools, waiting.call, waiting.asked).await;
            pending.push(PendingApproval::new(run, &waiting, &question));
        }
        if pending.is_empty() {
            return Ok(None);
        }
        let link = Team::link(agent, run.mode)?;
        let now = self.team.system().now();
        let history = (link, Vec::new());
        Ok(Some(Response::new(run, Ending::Waiting, pending, history, now)))
    }
}

impl Drive<'_> {
    /// Tells whether somebody has to allow a call before it is made.
    pub(super) fn needs_approval(&self, call: &ToolCall) -> bool {
        self.run.open_approval().is_none() && self.toolbox.needs_approval(call, self.run.asks)
    }

    /// Asks whether the call that is next may be made.
    pub(super) async fn verdict(&mut self, call: &ToolCall, watcher: &mut dyn Watcher) -> Verdict {
        if let Some(Approval { by: by @ Actor::User(_), .. }) = self.run.open_approval() {
            watcher.notice(&format!("{} ({}) was approved by {by}", call.name, call.id));
        }
        if !self.needs_approval(call) {
            return Verdict::Allowed;
        }
        match self.toolbox.question(call).await {
            Some(_) if self.unanswered => Verdict::Unanswered,
            Some(question) => watcher.approves(&question),
            // It is refused anyway.
            None => Verdict::Allowed,
        }
    }

    /// Stores that the calls of this answer that need an approval wait for one, all of them together.
    pub(super) async fn begin_waiting(&mut self) -> Result<()> {
        self.unanswered = true;
        let now = self.now();
        for (place, call) in self.run.untouched() {
            if self.toolbox.needs_approval(&call, self.run.asks) {
                let tool = self.toolbox.get(&call.name).ok();
                let origin = tool.and_then(|tool| tool.origin());
                let origin = origin.map(|(server, own)| (server.to_owned(), own.to_owned()));
                self.run.ask_first(place, AskedApproval { since: now, origin });
            }
        }
        // The record holds the results so far, so no call counts as begun any more.
        let step = self.parts.next_step(&self.run, false, now)?;
        let run = put(run_key(&self.run)?, self.record.as_ref(), &self.run, now);
        self.keep(vec![run, step], None).await.map(drop)
    }

    /// Asks about calls that wait since another process drove the run, and stores the answers. Tells
    /// whether all of them are answered.
    pub(super) async fn ask_waiting(&mut self, watcher: &mut dyn Watcher) -> Result<bool> {
        let (by, at) = (watcher.answers_as(), self.now());
        let mut approvals = Vec::new();
        for waiting in self.run.waiting() {
            let question = self.toolbox.stored_question(waiting.call, waiting.asked).await;
            let decision = match self.unanswered {
                true => Verdict::Unanswered,
                false => watcher.approves(&question),
            };
            let decision = match decision {
                Verdict::Allowed => Decision::Approved,
                Verdict::Denied => Decision::Denied { reason: None },
                Verdict::Unanswered => {
                    self.unanswered = true;
                    break;
                }
            };
            approvals.push((waiting.place, Approval { decision, by: by.clone(), at }));
        }
        let answers = !approvals.is_empty();
        for (place, approval) in approvals {
            self.run.decide(place, approval);
        }
        if answers {
            self.store().await?;
        }
        Ok(self.run.waiting().is_empty())
    }

    /// Leaves a run that waits: no process drives it any more.
    pub(super) async fn leave(mut self) -> Result<Response> {
        self.run.driver = None;
        self.store().await?;
        let mut pending = Vec::new();
        for waiting in self.run.waiting() {
            let question = self.toolbox.stored_question(waiting.call, waiting.asked).await;
            pending.push(PendingApproval::new(&self.run, &waiting, &question));
        }
        self.response(Ending::Waiting, pending).await
    }
}
