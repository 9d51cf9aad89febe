//! The engine itself as a policy.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use contexture_core::{ProviderFormat, TokenCounter, Tokens, WindowOptions, window::FoldShares};
use futures::executor::block_on;

use super::{
    Policy,
    talk::{Talk, line},
};
use crate::{
    data::Session,
    replay::{Replay, options},
};

/// The engine as a policy.
pub(super) struct Ours<'a> {
    replay: Replay<'a>,
    options: WindowOptions,
    /// How many exchanges stand before each call to the model.
    calls: std::vec::IntoIter<usize>,
    /// How many there are in all.
    all: usize,
    lines: HashMap<String, Rc<str>>,
    folds: u64,
}

impl<'a> Ours<'a> {
    pub(super) fn new(
        session: &'a Session,
        budget: u64,
        shares: FoldShares,
    ) -> anyhow::Result<Self> {
        let mut calls = session.calls();
        // The first message of the model answers nothing.
        calls.retain(|before| *before > 0);
        let counter: Arc<dyn TokenCounter> = Arc::new(Quarter);
        let options = options(ProviderFormat::OpenAi, &counter, budget, shares);
        let replay = block_on(Replay::begin(session))?;
        let (calls, all) = (calls.into_iter(), session.exchanges.len());
        Ok(Self { replay, options, calls, all, lines: HashMap::new(), folds: 0 })
    }
}

impl Policy for Ours<'_> {
    fn window(&mut self, talk: &mut Talk<'_>) -> anyhow::Result<Vec<Rc<str>>> {
        let before = self.calls.clone().next();
        // An answer that says nothing is no exchange: what comes next is asked for a little early.
        if !talk.answer().is_empty() {
            self.calls.next();
        }
        let before = before.unwrap_or(self.all);
        block_on(self.replay.append(before))?;
        let sent = block_on(self.replay.send(&self.options))?;
        self.folds += u64::from(sent.record.fold.is_some());
        let window = sent.window;
        let mut lines = Vec::with_capacity(window.messages.len());
        for range in window.messages {
            let json = &window.body[range];
            if !self.lines.contains_key(json) {
                let message = serde_json::from_str(json)?;
                self.lines.insert(json.to_owned(), line(&message));
            }
            lines.push(self.lines[json].clone());
        }
        Ok(lines)
    }

    fn folds(&self) -> u64 {
        self.folds
    }
}

/// Counts four bytes of a text, as JSON has it, as a token.
struct Quarter;

impl TokenCounter for Quarter {
    fn name(&self) -> &str {
        "quarter of a byte"
    }

    fn count(&self, text: &str) -> Tokens {
        let escaped =
            text.bytes().filter(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\t' | b'\r'));
        Tokens((text.len() + escaped.count()).div_ceil(4) as u64)
    }
}
