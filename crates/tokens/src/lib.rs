//! Token counters: the tokenizers behind [`TokenCounter`](contexture_core::TokenCounter).
//!
//! Two vocabularies are built in, OpenAI's `o200k_base` and `cl100k_base`. They are read from the
//! binary at the first count, once per process, in about a tenth of a second, and shared by all
//! threads; nothing is downloaded.
//!
//! ```text
//!  model ──► counter_for ──► ExactCounter       its own tokenizer    ┐
//!                       └──► EstimatedCounter   o200k_base, as it is ┴─► kept by the tokenizer's name
//!                                                                          │
//!                                         Calibration (core) ◄── usage ── provider
//!                                         factor and error: counted ──► the model's own tokens
//! ```
//!
//! A counter only counts; it never multiplies. So counts kept by a tokenizer's name serve every model
//! that is counted with it, and stay true when a model's factor moves. The factor and its error are
//! in [`Calibration`](contexture_core::window::Calibration).
//!
//! Counts are kept by the storage. [`KeptCounter`] looks there first, for processes that are over sooner
//! than a vocabulary is loaded.
//!
//! ```
//! use contexture_core::{Tokens, window::Calibration};
//! use contexture_tokens::counter_for;
//!
//! let counter = counter_for("openai/gpt-4o");
//! assert_eq!((counter.name(), counter.is_exact()), ("o200k_base", true));
//! assert_eq!(counter.count("hello world"), Tokens(2));
//! // Text is text: nothing in it becomes a control token.
//! assert_eq!(counter.count("<|endoftext|>"), Tokens(7));
//!
//! // Claude's tokenizer is not public: counted the same, then calibrated.
//! let counter = counter_for("claude-opus-4-6");
//! assert_eq!((counter.name(), counter.is_exact()), ("o200k_base", false));
//! let calibration = Calibration::prior("claude-opus-4-6");
//! let counted = counter.count(&"a page of text ".repeat(250));
//! assert_eq!(calibration.estimate(counted).to_string(), "1201 tokens ±20 %");
//! ```
//!
//! Absent on purpose: what a message weighs around its text, which is the core's
//! (`window::count`), and encoding or decoding, which nothing here needs.

mod counter;
mod kept;
mod tokenizer;

pub use counter::{EstimatedCounter, ExactCounter, counter_for};
pub use kept::KeptCounter;
pub use tokenizer::Tokenizer;
