//! The window: what of a view's pages stands before the model, at which level, within which budget.
//!
//! ```text
//!  plan ──► pieces ──► format ──► account
//!   │         │          │           └ tokens by segment, page and level
//!   │         │          └ markdown · context · openai · responses · anthropic · gemini
//!   │         └ self-contained: what is recorded as sent, and can be rendered again
//!   └ pages and runs with their levels, as the view's level state has them
//! ```
//!
//! Everything here is a pure function of state: no clock, no randomness, no map order.

pub(crate) mod account;
pub mod calibration;
pub mod count;
pub mod digest;
pub mod escape;
pub mod filter;
pub mod fold;
pub mod format;
pub mod line;
pub mod outline;
pub mod piece;
pub mod plan;
pub mod preface;
pub mod provider;
pub mod request;
pub mod retelling;
pub mod source;
pub mod telling;
pub mod trim;
