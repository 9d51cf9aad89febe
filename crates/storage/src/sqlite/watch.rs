//! Looking at revisions: SQLite tells at almost no cost whether anybody has committed.

use std::{sync::Arc, time::Duration};

use contexture_core::{SessionId, storage::StorageResult};

use super::{
    error::FaultResult,
    read,
    readers::{Reader, Readers},
};
use crate::watch::{Found, Look, Watch};

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(25);

pub(crate) fn watch(readers: Arc<Readers>) -> Watch {
    // The last connection to go empties the log, so this one goes before the storage does.
    Watch::new("sqlite", true, move |_| {
        Box::new(Looks { readers: readers.clone(), reader: None, version: None })
    })
}

struct Looks {
    readers: Arc<Readers>,
    /// A connection of its own: what it is asked is told for each connection.
    reader: Option<Reader>,
    version: Option<i64>,
}

impl Looks {
    fn read(&mut self, sessions: &[SessionId], new: bool) -> FaultResult<Option<Found>> {
        let reader = match self.reader.take() {
            Some(reader) if reader.check().is_ok() => reader,
            _ => {
                self.version = None;
                self.readers.open()?
            }
        };
        let version = reader.db.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let mut found = None;
        if new || self.version != Some(version) {
            let revision = |session| Ok(read::session(&reader.db, session)?.map(|it| it.revision));
            let revisions: FaultResult<Found> = sessions.iter().map(revision).collect();
            found = Some(revisions?);
        }
        self.version = Some(version);
        self.reader = Some(reader);
        Ok(found)
    }
}

impl Look for Looks {
    fn look(&mut self, sessions: &[SessionId], new: bool) -> StorageResult<Option<Found>> {
        let path = self.readers.path().to_owned();
        self.read(sessions, new).map_err(|fault| fault.at(&path))
    }

    fn pause(&mut self, _: bool) -> Duration {
        PAUSE
    }
}
