//! The seam for search: finding pages by what they say.
//!
//! The core depends on no index. An engine or a context system is given a [`Finder`], and
//! [`Session::find_page`](crate::Session::find_page) asks it. Without one the core looks through the pages itself.

use async_trait::async_trait;

use crate::{PageIndex, Result, Session};

/// Finds pages by what they say.
///
/// For implementers:
/// - An answer names pages of the tree that the session's holder sees, best first, each once, and at most `limit`.
///   Pages in the archive are not among them. The text has no syntax that can be wrong.
/// - It takes in everything that was committed to the session before the call.
/// - Neither the answer nor its order depends on anything that the holder does not see.
/// - It may be called from many threads, for any session of the storage it was made for.
#[async_trait]
pub trait Finder: std::fmt::Debug + Send + Sync {
    /// Returns the pages that say a text.
    async fn find(&self, session: &Session, text: &str, limit: usize) -> Result<Vec<PageIndex>>;
}
