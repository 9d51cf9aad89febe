//! Counters: a tokenizer, and whether it is the model's own.

use std::sync::Arc;

use contexture_core::{TokenCounter, Tokens};

use crate::Tokenizer;

/// Counts with the model's own tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactCounter(Tokenizer);

impl ExactCounter {
    /// Makes a counter; the vocabulary is loaded at the first count.
    pub fn new(tokenizer: Tokenizer) -> Self {
        Self(tokenizer)
    }
}

impl TokenCounter for ExactCounter {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> Tokens {
        self.0.count(text)
    }
}

/// Counts with a tokenizer that stands in for the model's own, which is not public.
///
/// Its name and counts are those of the tokenizer, so they are kept once for all models counted with
/// it. [`Calibration`](contexture_core::window::Calibration) makes the model's tokens
/// of them and says how far off they may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EstimatedCounter(Tokenizer);

impl EstimatedCounter {
    /// Makes a counter; the vocabulary is loaded at the first count.
    pub fn new(tokenizer: Tokenizer) -> Self {
        Self(tokenizer)
    }
}

impl TokenCounter for EstimatedCounter {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> Tokens {
        self.0.count(text)
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// Returns the counter for a model, or for a tokenizer by its name.
///
/// Known models of OpenAI get their own tokenizer, all others `o200k_base` as an estimate.
pub fn counter_for(model_or_tokenizer: &str) -> Arc<dyn TokenCounter> {
    match Tokenizer::of(model_or_tokenizer) {
        Some(tokenizer) => Arc::new(ExactCounter::new(tokenizer)),
        None => Arc::new(EstimatedCounter::new(Tokenizer::O200kBase)),
    }
}
