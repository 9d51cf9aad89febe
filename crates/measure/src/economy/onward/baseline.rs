//! Policies that others use: sliding, and folding the oldest.

use std::rc::Rc;

use serde_json::json;

use super::{
    Policy,
    talk::{Talk, line, tokens},
};
use crate::economy::record::Recorded;

/// How much of a request stands, in characters.
const REQUEST: usize = 3_000;

/// How many exchanges of a turn its line tells of.
const FOLDED_SHOWN: usize = 6;

/// Drops the oldest groups until the rest fits.
pub(super) struct Sliding {
    budget: f64,
}

impl Sliding {
    pub(super) fn new(budget: u64) -> Self {
        Self { budget: budget as f64 }
    }
}

impl Policy for Sliding {
    fn window(&mut self, talk: &mut Talk<'_>) -> anyhow::Result<Vec<Rc<str>>> {
        let mut size = tokens(&talk.system);
        let mut from = talk.past;
        while from > 0 {
            let taken = tokens(talk.lines(from - 1));
            if from < talk.past && size + taken > self.budget {
                break;
            }
            size += taken;
            from -= 1;
        }
        let kept = (from..talk.past).flat_map(|group| talk.lines(group));
        Ok(talk.system.iter().chain(kept).cloned().collect())
    }

    fn folds(&self) -> u64 {
        0
    }
}

/// When over budget, folds the oldest groups until the window is down to a share of it. What the user
/// asked and a line for each turn may stay.
pub(super) struct FoldOldest {
    budget: f64,
    low: f64,
    lines: bool,
    start: usize,
    folds: u64,
}

impl FoldOldest {
    pub(super) fn new(budget: u64, low: f64, lines: bool) -> Self {
        Self { budget: budget as f64, low, lines, start: 0, folds: 0 }
    }

    fn render(&self, talk: &Talk<'_>) -> Vec<Rc<str>> {
        let mut window = talk.system.clone();
        let mut folded: Vec<String> = Vec::new();
        let flush = |folded: &mut Vec<String>, window: &mut Vec<Rc<str>>| {
            if !folded.is_empty() {
                let last = &folded[folded.len().saturating_sub(FOLDED_SHOWN)..];
                let text = format!("[folded] {}", last.join(" | "));
                window.push(line(&json!({ "role": "user", "content": text })));
                folded.clear();
            }
        };
        for group in 0..if self.lines { self.start } else { 0 } {
            let first = talk.first(group);
            if first.role == "user" {
                if talk.asks(group) {
                    flush(&mut folded, &mut window);
                    let text: String = first.content().chars().take(REQUEST).collect();
                    window.push(line(&json!({ "role": "user", "content": text })));
                }
                continue;
            }
            folded.push(said(first));
        }
        flush(&mut folded, &mut window);
        window.extend((self.start..talk.past).flat_map(|group| talk.lines(group)).cloned());
        window
    }
}

/// Returns the end of what a message says, and the beginning of its calls.
fn said(message: &Recorded) -> String {
    let calls: Vec<String> = message
        .calls()
        .iter()
        .map(|call| {
            let arguments: String = call.arguments.chars().take(80).collect();
            format!("{} {arguments}", call.name)
        })
        .collect();
    let calls: String = calls.join(" ").chars().take(120).collect();
    let content = message.content().trim();
    let from = content.chars().count().saturating_sub(160);
    let end: String = content.chars().skip(from).collect();
    format!("{end} {calls}").trim().to_owned()
}

impl Policy for FoldOldest {
    fn window(&mut self, talk: &mut Talk<'_>) -> anyhow::Result<Vec<Rc<str>>> {
        let mut window = self.render(talk);
        if tokens(&window) > self.budget {
            self.folds += 1;
            while self.start + 1 < talk.past && tokens(&window) > self.low * self.budget {
                self.start += 1;
                window = self.render(talk);
            }
        }
        Ok(window)
    }

    fn folds(&self) -> u64 {
        self.folds
    }
}
