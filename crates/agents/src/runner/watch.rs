//! Who watches a run, and how it is stopped.

use std::time::Duration;

use contexture_core::{Actor, window::FoldReport};
use tokio::sync::watch;

use super::Summarized;
use crate::tools::Question;

/// Is told what happens in a run (M-10: `onToolCall`, `onToolResult`).
pub trait Watcher: Send {
    /// A piece of the answer's text.
    fn text(&mut self, _piece: &str) {}

    /// A piece of the model's reasoning.
    fn thinking(&mut self, _piece: &str) {}

    /// A tool is about to be called.
    fn tool_call(&mut self, _name: &str, _arguments: &str) {}

    /// A tool has answered.
    fn tool_result(&mut self, _name: &str, _result: &str, _error: bool) {}

    /// Asks whether a call may be made that somebody has to allow. A call about which nobody answers
    /// waits in the run's record.
    fn approves(&mut self, _question: &Question) -> Verdict {
        Verdict::Unanswered
    }

    /// Returns who answers [`Watcher::approves`], for the record.
    fn answers_as(&self) -> Actor {
        Actor::System
    }

    /// A request failed and is sent again; the text told since the last call is void.
    fn retry(&mut self, _reason: &str, _wait: Duration) {}

    /// A fold was taken before a request.
    fn folded(&mut self, _report: &FoldReport) {}

    /// Lines of folded turns were asked for.
    fn summarized(&mut self, _done: &Summarized) {}

    /// A request was answered: how full the window is, and what of it was cached.
    fn asked(&mut self, _tokens: u64, _budget: u64, _cached: u64) {}

    /// Something else worth knowing.
    fn notice(&mut self, _text: &str) {}
}

/// What somebody says about a call that they are asked to allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may be made.
    Allowed,
    /// It may not.
    Denied,
    /// Nobody is there to answer now.
    Unanswered,
}

/// Watches nothing, and answers no question.
#[derive(Debug, Clone, Copy)]
pub struct Quiet;

impl Watcher for Quiet {}

/// Stops runs: what there is is kept.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Says whether a run is to stop.
#[derive(Debug, Clone)]
pub struct StopSignal(watch::Receiver<bool>);

/// Makes a stopper and its signal.
pub fn stop_signal() -> (Stopper, StopSignal) {
    let (sender, receiver) = watch::channel(false);
    (Stopper(sender), StopSignal(receiver))
}

impl Stopper {
    /// Stops the run.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl StopSignal {
    /// Tells whether the run is to stop.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is; for ever where nobody can stop it any more.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
