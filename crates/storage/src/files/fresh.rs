//! Reading until what was read is what the files say; and reading what a snapshot was taken with.

use std::{
    collections::BTreeSet,
    sync::PoisonError,
    thread,
    time::{Duration, Instant},
};

use contexture_core::{
    SessionId,
    storage::{Content, ContentHash, SessionInfo, StorageError, StorageResult},
};
use rusqlite::Connection;

use super::{
    FilesStorage,
    index::{self, FilesFault, FilesFaultResult},
    names::{self, Spot},
    reading::{Found, Seen},
    store, sync,
};
use crate::sqlite::{
    error::{Fault, FaultResult},
    read,
    readers::Readers,
};

/// How often a read is tried again when what it relies on moves.
const TRIES: usize = 20;

/// How long a snapshot waits for words that another process is just moving.
const PATIENCE: Duration = Duration::from_millis(200);

impl FilesStorage {
    /// Reads something of a session; `relies` names what of it stands in which file.
    pub(super) async fn read<T>(
        &self,
        session: &SessionId,
        read: impl Fn(&Connection) -> FaultResult<T>,
        relies: impl Fn(&T) -> Vec<Spot>,
    ) -> StorageResult<T> {
        if let Some(pinned) = &self.pinned {
            return pinned.read(read);
        }
        self.until_fresh(session, || self.reading.see(session, &read, &relies)).await
    }

    /// Tries until what was read is what the files say.
    async fn until_fresh<T>(
        &self,
        session: &SessionId,
        mut see: impl FnMut() -> FilesFaultResult<Seen<T>>,
    ) -> StorageResult<T> {
        let mut repaired = false;
        for _ in 0..TRIES {
            match see() {
                Ok(Seen::Fresh(answer)) => return Ok(answer),
                Ok(Seen::Stale(paths)) => {
                    let session = session.clone();
                    self.keeper()?.alone(move |store| store.heal(&session, &paths)).await?;
                }
                Err(fault) if fault.is_damage() && !repaired => {
                    repaired = true;
                    self.repair_index().await?;
                }
                Err(fault) => return Err(self.at_index(fault)),
            }
        }
        let what = self.path().display().to_string();
        let reason = "its files change faster than they can be read".to_owned();
        Err(StorageError::Unavailable { what, reason })
    }

    /// Rebuilds the index, unless another process already has.
    pub(super) async fn repair_index(&self) -> StorageResult<()> {
        let damaged = self.reading.readers().ok().map(|(inode, _)| inode);
        let repair_index = move |store: &mut store::Store| {
            if damaged.is_none() || damaged == Some(store.index.inode) {
                tracing::info!("the index is damaged and is rebuilt");
                store.remake_index()?;
            }
            Ok(())
        };
        self.keeper()?.alone(repair_index).await
    }

    /// Lists sessions: those in the index, and those only the files know.
    pub(super) fn list_sessions(&self) -> FilesFaultResult<(Vec<SessionInfo>, bool)> {
        let shared = &self.reading.shared;
        let _one_state = shared.one_state.read().unwrap_or_else(PoisonError::into_inner);
        let (_, readers) = self.reading.readers()?;
        let known = readers.run(|db| {
            let infos = read::sessions(db, None, usize::MAX >> 1)?;
            let mut known = Vec::with_capacity(infos.len());
            for info in infos {
                let key = index::key(db, &info.id)?;
                let stamp = key.map(|key| index::stamp(db, key, names::HEAD)).transpose()?;
                known.push((info, stamp.flatten()));
            }
            Ok(known)
        })?;
        let mut look = shared.folder.look();
        let mut folders: BTreeSet<String> =
            sync::session_folders(&shared.folder)?.into_iter().collect();
        let (mut infos, mut fresh) = (Vec::new(), true);
        for (info, stamp) in known {
            let path = names::session(&info.id);
            let lies = look.stamp(&format!("{path}/{}", names::HEAD))?;
            if lies == stamp {
                folders.remove(path.rsplit('/').next().unwrap_or_default());
                infos.push(info);
            } else {
                fresh = false;
            }
        }
        for name in folders {
            if let Some(head) = sync::read_head(&shared.folder, &name)? {
                fresh = false;
                infos.push(head.info);
            }
        }
        infos.sort_by(|one, other| one.id.cmp(&other.id));
        Ok((infos, fresh))
    }

    /// Reads contents as they are now.
    pub(super) async fn live_contents(
        &self,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let mut healed = false;
        loop {
            let found =
                self.until_fresh(session, || self.reading.see_contents(session, hashes)).await?;
            let lost = |found: &Found| match found {
                Found::Lost(path, error) => Some((path.clone(), error.clone())),
                Found::Here(_) | Found::Nowhere => None,
            };
            match found.iter().find_map(lost) {
                Some((_, error)) if healed => return Err(error),
                Some((path, _)) => {
                    healed = true;
                    let session = session.clone();
                    let heal = move |store: &mut store::Store| {
                        store.heal(&session, std::slice::from_ref(&path))
                    };
                    self.keeper()?.alone(heal).await?;
                }
                None => {
                    let content = |found| match found {
                        Found::Here(content) => Some(content),
                        Found::Nowhere | Found::Lost(..) => None,
                    };
                    return Ok(found.into_iter().map(content).collect());
                }
            }
        }
    }

    /// Reads contents for a snapshot: where they were when it was taken, or where they are by now.
    pub(super) fn pinned_contents(
        &self,
        pinned: &Readers,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let began = Instant::now();
        loop {
            match self.try_pinned(pinned, session, hashes) {
                Err(StorageError::Corrupt { .. }) if began.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(1));
                }
                tried => return tried,
            }
        }
    }

    fn try_pinned(
        &self,
        pinned: &Readers,
        session: &SessionId,
        hashes: &[ContentHash],
    ) -> StorageResult<Vec<Option<Content>>> {
        let _one_state =
            self.reading.shared.one_state.read().unwrap_or_else(PoisonError::into_inner);
        let find = |db: &Connection, hashes: &[ContentHash]| {
            self.reading.contents(db, session, hashes).map_err(as_fault)
        };
        let found = pinned.read(|db| find(db, hashes))?;
        let mut contents = Vec::with_capacity(hashes.len());
        for (found, &hash) in found.into_iter().zip(hashes) {
            contents.push(match found {
                Found::Here(content) => Some(content),
                Found::Nowhere => None,
                // Another file carries it by now, unless it was purged.
                Found::Lost(_, error) => {
                    let (_, live) = self.reading.readers().map_err(|it| self.at_index(it))?;
                    match live.read(|db| find(db, &[hash]))?.pop() {
                        Some(Found::Here(content)) => Some(content),
                        Some(Found::Nowhere) | None => {
                            let reason = "its contents have been purged since; take a new snapshot"
                                .to_owned();
                            let what = format!("a snapshot of session '{session}'");
                            return Err(StorageError::Unavailable { what, reason });
                        }
                        Some(Found::Lost(..)) => return Err(error),
                    }
                }
            });
        }
        Ok(contents)
    }
}

/// Returns a trouble as a fault, where it does not matter in what.
pub(super) fn as_fault(fault: FilesFault) -> Fault {
    match fault {
        FilesFault::Index(fault) => fault,
        FilesFault::Storage(error) => error.into(),
    }
}
