//! Reading: the index answers, and one look at each file it relies on tells whether that still holds.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use contexture_core::{
    SessionId,
    storage::{Content, ContentHash, StorageError, StorageResult},
};
use rusqlite::Connection;

use super::{
    batch::carried,
    folder::Look,
    index::{self, FilesFault, FilesFaultResult},
    names::{self, HEAD, Spot},
    record::corrupt,
    store::Shared,
};
use crate::sqlite::{
    error::{Fault, FaultResult},
    readers::Readers,
};

/// The readers' side of a folder.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) shared: Arc<Shared>,
    /// Connections, and to which file: another index may have taken its place.
    readers: Mutex<Option<(u64, Arc<Readers>)>>,
}

/// What a look at the index gave.
pub(crate) enum Seen<T> {
    Fresh(T),
    /// These files, from the session's folder on, are not what the index knows; none of them means
    /// the session's head.
    Stale(Vec<String>),
}

impl Reading {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, readers: Mutex::new(None) }
    }

    /// Returns connections to the index that lies there now.
    pub(crate) fn readers(&self) -> FilesFaultResult<(u64, Arc<Readers>)> {
        let path = self.shared.index_path();
        let gone = || Fault::corrupt(path.display(), "it is missing");
        let inode = match self.shared.memory {
            Some(_) => 0,
            None => index::inode(&path)?.ok_or_else(gone)?,
        };
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        match &*readers {
            Some((known, readers)) if *known == inode => Ok((inode, readers.clone())),
            _ => {
                let patience = self.shared.options.busy_timeout;
                let fresh = Arc::new(match self.shared.memory {
                    Some(_) => Readers::memory(path, patience),
                    None => Readers::new(path, patience),
                });
                *readers = Some((inode, fresh.clone()));
                Ok((inode, fresh))
            }
        }
    }

    /// Reads something of a session, and looks whether the files it relies on are what the index
    /// knows.
    pub(crate) fn see<T>(
        &self,
        session: &SessionId,
        read: &impl Fn(&Connection) -> FaultResult<T>,
        relies: &impl Fn(&T) -> Vec<Spot>,
    ) -> FilesFaultResult<Seen<T>> {
        let _one_state = self.shared.one_state.read().unwrap_or_else(PoisonError::into_inner);
        let (_, readers) = self.readers()?;
        let mut fault = None;
        let seen = readers.run(|db| {
            let answer = read(db)?;
            let spots = relies(&answer);
            match self.stale(db, session, spots.iter().map(Spot::path)) {
                Ok(stale) => Ok(stale.map_or(Seen::Fresh(answer), Seen::Stale)),
                Err(FilesFault::Index(fault)) => Err(fault),
                Err(FilesFault::Storage(error)) => {
                    fault = Some(error);
                    Ok(Seen::Stale(Vec::new()))
                }
            }
        })?;
        fault.map_or(Ok(seen), |error| Err(error.into()))
    }

    /// Returns the files that are not what the index knows, if there are any.
    fn stale(
        &self,
        db: &Connection,
        session: &SessionId,
        paths: impl Iterator<Item = String>,
    ) -> FilesFaultResult<Option<Vec<String>>> {
        let mut look = self.shared.folder.look();
        let Some(key) = head(db, &mut look, session)? else { return Ok(Some(Vec::new())) };
        let Some(key) = key else { return Ok(None) };
        let root = names::session(session);
        let mut stale = Vec::new();
        for path in paths {
            if look.stamp(&format!("{root}/{path}"))? != index::stamp(db, key, &path)? {
                stale.push(path);
            }
        }
        Ok((!stale.is_empty()).then_some(stale))
    }

    /// Reads contents of a session from the files that carry them.
    ///
    /// `db` may be of an earlier state: a page may carry other words by now.
    pub(crate) fn contents(
        &self,
        db: &Connection,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> FilesFaultResult<Vec<Found>> {
        let Some(key) = index::key(db, session)? else {
            return Ok(hashes.iter().map(|_| Found::Nowhere).collect());
        };
        let root = names::session(session);
        let mut look = self.shared.folder.look();
        let mut found: HashMap<ContentHash, Found> = HashMap::new();
        for &hash in hashes {
            if found.contains_key(&hash) {
                continue;
            }
            let mut result = Found::Nowhere;
            for spot in index::carriers(db, key, hash)? {
                match carried_by(&mut look, &root, &spot, hash) {
                    Ok(content) => {
                        result = Found::Here(content);
                        break;
                    }
                    Err(error) => result = Found::Lost(spot.path(), error),
                }
            }
            found.insert(hash, result);
        }
        Ok(hashes.iter().map(|hash| found[hash].clone()).collect())
    }

    /// Reads contents, and looks whether the session is what the index knows.
    pub(crate) fn see_contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> FilesFaultResult<Seen<Vec<Found>>> {
        let _one_state = self.shared.one_state.read().unwrap_or_else(PoisonError::into_inner);
        let (_, readers) = self.readers()?;
        let mut fault = None;
        let see = |db: &Connection| -> FilesFaultResult<Seen<Vec<Found>>> {
            match head(db, &mut self.shared.folder.look(), session)? {
                Some(_) => self.contents(db, session, hashes).map(Seen::Fresh),
                None => Ok(Seen::Stale(Vec::new())),
            }
        };
        let seen = readers.run(|db| match see(db) {
            Ok(seen) => Ok(seen),
            Err(FilesFault::Index(fault)) => Err(fault),
            Err(FilesFault::Storage(error)) => {
                fault = Some(error);
                Ok(Seen::Stale(Vec::new()))
            }
        })?;
        fault.map_or(Ok(seen), |error| Err(error.into()))
    }
}

/// Where a content was found.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    Here(Content),
    /// No file carries it.
    Nowhere,
    /// The file that should carry it does not.
    Lost(String, StorageError),
}

pub(crate) fn carried_by(
    look: &mut Look<'_>,
    root: &str,
    spot: &Spot,
    hash: ContentHash,
) -> StorageResult<Content> {
    let inner = spot.path();
    let path = format!("{root}/{inner}");
    let (bytes, _) = look.read(&path)?.ok_or_else(|| corrupt(&path, "the file is missing"))?;
    let content = carried(&path, &inner, &bytes, hash)?;
    content.ok_or_else(|| corrupt(&path, &format!("it does not hold content {hash}")))
}

/// Tells whether a session's head is what the index knows: none if it is not, else the session's key,
/// if there is such a session.
fn head(
    db: &Connection,
    look: &mut Look<'_>,
    session: &SessionId,
) -> FilesFaultResult<Option<Option<i64>>> {
    let stamp = look.stamp(&format!("{}/{HEAD}", names::session(session)))?;
    let key = index::key(db, session)?;
    let known = key.map(|key| index::stamp(db, key, HEAD)).transpose()?.flatten();
    Ok((known == stamp).then_some(key))
}
