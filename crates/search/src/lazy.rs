//! An index that is opened when somebody first searches.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use contexture_core::{Error, Finder, PageIndex, PageStorage, Session};

use crate::{SearchError, SearchIndex};

/// The index of a store, opened at the first search. Cheap to clone.
#[derive(Clone)]
pub struct LazyIndex {
    inner: Arc<Inner>,
}

struct Inner {
    storage: Arc<dyn PageStorage>,
    folder: Option<PathBuf>,
    opened: OnceLock<SearchIndex>,
}

impl LazyIndex {
    /// Names the store and the folder of its index. Without a folder, and where it cannot be written, the
    /// index is in memory.
    pub fn new(storage: Arc<dyn PageStorage>, folder: Option<PathBuf>) -> Self {
        Self { inner: Arc::new(Inner { storage, folder, opened: OnceLock::new() }) }
    }

    /// Returns the index.
    pub fn get(&self) -> Result<&SearchIndex, SearchError> {
        let Inner { storage, folder, opened } = &*self.inner;
        if let Some(index) = opened.get() {
            return Ok(index);
        }
        let index = match SearchIndex::open(storage.clone(), folder.as_deref()) {
            Err(error) if folder.is_some() => {
                tracing::debug!(%error, "the search index is kept in memory");
                SearchIndex::open(storage.clone(), None)?
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
