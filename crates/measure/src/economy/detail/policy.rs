//! Policies that others use, as plain operations on a list of messages.
//!
//! All of them cut a message larger than a quarter of the budget to head and tail, keep the system
//! prompt, and never exceed the budget.

mod fold;
mod list;

use std::{ops::Range, rc::Rc};

use contexture_core::{TokenCounter, window::MESSAGE_OVERHEAD};

pub(crate) use fold::Fold;
pub(crate) use list::{Clear, Sliding, Summary};

use super::{
    charge::Block,
    meter::{PolicyRequest, Segment, Shown},
    talk::{Call, Talk},
};

/// A way of keeping a conversation within a budget.
pub(crate) trait Policy {
    /// Returns the request at a call to the model. Calls come in order.
    fn request(&mut self, call: &Call) -> anyhow::Result<PolicyRequest>;
}

/// The share of the budget beyond which a message is cut.
const LARGEST: u64 = 4;

/// What the line between head and tail is taken to cost.
const CUT_LINE: u64 = 40;

/// A session under a budget: its messages as every policy shows them.
pub(crate) struct Ground<'a> {
    pub(crate) talk: &'a Talk,
    pub(crate) budget: u64,
    segments: Vec<Rc<Segment>>,
    /// What all messages before each take.
    sums: Vec<u64>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(talk: &'a Talk, budget: u64, counter: &dyn TokenCounter) -> Self {
        let mut segments = Vec::new();
        let mut sums = vec![0];
        for at in 0..talk.items.len() {
            let segment = segment(talk, at, budget / LARGEST, counter);
            sums.push(sums[at] + segment.block.tokens);
            segments.push(Rc::new(segment));
        }
        Self { talk, budget, segments, sums }
    }

    /// Returns what messages take together.
    fn tokens(&self, range: Range<usize>) -> u64 {
        self.sums[range.end] - self.sums[range.start]
    }

    /// Returns what the system prompt takes.
    fn system(&self) -> u64 {
        self.sums[self.talk.system]
    }

    fn share(&self, thousandths: u64) -> u64 {
        self.budget * thousandths / 1_000
    }

    fn push(&self, request: &mut PolicyRequest, range: Range<usize>) {
        request.segments.extend_from_slice(&self.segments[range]);
    }

    /// Begins a request with the system prompt, and a breakpoint behind it.
    fn begin(&self) -> PolicyRequest {
        let mut request = PolicyRequest::default();
        self.push(&mut request, 0..self.talk.system);
        request.marks.push(request.segments.len());
        request
    }

    /// Drops the oldest messages of a request that is still over its budget.
    fn fit(&self, mut request: PolicyRequest) -> PolicyRequest {
        let system = self.talk.system;
        let mut total: u64 = request.segments.iter().map(|it| it.block.tokens).sum();
        while total > self.budget && request.segments.len() > system {
            total -= request.segments.remove(system).block.tokens;
            request.marks = vec![system];
        }
        request
    }
}

/// Returns a line of a policy: what stands for messages that do not stand.
fn line(kind: u64, number: usize, tokens: u64) -> Rc<Segment> {
    let key = (kind << 32 | number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let block = Block { key, tokens };
    Rc::new(Segment { block, detail: 0, shown: Shown::Other("".into()) })
}

/// Returns a message, cut to head and tail where it takes more than the limit.
fn segment(talk: &Talk, at: usize, limit: u64, counter: &dyn TokenCounter) -> Segment {
    let item = &talk.items[at];
    if item.tokens <= limit || at < talk.system {
        let block = Block { key: at as u64, tokens: item.tokens };
        return Segment { block, detail: item.tokens, shown: Shown::Whole(item.text) };
    }
    let text = &talk.texts[item.text];
    let share = limit.saturating_sub(CUT_LINE) as f64 / 2.0 / item.tokens as f64;
    let half = (text.len() as f64 * share) as usize;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let shown = format!("{head}\n[... cut ...]\n{tail}");
    let tokens = (counter.count(&shown).0 + MESSAGE_OVERHEAD).min(limit);
    let block = Block { key: at as u64, tokens };
    Segment { block, detail: tokens, shown: Shown::Cut(item.text, shown.into()) }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
