//! An index that is opened when somebody first searches.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use contexture_core::{Error, Finder, PageIndex, PageStorage, Session};

use crate::{Embedder, EmbeddingLimits, IndexLimits, SearchError, SearchIndex};

/// The index of a store, opened at the first search. Cheap to clone.
#[derive(Clone)]
pub struct LazyIndex {
    inner: Arc<Inner>,
}

struct Inner {
    storage: Arc<dyn PageStorage>,
    folder: Option<PathBuf>,
    embedder: Option<Arc<dyn Embedder>>,
    opened: OnceLock<SearchIndex>,
}

impl LazyIndex {
    /// Names the store and the folder of its index. Without a folder, and where it cannot be written, the
    /// index is in memory.
    pub fn new(storage: Arc<dyn PageStorage>, folder: Option<PathBuf>) -> Self {
        Self::embedding(storage, folder, None)
    }

    /// Names somebody to ask what texts mean as well.
    pub fn embedding(
        storage: Arc<dyn PageStorage>,
        folder: Option<PathBuf>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self { inner: Arc::new(Inner { storage, folder, embedder, opened: OnceLock::new() }) }
    }

    /// Returns the index.
    pub fn get(&self) -> Result<&SearchIndex, SearchError> {
        let Inner { storage, folder, embedder, opened } = &*self.inner;
        if let Some(index) = opened.get() {
            return Ok(index);
        }
        let open = |folder: Option<&Path>| {
            let (storage, embedder) = (storage.clone(), embedder.clone());
            let (limits, embedding) = (IndexLimits::default(), EmbeddingLimits::default());
            SearchIndex::open_embedding(storage, folder, limits, embedder, embedding)
        };
        let index = match open(folder.as_deref()) {
            Err(error) if folder.is_some() => {
                tracing::debug!(%error, "the search index is kept in memory");
                open(None)?
            }
            index => index?,
        };
        // Another thread may have opened it meanwhile: then that one is used.
        Ok(opened.get_or_init(|| index))
    }

    /// Returns the index, if somebody has searched.
    pub fn opened(&self) -> Option<&SearchIndex> {
        self.inner.opened.get()
    }
}

#[async_trait]
impl Finder for LazyIndex {
    async fn find(
        &self,
        session: &Session,
        text: &str,
        limit: usize,
    ) -> Result<Vec<PageIndex>, Error> {
        let index = self.get().map_err(Error::from)?;
        Finder::find(index, session, text, limit).await
    }
}

impl fmt::Debug for LazyIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyIndex").field("folder", &self.inner.folder).finish_non_exhaustive()
    }
}
