//! Switching to another storage while the system runs (the seed's SetStorage and MigrateToDisk).

use std::sync::Arc;

use super::ContextSystem;
use crate::{
    Error, PageStorage, Result,
    storage::copy::{Copied, SessionDigest, Watch, copy_session},
};

impl ContextSystem {
    /// Copies the session to another storage and goes on there.
    ///
    /// The target may hold an earlier state of this session, which is brought forward; one that has gone
    /// its own way is refused. The copy is read back and compared before anything is switched; edits go
    /// on meanwhile. Then writes wait for a moment: if any was made since the copy began, the session is
    /// brought forward once more while they wait. From then on all
    /// writes of this system and its clones go to the new storage, those that waited too. On an error
    /// the old storage stays in use with all it holds, and the error names the part that failed.
    ///
    /// The session in the old storage stays as it was. Other processes, or other systems opened on it,
    /// are not switched: whoever shares a storage sees to it that only one system writes meanwhile.
    pub async fn switch_storage(
        &self,
        to: Arc<dyn PageStorage>,
        watch: Watch<'_>,
    ) -> Result<Copied> {
        let _turn = self.inner.switching.lock().await;
        let (from, session) = (self.storage(), self.session());
        let before = self.inner.switchable.write_count();
        let copied = copy_session(&*from, &*to, session, watch).await?;
        let closed = self.inner.switchable.lock_out_writers().await;
        let wrote = self.inner.switchable.write_count() != before;
        let copied = if wrote || self.has_moved(&*from, &copied).await? {
            // The copy just made is an earlier state by now.
            copy_session(&*from, &*to, session, watch).await?
        } else {
            copied
        };
        closed.replace(to);
        self.inner.looks.switched();
        Ok(copied)
    }

    /// Tells whether others have written to a shared storage since a copy of it.
    async fn has_moved(&self, from: &dyn PageStorage, copied: &Copied) -> Result<bool> {
        if !from.capabilities().shared {
            return Ok(false);
        }
        let now = SessionDigest::of(&*from.snapshot().await?, self.session()).await?;
        let gone = || Error::SessionNotFound { session: self.session().clone() };
        Ok(copied.digest.difference(&now.ok_or_else(gone)?).is_some())
    }
}
