//! The gauge: what a policy's windows cost and hold, call by call.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use serde_json::Value;

use super::{
    ready::Readings,
    talk::tokens,
    words::{add_lines, add_runs, plain, texts, within},
};
use crate::economy::record::{Recorded, Recording};

/// Sums over the calls of a policy.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    pub(super) cost: f64,
    pub(super) calls: u64,
    /// Calls whose window holds the open request.
    pub(super) request: u64,
    /// The shares of what was asked that stand.
    pub(super) asked: f64,
    /// Runs of words the answers take from anything earlier.
    pub(super) needed: u64,
    /// Those of them that stand in the window.
    pub(super) reused: u64,
    /// Runs that stood in results alone.
    pub(super) needed_results: u64,
    pub(super) reused_results: u64,
    /// Lines of the latest readings of files that the answers write.
    pub(super) edited: u64,
    /// Those of them that stand in the window.
    pub(super) ready: u64,
    pub(super) folds: u64,
    /// The fullest window, as a share of the budget.
    pub(super) fullest: f64,
}

impl Sums {
    pub(super) fn plus(mut self, other: &Self) -> Self {
        self.cost += other.cost;
        self.calls += other.calls;
        self.request += other.request;
        self.asked += other.asked;
        self.needed += other.needed;
        self.reused += other.reused;
        self.needed_results += other.needed_results;
        self.reused_results += other.reused_results;
        self.edited += other.edited;
        self.ready += other.ready;
        self.folds += other.folds;
        self.fullest = self.fullest.max(other.fullest);
        self
    }
}

/// Fed message by message, and asked before every call of the model.
pub(super) struct Gauge {
    budget: u64,
    only_first: bool,
    /// Runs of all that was said, and of what was said by others than tools.
    said: HashSet<u64>,
    said_by_others: HashSet<u64>,
    /// What the user asked, as plain words.
    asked: Vec<String>,
    readings: Readings,
    before: Vec<Rc<str>>,
    known: HashMap<Rc<str>, Rc<Read>>,
    sums: Sums,
}

/// What a line of a window says.
struct Read {
    plain: String,
    runs: HashSet<u64>,
    lines: HashSet<u64>,
}

impl Gauge {
    pub(super) fn new(recording: &Recording, budget: u64) -> Self {
        Self {
            budget,
            only_first: recording.only_first_asks(),
            said: HashSet::new(),
            said_by_others: HashSet::new(),
            asked: Vec::new(),
            readings: Readings::new(recording.only_first_asks()),
            before: Vec::new(),
            known: HashMap::new(),
            sums: Sums::default(),
        }
    }

    /// Takes in a message.
    pub(super) fn hear(&mut self, message: &Recorded) {
        self.readings.hear(message);
        let mut runs = HashSet::new();
        add_all(message, &mut runs);
        let text = plain(message.content());
        let is_user = message.role == "user";
        let is_result =
            message.role == "tool" || (is_user && self.only_first && !self.asked.is_empty());
        if !is_result {
            self.said_by_others.extend(&runs);
        }
        self.said.extend(runs);
        if is_user && !is_result && !text.is_empty() {
            self.asked.push(text);
        }
    }

    /// Takes a window into the sums, and what the model answers to it.
    pub(super) fn take(&mut self, window: &[Rc<str>], answer: &Recorded) {
        self.sums.cost += charge(&self.before, window);
        let total = tokens(window);
        self.sums.fullest = self.sums.fullest.max(total / self.budget as f64);
        self.before = window.to_vec();
        if self.asked.is_empty() {
            return;
        }
        let read: Vec<Rc<Read>> = window.iter().map(|line| self.read(line)).collect();
        let shown: Vec<&str> = read.iter().map(|read| read.plain.as_str()).collect();
        let shown = shown.join(" ");
        self.sums.calls += 1;
        let open = self.asked.last().map_or("", |open| first(open, 400));
        self.sums.request += u64::from(shown.contains(open));
        let length = |asked: &&String| asked.chars().count() as f64;
        let stands = |asked: &&String| shown.contains(first(asked, 1_500));
        let all: f64 = self.asked.iter().map(|asked| length(&asked)).sum();
        self.sums.asked +=
            self.asked.iter().filter(stands).map(|it| length(&it)).sum::<f64>() / all;
        let mut needed = HashSet::new();
        add_all(answer, &mut needed);
        for run in needed.intersection(&self.said) {
            let stands = u64::from(read.iter().any(|read| read.runs.contains(run)));
            self.sums.needed += 1;
            self.sums.reused += stands;
            if !self.said_by_others.contains(run) {
                self.sums.needed_results += 1;
                self.sums.reused_results += stands;
            }
        }
        for lines in self.readings.about_to_change(answer) {
            let stands = |line: &&u64| read.iter().any(|read| read.lines.contains(*line));
            self.sums.edited += lines.len() as u64;
            self.sums.ready += lines.iter().filter(stands).count() as u64;
        }
    }

    pub(super) fn finish(mut self, folds: u64) -> Sums {
        self.sums.folds = folds;
        self.sums
    }

    fn read(&mut self, line: &Rc<str>) -> Rc<Read> {
        if let Some(read) = self.known.get(line) {
            return read.clone();
        }
        let mut words = Vec::new();
        let (mut runs, mut lines) = (HashSet::new(), HashSet::new());
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        texts(&message, &mut |text| {
            words.push(plain(text));
            add_runs(text, &mut runs);
            add_lines(text, &mut lines);
        });
        // A file that is JSON was read as it is written.
        add_lines(message["content"].as_str().unwrap_or_default(), &mut lines);
        let read = Rc::new(Read { plain: words.join(" "), runs, lines });
        self.known.insert(line.clone(), read.clone());
        read
    }
}

/// Adds the runs of what a message says and calls with.
fn add_all(message: &Recorded, runs: &mut HashSet<u64>) {
    within(message.content(), &mut |text| add_runs(text, runs));
    for call in message.calls() {
        within(&call.arguments, &mut |text| add_runs(text, runs));
    }
}

/// Returns the first characters of a text.
fn first(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

/// Returns what a request costs after the one before.
fn charge(before: &[Rc<str>], now: &[Rc<str>]) -> f64 {
    let mut same = 0.0;
    for (old, new) in before.iter().zip(now) {
        if old == new {
            same += new.len() as f64 / 4.0;
            continue;
        }
        let common = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        same += common as f64 / 4.0;
        break;
    }
    let cached = if same >= 1_024.0 { (same / 128.0).floor() * 128.0 } else { 0.0 };
    0.1 * cached + 1.25 * (tokens(now) - cached)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_cached_in_steps_from_a_thousand_tokens() {
        let lines: [Rc<str>; 2] = ["x".repeat(4_000).into(), "y".repeat(400).into()];
        assert_eq!(charge(&[], &lines[..1]), 1_250.0);
        // A thousand tokens are too few.
        assert_eq!(charge(&lines[..1], &lines), 1_375.0);
        let cached = 1_024.0;
        assert_eq!(charge(&lines, &lines), 0.1 * cached + 1.25 * (1_100.0 - cached));
    }
}
