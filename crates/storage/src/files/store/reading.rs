//! A folder in which nothing can be written: its index is in memory, and what the journal holds is read
//! as if it were in place.

use std::sync::Arc;

use contexture_core::storage::{StorageError, StorageResult};

use super::{INDEX, LOCK, Shared, Store, lock::share};
use crate::files::{
    index::{Index, Opened},
    journal::{Journal, Mark},
    overlay::Overlay,
};

impl Store {
    /// Opens the folder to read it. Nothing is written anywhere.
    pub(crate) fn open_to_read(shared: Arc<Shared>) -> StorageResult<Self> {
        let lock = match shared.folder.open_to_read(LOCK) {
            // Whoever may not even read the lock does without.
            Err(StorageError::ReadOnly { .. }) => None,
            lock => lock?,
        };
        let kept = shared.folder.path().join(INDEX);
        let patience = shared.options.busy_timeout;
        let opened = Index::in_memory(&shared.index_path(), &kept, patience)?;
        let (Opened::Kept(index) | Opened::Made(index)) = opened;
        let (journal, prefix) = (None, String::new());
        let (mark, unplaced, clock, made) = (Mark::default(), false, 0, 0);
        let mut store = Self { shared, lock, journal, index, mark, unplaced, clock, prefix, made };
        store.hold()?;
        let synced = store.sync_all().map_err(|fault| fault.at(&store.index.path));
        store.release();
        synced.map(|()| store)
    }

    /// Keeps others from writing, where there is something to lock, and sees what they have not put in
    /// place.
    pub(super) fn hold(&mut self) -> StorageResult<()> {
        if let Some(lock) = &self.lock {
            share(lock, self.shared.options.busy_timeout);
        }
        let unplaced = Journal::unplaced(&self.shared.folder);
        match unplaced {
            Ok(records) => self.shared.folder.set_overlay(Overlay::of(records)),
            Err(error) => {
                self.release();
                return Err(error);
            }
        }
        Ok(())
    }
}
