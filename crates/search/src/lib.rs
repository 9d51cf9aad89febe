//! Search: finds pages by what their messages say, in any language, within a view.
//!
//! ```text
//!  text        one way to cut any text into terms
//!  document    what is indexed: a message, or the name and description of a page
//!  collection  the documents that one search may see, and their statistics
//!  rank        candidates by BM25 over fields, then a small linear ranker
//! ```

mod collection;
mod document;
mod text;

pub use collection::{Collection, Counts, Facts, Posting, Size};
pub use document::{DocKey, Document, Field, Marks, speaker_hash};
pub use text::{MAX_TERM, Term, TermKind, cut};
