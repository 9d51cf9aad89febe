//! Search: finds pages by what their messages say, in any language, within a view.
//!
//! ```text
//!  text        one way to cut any text into terms
//!  document    what is indexed: a message, or the name and description of a page
//!  collection  the documents that one search may see, and their statistics
//!  memory      a collection in memory
//!  query       what was asked
//!  rank        candidates by BM25 over fields, then a small linear ranker
//!  index       the documents of a store, on disk and in memory
//!  embedding   what messages mean, where somebody can say
//!  follow      takes in what is committed to the store
//!  search      finds pages for the holder of a session
//!  recall      chooses pages to bring back into the window
//! ```
//!
//! ```
//! use contexture_core::Timestamp;
//! use contexture_search::{DocKey, Document, Field, MemoryCollection, Query, RankOptions, rank};
//!
//! let said = |message, speaker: &'static str, text: &'static str| Document {
//!     page: "usr-1".parse().unwrap(),
//!     message,
//!     messages: 2,
//!     texts: vec![(Field::Request, text.into())],
//!     speaker: Some(speaker.into()),
//!     at: Timestamp::from_millis(0),
//!     chapter: 0,
//! };
//! let key = |message| DocKey { segment: 0, page: 1, message };
//! let mut collection = MemoryCollection::new();
//! collection.insert(key(1), &said(1, "Ann", "Where did you park the car?"));
//! collection.insert(key(2), &said(2, "Bo", "Behind the old mill."));
//!
//! // The answer holds no word of the question; it stands behind a question that does.
//! let query = Query::read("where is Bo's car parked", Timestamp::from_millis(0));
//! let results = rank(&collection, &query, &RankOptions::new(10));
//! assert_eq!(results[0].key, key(2));
//! ```

mod text;

mod collection;
mod document;
mod memory;

mod query;
mod rank;

mod embedding;

mod error;
mod follow;
mod index;
mod lazy;
mod recall;
mod search;

pub use collection::{Collection, Counts, Facts, Nearest, Posting, Size};
pub use document::{DocKey, Document, Field, Marks, speaker_hash};
pub use embedding::{Embedder, EmbedderError, EmbeddingLimits, Similarity, Vector};
pub use error::SearchError;
pub use index::{IndexLimits, SearchIndex, trace};
pub use lazy::LazyIndex;
pub use memory::MemoryCollection;
pub use query::{Asked, DateHint, Phrase, Query};
pub use rank::{Feature, Features, RankOptions, Ranked, Weights, rank};
pub use recall::{RecallPlan, RecallPurpose, RecallQuery, Recalled};
pub use search::{FindQuery, Found, Hit, Snippet};
pub use text::{MAX_TERM, Term, TermKind, cut};
