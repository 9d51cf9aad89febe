//! Meanings: vectors of what messages say, so that an answer is found that shares no word with its question.
//!
//! ```text
//!  texts ──► piece     parts of bounded size, each known by the hash of its text
//!        ──► Embedder  the seam: a model somewhere makes a vector of each
//!        ──► vector    a direction, one byte a number
//!        ──► table     the vectors in memory, by hash
//!        ──► file      the same on disk, beside the index; several processes may share it
//!        ──► ask       what a search asks the embedder for, and for how long it waits
//!        ──► meanings  the documents of a search, compared with what was asked
//! ```
//!
//! Vectors are derived data like the index. They are made as searches need them, a bounded number in each, and kept by
//! what they were made of: the same text has one vector, wherever it stands. Which documents a text stands in only the
//! index knows, so what a view does not hold is never compared, and a vector whose text is purged is removed.
//!
//! A search never fails because of the embedder. Where it cannot be reached, words alone rank, and the answer says so.

mod ask;
mod file;
mod meanings;
mod patience;
mod piece;
mod table;
mod vector;
mod vectors;

use std::time::Duration;

use async_trait::async_trait;

pub(crate) use meanings::{Closest, Meanings};
pub(crate) use piece::{Piece, pieces};
pub use vector::Vector;
pub(crate) use vectors::Vectors;

/// A model that makes vectors of texts: texts that mean nearly the same point in nearly the same direction.
///
/// Implementations may be asked from several threads at once. A call may be dropped before it ends; the search that
/// waited for it goes on without. The length of a vector does not matter.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Names the model. Vectors are kept under this name and are not asked for again, so two models whose vectors
    /// cannot be compared must have two names.
    fn name(&self) -> &str;

    /// Returns a vector for each text, in the order of the texts, all with the same number of dimensions.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedderError>;
}

/// Why there are no vectors.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmbedderError {
    /// The model could not be asked, or refused to answer.
    #[error("{reason}")]
    Unavailable {
        /// Why.
        reason: String,
    },
    /// The model gave another number of vectors than there were texts.
    #[error("{got} vectors came back for {wanted} texts")]
    Count {
        /// How many texts there were.
        wanted: usize,
        /// How many vectors came.
        got: usize,
    },
    /// A vector has no direction: a number in it is no number, or all are zero, or there are too many or none.
    #[error("vector {at} has no direction: its {dimensions} numbers cannot be used")]
    NoDirection {
        /// Which vector, counted from 0.
        at: usize,
        /// How many numbers it has.
        dimensions: usize,
    },
    /// A vector cannot be compared with those that are kept.
    #[error(
        "a vector has {got} dimensions, but those kept under this model's name have {wanted}; \
         if the model has changed, remove the folder {folder}"
    )]
    Dimensions {
        /// How many dimensions are kept.
        wanted: usize,
        /// How many came.
        got: usize,
        /// Where vectors are kept.
        folder: String,
    },
}

/// Bounds of what a search asks an embedder for.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingLimits {
    /// How long a search waits for the vector of what was asked, and after that once more for new vectors.
    pub patience: Duration,
    /// How many texts go out at once.
    pub batch: usize,
    /// How many new texts a search sends at most.
    pub texts: usize,
    /// How many bytes the vectors of a store may take. After that no more are made.
    pub bytes: usize,
    /// How long an embedder that failed is not asked again.
    pub rest: Duration,
}

impl Default for EmbeddingLimits {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(2),
            batch: 32,
            texts: 256,
            bytes: 512 << 20,
            rest: Duration::from_secs(30),
        }
    }
}

/// What became of comparing meanings in a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Similarity {
    /// Whether meanings were compared. Otherwise words alone ranked.
    pub compared: bool,
    /// How many texts in view have no vector yet and were ranked by their words alone.
    pub missing: usize,
    /// What went wrong, where something did.
    pub problem: Option<String>,
}

#[cfg(test)]
#[path = "embedding_tests.rs"]
mod tests;
