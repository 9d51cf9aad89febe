//! Model providers: OpenAI-compatible chat completions, Anthropic and Gemini behind one [`Model`].
//!
//! ```text
//!  "openai/gpt-4o" ──► resolve ──► Endpoint ──► connect ──► Model
//!                      (pure)                                │
//!   window ──► body ──► client: send, retry, time out ◄──────┘
//!                          │
//!            sse ──► openai · anthropic · gemini ──► redact ──► Answer
//! ```
//!
//! A window goes out byte for byte as the core rendered it; only what stands around it is written
//! here. A plain answer is read by the code that reads streams, so both come to the same message.
//! An answer's origin names the format as its provider and [`Model::name`] as its model: ask the
//! core for windows of that model, and what the model keeps to itself goes back to it.
//!
//! Deliberately absent: the environment, which comes in as a function; the Responses API; pictures
//! that models make.

mod anthropic;
mod body;
mod client;
mod embeddings;
mod failure;
mod gemini;
mod json;
mod key;
mod local;
mod openai;
mod patience;
mod read;
mod redact;
mod resolve;
mod sse;
mod trust;

use std::{sync::Arc, time::Duration};

pub use embeddings::{connect_embeddings, no_embeddings, resolve_embeddings};
pub use key::Key;
pub use local::{
    LOCAL_PLACES, LocalPlace, LocalServer, explain, explains, local_servers, look_for,
};
pub use resolve::{Endpoint, ProviderKind, ProviderSettings, resolve};
pub use trust::resolve_trusted;

use crate::model::Model;

/// Connects to a model. Nothing is sent before it is asked.
pub fn connect(endpoint: Endpoint, timeouts: Timeouts, retry: Retry) -> Arc<dyn Model> {
    Arc::new(client::Client::new(endpoint, timeouts, retry))
}

/// How long to wait for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// For a stream to say something: comments that keep it alive do not count.
    pub first_byte: Duration,
    /// For more of an answer that has begun.
    pub idle: Duration,
    /// For an answer that is not streamed to begin, for it begins when the model is done; and for a
    /// stream to say something new.
    pub plain: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            plain: Duration::from_secs(600),
        }
    }
}

/// How often and when a failed request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How often a request is sent at most.
    pub attempts: u32,
    /// The wait before the second attempt; it doubles with each.
    pub first: Duration,
    /// The longest wait. A provider that asks for more is not waited for.
    pub longest: Duration,
    /// Spreads the waits of those who failed together: give each its own.
    pub seed: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 4,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(60),
            seed: 0,
        }
    }
}

impl Retry {
    /// Returns how long to wait after the attempt of that number, counted from 1.
    pub fn wait(&self, attempt: u32) -> Duration {
        let doubled = self.first.saturating_mul(1 << attempt.saturating_sub(1).min(16));
        // Between three and five quarters of it, by a hash of seed and attempt.
        let mut hash =
            self.seed.wrapping_add(u64::from(attempt)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let thousandths = 750 + (hash >> 33) % 500;
        let spread = doubled.saturating_mul(thousandths as u32) / 1_000;
        spread.min(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_spread_and_end() {
        let retry = Retry::default();
        for attempt in 1..20 {
            let whole = Duration::from_millis(500) * (1 << (attempt - 1).min(16));
            let wait = retry.wait(attempt);
            assert!(wait >= (whole * 3 / 4).min(retry.longest), "{attempt}: {wait:?}");
            assert!(wait <= (whole * 5 / 4).min(retry.longest), "{attempt}: {wait:?}");
            assert_eq!(wait, retry.wait(attempt));
        }
        assert_ne!(retry.wait(1), Retry { seed: 1, ..retry }.wait(1));
        assert_eq!(retry.wait(u32::MAX), retry.longest);
    }
}
