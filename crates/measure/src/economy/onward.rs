//! Can an agent go on from its window? Recorded sessions are replayed, and before every message of the
//! model each policy gives its window.
//!
//! ```text
//!  cost      longest common prefix with the request before, from 1,024 tokens in steps of 128, at 0.1;
//!            the rest at 1.25; the sliding window is 1
//!  request   calls whose window holds the open request word for word (its first 400 characters)
//!  asked     share of what the user has said so far that stands in the window
//!  reused    of the runs of eight words that the model's next message takes from anything earlier, the
//!            share that stands in the window
//!  results   the same of runs that stood in results of tools alone
//!  ready     of the lines of the latest reading of each file that the model's next message writes, the
//!            share that stands in the window
//! ```
//!
//! A token is four bytes of JSON: only ratios matter. Sessions of 1.5 budgets and more are replayed.

mod baseline;
mod files;
mod gauge;
mod ours;
mod ready;
mod shell;
mod table;
mod talk;
mod words;

use std::io::Write;

use contexture_core::window::FoldShares;

use self::{
    baseline::{FoldOldest, Sliding},
    gauge::{Gauge, Sums},
    ours::Ours,
    talk::Talk,
};
use super::{
    Args, parallel,
    record::{Recording, SINGLE},
};
use crate::data::Session;

/// A way of keeping a conversation within a budget.
trait Policy {
    /// Returns the window before a call to the model: a message of JSON each.
    fn window(&mut self, talk: &mut Talk<'_>) -> anyhow::Result<Vec<std::rc::Rc<str>>>;

    /// Returns how often it rewrote the window on purpose.
    fn folds(&self) -> u64;
}

/// The policies, in the order they are shown. The first is what all are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Sliding,
    /// Folds the oldest to a share of the budget; requests and lines of turns may be kept.
    Fold(f64, bool),
    Ours,
}

impl Kind {
    const ALL: [Self; 8] = [
        Self::Sliding,
        Self::Fold(0.3, false),
        Self::Fold(0.3, true),
        Self::Fold(0.5, false),
        Self::Fold(0.5, true),
        Self::Fold(0.7, false),
        Self::Fold(0.7, true),
        Self::Ours,
    ];

    fn name(self) -> String {
        match self {
            Self::Sliding => "sliding window".to_owned(),
            Self::Fold(low, false) => format!("fold oldest to {low}"),
            Self::Fold(low, true) => format!("fold oldest to {low}, requests and lines"),
            Self::Ours => "ours".to_owned(),
        }
    }
}

/// Measures and writes a table for each kind of sessions.
pub(super) fn write(
    args: &Args,
    recordings: &[Recording],
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let is_wanted = |kind: &Kind| *kind == Kind::Sliding || args.wants(&kind.name());
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(is_wanted).collect();
    for single in [true, false] {
        let mut rows = Vec::new();
        for &budget in &args.budgets {
            let of_kind = recordings.iter().filter(|it| it.is_single() == single);
            let long = of_kind.filter(|it| it.tokens() * 2 >= budget * 3).collect();
            let chosen = args.sample(long);
            let mut measured = Vec::new();
            for &kind in &kinds {
                let sums = parallel::map(&chosen, |recording| {
                    measure(kind, recording, budget, args.shares.shares())
                })?;
                measured.push((kind.name(), sums.iter().fold(Sums::default(), Sums::plus)));
            }
            rows.push((budget, chosen.len(), measured));
        }
        if rows.iter().any(|(_, sessions, _)| *sessions > 0) {
            let title = if single { SINGLE } else { "sessions with many requests" };
            table::write(out, title, &rows)?;
        }
    }
    Ok(())
}

fn measure(
    kind: Kind,
    recording: &Recording,
    budget: u64,
    shares: FoldShares,
) -> anyhow::Result<Sums> {
    let session;
    let mut policy: Box<dyn Policy + '_> = match kind {
        Kind::Sliding => Box::new(Sliding::new(budget)),
        Kind::Fold(low, lines) => Box::new(FoldOldest::new(budget, low, lines)),
        Kind::Ours => {
            session = Session::parse(&recording.line)?;
            Box::new(Ours::new(&session, budget, shares)?)
        }
    };
    let mut talk = Talk::new(recording);
    let mut gauge = Gauge::new(recording, budget);
    while talk.next_call() {
        for message in talk.said_since() {
            gauge.hear(message);
        }
        let window = policy.window(&mut talk)?;
        gauge.take(&window, talk.answer());
    }
    Ok(gauge.finish(policy.folds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session of one request and many commands, whose results are user messages.
    fn recording() -> Recording {
        let mut messages = vec![r#"{"role":"system","content":"rules"}"#.to_owned()];
        messages
            .push(r#"{"role":"user","content":"mend the parser and touch nothing else"}"#.into());
        for n in 0..60 {
            let script = format!("word_{n} ").repeat(80);
            messages.push(format!(r#"{{"role":"assistant","content":"run {script}"}}"#));
            let result = format!("result_{n} ").repeat(80);
            messages.push(format!(r#"{{"role":"user","content":"{result}","observation":true}}"#));
        }
        let script = "word_3 ".repeat(20);
        messages.push(format!(r#"{{"role":"assistant","content":"{script}"}}"#));
        let (stats, messages) = (r#"{"tokens_o200k":20000}"#, messages.join(","));
        let line = format!(r#"{{"session_id":"s","stats":{stats},"messages":[{messages}]}}"#);
        Recording::parse(line).unwrap()
    }

    #[test]
    fn every_policy_is_measured_by_the_same_rule() {
        let recording = recording();
        let sums = |kind| measure(kind, &recording, 4_000, FoldShares::default()).unwrap();
        let sliding = sums(Kind::Sliding);
        assert_eq!((sliding.calls, sliding.folds), (61, 0));
        assert!(sliding.request < 61 && sliding.fullest <= 1.0, "{sliding:?}");
        let kept = sums(Kind::Fold(0.5, true));
        assert_eq!(kept.request, 61);
        assert!(kept.cost < sliding.cost && kept.folds > 0, "{kept:?}");
        // The last answer repeats what only the oldest exchanges said.
        assert!(kept.needed > 0 && kept.reused < kept.needed, "{kept:?}");
        let ours = sums(Kind::Ours);
        assert_eq!((ours.calls, ours.needed), (61, kept.needed));
    }

    #[test]
    fn lines_of_a_file_are_ready_while_they_stand() {
        let mut messages = vec![r#"{"role":"user","content":"mend the parser"}"#.to_owned()];
        let mut call = |name: &str, result: &str| {
            let id = messages.len();
            let arguments = r#""{\"path\": \"a.json\"}""#;
            let call = format!(r#"{{"id":"{id}","name":"{name}","arguments":{arguments}}}"#);
            messages.push(format!(r#"{{"role":"assistant","tool_calls":[{call}]}}"#));
            let result = serde_json::json!(result);
            let id = format!(r#""tool_call_id":"{id}""#);
            messages.push(format!(r#"{{"role":"tool",{id},"content":{result}}}"#));
        };
        call("read", "{\n  \"first\": \"of them\",\n  \"second\": \"of them\"\n}");
        call("edit", "done");
        call("list", &"something else\n".repeat(200));
        call("edit", "done");
        let (stats, messages) = (r#"{"tokens_o200k":20000}"#, messages.join(","));
        let line = format!(r#"{{"session_id":"s","stats":{stats},"messages":[{messages}]}}"#);
        let recording = Recording::parse(line).unwrap();
        let ready = |budget: u64| {
            let sums = measure(Kind::Sliding, &recording, budget, FoldShares::default()).unwrap();
            (sums.ready, sums.edited)
        };
        // Two lines before each of two edits; a small window has lost them before the second.
        assert_eq!(ready(100_000), (4, 4));
        assert_eq!(ready(800), (2, 4));
    }
}
