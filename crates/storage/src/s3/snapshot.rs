//! Snapshots: roots held on to. What they name never changes, so nothing is copied.
//!
//! A session is frozen when a snapshot first reads it, or right before this process first changes it,
//! whichever comes first. So taking one asks the server for nothing. A change that another process
//! makes to a session this snapshot has not read yet shows in it.

use std::{collections::HashMap, sync::Arc, sync::Mutex};

use contexture_core::{SessionId, storage::StorageError};

use super::{
    fault::{Fault, FaultResult},
    session::{Inner, Session, lock},
    view::View,
};

/// Sessions as a snapshot has them; none where there was none.
#[derive(Debug)]
pub(crate) struct Frozen {
    sessions: Mutex<HashMap<SessionId, Option<Arc<View>>>>,
    /// Which token counts it shows.
    pub(crate) counts: u64,
}

impl Frozen {
    fn get(&self, session: &SessionId) -> Option<Option<Arc<View>>> {
        lock(&self.sessions).get(session).cloned()
    }

    /// Holds on to a session, unless it is held already.
    fn keep(&self, session: &SessionId, view: Option<Arc<View>>) -> Option<Arc<View>> {
        lock(&self.sessions).entry(session.clone()).or_insert(view).clone()
    }

    fn names(&self) -> Vec<SessionId> {
        lock(&self.sessions).keys().cloned().collect()
    }
}

impl Inner {
    /// Takes a snapshot.
    pub(crate) fn freeze(&self) -> Arc<Frozen> {
        let counts = lock(&self.counts).times;
        let frozen = Arc::new(Frozen { sessions: Mutex::default(), counts });
        let mut snapshots = lock(&self.snapshots);
        snapshots.retain(|frozen| frozen.strong_count() > 0);
        snapshots.push(Arc::downgrade(&frozen));
        frozen
    }

    /// Gives all snapshots a session as it was before this process changed it. To be called by
    /// whoever holds the session's turn to write.
    pub(crate) fn hand_to_snapshots(&self, session: &Session, before: Option<&View>) {
        let snapshots: Vec<_> =
            lock(&self.snapshots).iter().filter_map(std::sync::Weak::upgrade).collect();
        if snapshots.is_empty() {
            return;
        }
        let before = before.map(|view| Arc::new(View::new(view.home.clone(), view.root.clone())));
        for frozen in snapshots {
            frozen.keep(&session.id, before.clone());
        }
    }

    /// Returns a session as the snapshots of this process have it.
    pub(crate) fn held(&self, session: &SessionId) -> Vec<Arc<View>> {
        let snapshots = lock(&self.snapshots);
        let held = snapshots.iter().filter_map(std::sync::Weak::upgrade);
        held.filter_map(|frozen| frozen.get(session).flatten()).collect()
    }

    /// Returns a session as a snapshot has it.
    pub(crate) async fn frozen(
        &self,
        frozen: &Frozen,
        session: &SessionId,
    ) -> FaultResult<Option<Arc<View>>> {
        if let Some(view) = frozen.get(session) {
            return Ok(view);
        }
        let shared = self.session(session);
        // A change on its way is waited for: it is either whole in this or not at all.
        let _turn = shared.queue.turn().await;
        if let Some(view) = frozen.get(session) {
            return Ok(view);
        }
        let view = self.view(session).await?.map(Arc::new);
        Ok(frozen.keep(session, view))
    }

    /// Lists the sessions there may be in a snapshot.
    pub(crate) async fn frozen_names(&self, frozen: &Frozen) -> FaultResult<Vec<SessionId>> {
        let mut names = self.names().await?;
        names.extend(frozen.names());
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// Returns the error of a snapshot whose objects are gone.
pub(crate) fn taken(fault: Fault, name: &str) -> Fault {
    match fault {
        Fault::Gone(_) => StorageError::Unavailable {
            what: format!("a snapshot of {name}"),
            reason:
                "its contents have been purged, removed or collected since; take a new snapshot"
                    .to_owned(),
        }
        .into(),
        fault @ Fault::Storage(_) => fault,
    }
}
