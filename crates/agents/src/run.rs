//! A run: one request to an agent, from its prompt to its answer, as a state machine without IO.
//!
//! ```text
//!            ┌───────────────── Append the exchange ◄────────────────┐
//!            ▼                                                       │ all answered
//!  begin ─► Asking ── answer with calls ─► Acting ── Call, Call, … ──┘
//!            │                              │  ▲
//!            │                     nobody answers  │ approved or denied
//!            │                              ▼  │
//!            │                             waiting
//!            └── answer without calls, a limit, a stop ─► Closing ─► Publishing ─► Ended
//! ```
//!
//! A [`Run`] says what to do next and is told what came of it; it never waits, and is stored
//! between steps. An assistant message whose calls are not answered yet lives only here. A call is
//! stored as begun before its tool is called, so after a crash it is known which calls may have
//! happened: those that change the world are answered as interrupted and never repeated. An answer
//! has at most [`MOST_CALLS`] calls that are made; more are answered as refused.
//!
//! Calls are made in their order. At the first call that somebody has to allow, and about which nobody
//! answers, all calls of the answer that need an approval begin to wait, and no further call is made:
//! a later one may count on what an earlier one does. The run then has no driver until each of them
//! was approved or denied.

mod approval;
mod call;

use contexture_core::{
    AgentName, Message, PageIndex, Role, SegmentId, Timestamp, Usage,
    message::{Part, ToolCall},
    window::{CommonSecrets, SensitiveFilter},
};
use serde::{Deserialize, Serialize};

pub use approval::{Approval, AskedApproval, Decision, WaitingCall};
pub use call::{CallState, Calls, MOST_CALLS};

use crate::{
    ContextMode,
    model::{Answer, Stop},
    team::Fork,
    tool::{Effect, ToolOutput},
};

/// How often the same calls may bring the same results in a row before the run stops.
const MOST_REPEATS: u32 = 5;

/// How often an empty answer is asked for again.
const MOST_EMPTY: u32 = 1;

/// One request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The agent.
    pub agent: AgentName,
    /// Counts the agent's runs.
    pub number: u64,
    /// Whose history it sees.
    pub mode: ContextMode,
    /// The segment it writes to: it stays there, whatever the agent's file says by now.
    pub segment: SegmentId,
    /// The model asked, with its provider.
    pub model: String,
    /// What was asked for.
    pub prompt: String,
    /// When it began.
    pub began_at: Timestamp,
    /// The process that drives it; none when it was left to be gone on with.
    pub driver: Option<Driver>,
    /// What it may take.
    pub limits: Limits,
    /// What its windows may take; none in runs that an earlier version began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// The fork it runs in, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Box<Fork>>,
    /// Whether its exchange is recorded in the main session when it ends.
    pub publishes: bool,
    /// How often the model was asked.
    pub iterations: u32,
    /// What that took.
    pub used: Totals,
    /// The pages it wrote, the latest last.
    pub pages: Vec<PageIndex>,
    /// Where it stands.
    pub phase: Phase,
    /// The newest exchange of calls in a few words, and how often it came in a row.
    #[serde(default)]
    pub repeated: (String, u32),
    /// How many empty answers came in a row.
    #[serde(default)]
    pub empty: u32,
    /// The smaller budget it goes on with, once the provider found a request too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened: Option<u64>,
    /// Whether somebody wants it to stop.
    #[serde(default)]
    pub stopping: bool,
    /// Whether somebody has to allow each call that changes something; it stays so when it is resumed.
    #[serde(default)]
    pub asks: bool,
}

/// The process that drives a run: another may take over when it is gone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driver {
    /// The machine.
    pub host: String,
    /// The process on it.
    pub process: u32,
    /// When that process began, as the machine tells it: process numbers come again.
    pub started: u64,
}

/// What a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// How often the model may be asked.
    pub iterations: u32,
    /// How many tokens may be charged for, the cached ones included.
    pub tokens: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterations: 50, tokens: None }
    }
}

/// What a run took, summed over its requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Tokens of the requests, the cached ones included.
    pub input: u64,
    /// Those of them the provider had cached.
    pub cached: u64,
    /// Tokens of the answers.
    pub output: u64,
}

impl Totals {
    /// Returns all tokens.
    pub fn all(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    fn add(&mut self, usage: &Usage) {
        self.input = self.input.saturating_add(usage.input);
        self.cached = self.cached.saturating_add(usage.cached);
        self.output = self.output.saturating_add(usage.output);
    }
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The model is to be asked.
    Asking,
    /// Its calls are being answered.
    Acting(Calls),
    /// Its last message is to be written.
    Closing {
        /// The message; none when there is nothing to write.
        message: Option<Message>,
        /// How the run ends.
        ending: Ending,
    },
    /// The exchange is to be recorded in the main session.
    Publishing {
        /// The answer.
        text: String,
        /// How the run ends.
        ending: Ending,
    },
    /// It is over.
    Ended {
        /// The answer.
        text: String,
        /// How it ended.
        ending: Ending,
    },
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// With an answer.
    Answered,
    /// With an answer that the model's own limit cut short.
    CutShort,
    /// At one of its limits, in words.
    Limit(String),
    /// Because the model kept doing the same, or nothing, in words.
    Stuck(String),
    /// Because the provider refused to answer, in its words.
    Refused(String),
    /// Because somebody stopped it.
    Stopped,
    /// Not yet: calls wait for an approval. No run is stored with this ending.
    Waiting,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next<'a> {
    /// Ask the model, then tell [`Run::answered`].
    Ask,
    /// Store the run with this call begun ([`Run::begin_call`]), call the tool, then tell
    /// [`Run::called`].
    Call(&'a ToolCall),
    /// Tell [`Run::called`] that this call was denied, in these words.
    Refuse(&'a ToolCall, String),
    /// Nothing before somebody has answered what [`Run::waiting`] returns: leave the run.
    Wait,
    /// Write these messages to the turn and tell [`Run::appended`], stored in the same step.
    Append(Vec<Message>),
    /// Record the exchange in the main session and tell [`Run::published`], stored in the same step.
    Publish(Vec<Message>),
    /// Nothing: it is over.
    Done,
}

impl Run {
    /// Returns what to do next.
    pub fn next(&self) -> Next<'_> {
        match &self.phase {
            Phase::Asking => Next::Ask,
            Phase::Acting(calls) if calls.waiting().next().is_some() => Next::Wait,
            Phase::Acting(calls) => match (calls.open(), calls.open_state()) {
                (Some(call), Some(CallState::Decided(approval))) => match approval.refusal() {
                    Some(refusal) => Next::Refuse(call, refusal),
                    None => Next::Call(call),
                },
                (Some(call), _) => Next::Call(call),
                (None, _) => Next::Append(calls.exchange()),
            },
            Phase::Closing { message, .. } => Next::Append(message.iter().cloned().collect()),
            Phase::Publishing { text, .. } => Next::Publish(self.published_messages(text)),
            Phase::Ended { .. } => Next::Done,
        }
    }

    /// Tells why the model must not be asked again, where a limit is reached: the run then closes.
    pub fn stop_at_limit(&mut self) -> bool {
        let limit = if self.iterations >= self.limits.iterations {
            format!("the model was asked {} times, the limit of this run", self.iterations)
        } else if let Some(most) = self.limits.tokens.filter(|most| self.used.all() >= *most) {
            format!("the run used {} tokens, and its limit is {most}", self.used.all())
        } else {
            return false;
        };
        self.close(None, Ending::Limit(limit));
        true
    }

    /// Takes the model's answer.
    pub fn answered(&mut self, answer: Answer) {
        self.iterations += 1;
        if let Some(usage) = &answer.usage {
            self.used.add(usage);
        }
        let Answer { mut message, stop, .. } = answer;
        message.author = Some(self.agent.clone());
        let refused = matches!(stop, Stop::Refused(_));
        if message.tool_calls().next().is_some() && !refused {
            self.empty = 0;
            self.phase = Phase::Acting(Calls::new(message));
            return;
        }
        // What a provider took back is not acted on.
        message.parts.retain(|part| !matches!(part, Part::ToolCall(_)));
        if message.plain_text().trim().is_empty() {
            return self.answered_nothing(stop);
        }
        let ending = match stop {
            Stop::Length => Ending::CutShort,
            Stop::Refused(reason) => Ending::Refused(reason),
            Stop::End | Stop::ToolCalls => Ending::Answered,
        };
        self.close(Some(message), ending);
    }

    fn answered_nothing(&mut self, stop: Stop) {
        match stop {
            Stop::Refused(reason) => self.close(None, Ending::Refused(reason)),
            Stop::Length => self.close(None, Ending::CutShort),
            Stop::End | Stop::ToolCalls if self.empty < MOST_EMPTY => self.empty += 1,
            Stop::End | Stop::ToolCalls => {
                self.close(
                    None,
                    Ending::Stuck("the model returned an empty answer twice".to_owned()),
                );
            }
        }
    }

    /// Returns the calls that wait until somebody allows them.
    pub fn waiting(&self) -> Vec<WaitingCall<'_>> {
        match &self.phase {
            Phase::Acting(calls) => calls.waiting().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the calls that somebody decided about and that were not made yet.
    pub fn decided(&self) -> Vec<(&ToolCall, &Approval)> {
        match &self.phase {
            Phase::Acting(calls) => calls.decided().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns what was decided about the call that is next.
    pub(crate) fn open_approval(&self) -> Option<&Approval> {
        match &self.phase {
            Phase::Acting(calls) => match calls.open_state()? {
                CallState::Decided(approval) => Some(approval),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the calls that nothing has happened to yet, with their places.
    pub(crate) fn untouched(&self) -> Vec<(usize, ToolCall)> {
        match &self.phase {
            Phase::Acting(calls) => {
                calls.untouched().map(|(place, call)| (place, call.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Has a call wait until somebody allows it.
    pub(crate) fn ask_first(&mut self, place: usize, asked: AskedApproval) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.ask(place, asked);
        }
    }

    /// Takes what somebody decided about a call that waits.
    pub(crate) fn decide(&mut self, place: usize, approval: Approval) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.decide(place, approval);
        }
    }

    /// Notes that the call that is next begins: from now on it may have happened.
    pub fn begin_call(&mut self) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.begin();
        }
    }

    /// Returns the place of the call that is next among those of its answer.
    pub(crate) fn open_call(&self) -> Option<usize> {
        match &self.phase {
            Phase::Acting(calls) => calls.open_at(),
            _ => None,
        }
    }

    /// Takes how far the calls of its present answer have come, as it was kept beside it: up to which
    /// they were begun, and what some came to.
    pub(crate) fn restore(&mut self, begun: Option<usize>, states: Vec<(usize, CallState)>) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.restore(begun, states);
        }
    }

    /// Takes what the call that is next came to.
    pub fn called(&mut self, output: &ToolOutput) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.answer(output);
        }
    }

    /// Notes that what was to be appended stands in these pages.
    pub fn appended(&mut self, pages: Vec<PageIndex>) {
        for page in pages {
            if self.pages.last() != Some(&page) {
                self.pages.push(page);
            }
        }
        match std::mem::replace(&mut self.phase, Phase::Asking) {
            Phase::Acting(_) if self.stopping => self.close(None, Ending::Stopped),
            Phase::Acting(calls) => self.note_repeats(&calls),
            Phase::Closing { message, ending } => {
                let text = message.map(|message| message.plain_text()).unwrap_or_default();
                // Half an answer that somebody stopped is no result.
                let whole = matches!(ending, Ending::Answered | Ending::CutShort);
                self.phase = if self.publishes && whole && !text.is_empty() {
                    Phase::Publishing { text, ending }
                } else {
                    Phase::Ended { text, ending }
                };
            }
            other => self.phase = other,
        }
    }

    /// Notes that the exchange stands in the main session.
    pub fn published(&mut self) {
        if let Phase::Publishing { text, ending } = &self.phase {
            self.phase = Phase::Ended { text: text.clone(), ending: ending.clone() };
        }
    }

    /// Stops it and keeps what there is: open calls are answered as interrupted, what the model had
    /// said so far is written.
    pub fn stop(&mut self, said: &str) {
        self.stopping = true;
        match &mut self.phase {
            Phase::Acting(calls) => calls.interrupt_all(),
            Phase::Asking if said.trim().is_empty() => self.close(None, Ending::Stopped),
            Phase::Asking => {
                let mut message = Message::text(Role::Assistant, said);
                message.author = Some(self.agent.clone());
                self.close(Some(message), Ending::Stopped);
            }
            Phase::Closing { .. } | Phase::Publishing { .. } | Phase::Ended { .. } => {}
        }
    }

    /// Takes it over after a crash: a call that may have happened and changes the world is answered
    /// as interrupted, any other is made again.
    pub fn resume(&mut self, driver: Driver, effect: impl Fn(&str) -> Effect) {
        self.driver = Some(driver);
        if let Phase::Acting(calls) = &mut self.phase {
            calls.interrupt_begun(|name| effect(name) == Effect::Reads);
        }
    }

    fn close(&mut self, message: Option<Message>, ending: Ending) {
        self.phase = Phase::Closing { message, ending };
    }

    /// Counts how often the same calls brought the same results, and stops when it is too often.
    fn note_repeats(&mut self, calls: &Calls) {
        let fingerprint = calls.fingerprint();
        let times = if self.repeated.0 == fingerprint { self.repeated.1 + 1 } else { 1 };
        self.repeated = (fingerprint, times);
        if times >= MOST_REPEATS {
            let names = calls.names();
            let what = format!("{names} was called {times} times in a row with the same result");
            self.close(None, Ending::Stuck(what));
        }
    }

    fn published_messages(&self, text: &str) -> Vec<Message> {
        // Others will read it who were not there when the agent found it.
        let mut answer = Message::text(Role::Assistant, CommonSecrets.redact(text).into_owned());
        answer.author = Some(self.agent.clone());
        vec![Message::text(Role::User, self.prompt.clone()), answer]
    }

    /// Returns the text of the answer so far.
    pub fn text(&self) -> String {
        match &self.phase {
            Phase::Publishing { text, .. } | Phase::Ended { text, .. } => text.clone(),
            Phase::Closing { message: Some(message), .. } => message.plain_text(),
            Phase::Acting(calls) => calls.message().plain_text(),
            Phase::Asking | Phase::Closing { message: None, .. } => String::new(),
        }
    }

    /// Returns how it ended, once it has.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Ended { ending, .. } => Some(ending),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
