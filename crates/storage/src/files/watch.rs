//! Looking at revisions: a session's row in the index, and one look at its head.

use std::{sync::Arc, time::Duration};

use contexture_core::{SessionId, storage::StorageResult};

use super::reading::{Reading, Seen};
use crate::{
    sqlite::read,
    watch::{Found, Look, Watch},
};

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn watch(reading: Arc<Reading>) -> Watch {
    Watch::new("files", true, move |_| Box::new(Looks { reading: reading.clone() }))
}

struct Looks {
    reading: Arc<Reading>,
}

impl Look for Looks {
    fn look(&mut self, sessions: &[SessionId], _: bool) -> StorageResult<Option<Found>> {
        let revision = |session: &SessionId| {
            let seen = self.reading.see(session, &|db| read::session(db, session), &|_| Vec::new());
            match seen {
                Ok(Seen::Fresh(info)) => Ok(info.map(|info| info.revision)),
                // The files are not what the index knows, say by a checkout: whoever follows looks.
                Ok(Seen::Stale(_)) => Ok(None),
                Err(fault) => Err(fault.at(&self.reading.shared.index_path())),
            }
        };
        sessions.iter().map(revision).collect::<StorageResult<Found>>().map(Some)
    }

    fn pause(&mut self, _: bool) -> Duration {
        PAUSE
    }
}
