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
pub(crate) mod calibration;
pub(crate) mod count;
pub(crate) mod digest;
pub(crate) mod escape;
pub(crate) mod filter;
pub(crate) mod fold;
pub(crate) mod format;
pub(crate) mod keywords;
pub(crate) mod line;
pub(crate) mod outline;
pub(crate) mod piece;
pub(crate) mod plain_text;
pub(crate) mod plan;
pub(crate) mod preface;
pub(crate) mod provider;
pub(crate) mod request;
pub(crate) mod source;
pub(crate) mod trim;

// What is asked for and what comes back, beside what the root of the crate names.
pub use crate::conversation::ModelRequest;
pub use preface::WindowTools;
pub use request::{PageAccount, RecordedWindow, SegmentAccount};

// Counting.
pub use calibration::{CALIBRATION_WINDOWS, Calibration, Estimate};
pub use count::{MESSAGE_OVERHEAD, count_messages};
pub use source::line_count_key;

// Folding.
pub use crate::edit::{FoldPlan, FoldStep};
pub use crate::history::FoldReport;
pub use crate::system::{FoldOutcome, FoldedTurn, TurnLimits, TurnLine};
pub use fold::FoldShares;

// Texts from outside: escaped, cut, and without secrets.
pub use escape::{
    FoundAnchor, FoundAnchorKind, escape_text, find_anchors, quote_text, unescape_text,
};
pub use filter::{CommonSecrets, NoFilter, SensitiveFilter};
pub use trim::{Omitted, trim_messages};

// Providers: rendering pieces, putting them together, and checking what anyone put together.
pub use piece::{Piece, PieceContent, PieceKey};
pub use provider::{
    Assembled, Breakpoints, RenderedPiece, RenderedSystem, Violation, WindowParts, assemble,
    render_piece, validate_body,
};
