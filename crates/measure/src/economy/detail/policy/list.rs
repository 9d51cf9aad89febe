//! Sliding, clearing old results, and summing up.

use std::collections::HashSet;

use super::{Ground, Policy, line};
use crate::economy::detail::{meter::PolicyRequest, talk::Call};

/// What stands for a result that was cleared takes so many tokens.
const CLEARED: u64 = 10;

/// How many of the latest results stay.
const RESULTS_KEPT: usize = 3;

/// What a summary takes.
const SUMMARY: u64 = 1_000;

/// What a token that a model writes costs, beside one that it reads.
const OUTPUT: f64 = 5.0;

/// Drops the oldest exchanges until the rest fits.
pub(crate) struct Sliding<'a> {
    ground: &'a Ground<'a>,
    /// The first exchange that stands.
    start: usize,
}

impl<'a> Sliding<'a> {
    pub(crate) fn new(ground: &'a Ground<'a>) -> Self {
        Self { ground, start: 0 }
    }

    fn first_item(&self, call: &Call) -> usize {
        first_item(self.ground, self.start, call)
    }
}

fn first_item(ground: &Ground<'_>, exchange: usize, call: &Call) -> usize {
    ground.talk.exchanges.get(exchange).map_or(call.items, |range| range.start).min(call.items)
}

impl Policy for Sliding<'_> {
    fn request(&mut self, call: &Call) -> anyhow::Result<PolicyRequest> {
        let ground = self.ground;
        let tokens = |from: usize| ground.system() + ground.tokens(from..call.items);
        while self.start + 1 < call.exchanges && tokens(self.first_item(call)) > ground.budget {
            self.start += 1;
        }
        let mut request = ground.begin();
        ground.push(&mut request, self.first_item(call)..call.items);
        Ok(ground.fit(request))
    }
}

/// Clears all results but the latest when the window is over, and slides where that is not enough.
pub(crate) struct Clear<'a> {
    ground: &'a Ground<'a>,
    start: usize,
    cleared: HashSet<usize>,
}

impl<'a> Clear<'a> {
    pub(crate) fn new(ground: &'a Ground<'a>) -> Self {
        Self { ground, start: 0, cleared: HashSet::new() }
    }

    fn tokens(&self, call: &Call) -> u64 {
        let first = first_item(self.ground, self.start, call);
        let item = |at: usize| {
            if self.cleared.contains(&at) { CLEARED } else { self.ground.tokens(at..at + 1) }
        };
        self.ground.system() + (first..call.items).map(item).sum::<u64>()
    }
}

impl Policy for Clear<'_> {
    fn request(&mut self, call: &Call) -> anyhow::Result<PolicyRequest> {
        let ground = self.ground;
        let mut request = ground.begin();
        if self.tokens(call) > ground.budget {
            let first = first_item(ground, self.start, call);
            let results = (first..call.items).filter(|at| ground.talk.items[*at].result);
            let results: Vec<usize> = results.collect();
            let before = self.cleared.len();
            self.cleared.extend(&results[..results.len().saturating_sub(RESULTS_KEPT)]);
            request.folded = self.cleared.len() > before;
        }
        while self.start + 1 < call.exchanges && self.tokens(call) > ground.budget {
            self.start += 1;
        }
        for at in first_item(ground, self.start, call)..call.items {
            if self.cleared.contains(&at) {
                request.segments.push(line(1, at, CLEARED));
            } else {
                ground.push(&mut request, at..at + 1);
            }
        }
        Ok(ground.fit(request))
    }
}

/// Lets a model sum up all but the last two exchanges when the window is over.
pub(crate) struct Summary<'a> {
    ground: &'a Ground<'a>,
    start: usize,
    made: usize,
}

impl<'a> Summary<'a> {
    pub(crate) fn new(ground: &'a Ground<'a>) -> Self {
        Self { ground, start: 0, made: 0 }
    }
}

impl Policy for Summary<'_> {
    fn request(&mut self, call: &Call) -> anyhow::Result<PolicyRequest> {
        let ground = self.ground;
        let mut request = ground.begin();
        let first = first_item(ground, self.start, call);
        let summary = if self.made > 0 { SUMMARY } else { 0 };
        let tokens = ground.system() + summary + ground.tokens(first..call.items);
        if tokens > ground.budget && call.exchanges > self.start + 2 {
            request.extra = 0.1 * tokens as f64 + OUTPUT * SUMMARY as f64;
            request.folded = true;
            self.made += 1;
            self.start = call.exchanges - 2;
        }
        if self.made > 0 {
            request.segments.push(line(2, self.made, SUMMARY));
        }
        ground.push(&mut request, first_item(ground, self.start, call)..call.items);
        Ok(ground.fit(request))
    }
}
