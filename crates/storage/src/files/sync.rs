//! Bringing the index to what the files say: after git has checked something out, after a file was
//! changed by hand, after the index was lost.

use std::collections::BTreeSet;

use contexture_core::{SessionId, storage::StorageResult};
use rusqlite::Connection;

use super::{
    folder::{Folder, Form},
    index::{self, FilesFault, FilesFaultResult},
    names::{self, HEAD, Kind, SESSIONS},
    record::{Head, Record, corrupt},
    store::Store,
    tally::Tally,
};

impl Store {
    /// Brings a session in the index to what its files say, if its head is not the one the index
    /// knows; otherwise only what these files say.
    pub(crate) fn heal(&mut self, session: &SessionId, paths: &[String]) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let folder = names::session(session);
        let mut look = shared.folder.look();
        let stamp = look.stamp(&format!("{folder}/{HEAD}"))?;
        let key = index::key(&self.index.db, session)?;
        let Some(key) = key else {
            return match stamp {
                Some(_) => self.sync(session),
                None => Ok(()),
            };
        };
        if index::stamp(&self.index.db, key, HEAD)? != stamp {
            return self.sync(session);
        }
        for inner in paths {
            let path = format!("{folder}/{inner}");
            let stamp = look.stamp(&path)?;
            if index::stamp(&self.index.db, key, inner)? == stamp {
                continue;
            }
            let read = look.read(&path)?;
            let (bytes, stamp) = read.ok_or_else(|| corrupt(&path, "the file is missing"))?;
            let record = decode(&path, inner, &bytes)?;
            let transaction = self.index.db.unchecked_transaction()?;
            index::put(&transaction, key, session, &record, stamp)?;
            transaction.commit()?;
        }
        Ok(())
    }

    /// Brings a session in the index to what its files say.
    fn sync(&mut self, session: &SessionId) -> FilesFaultResult<()> {
        let transaction = self.index.db.unchecked_transaction()?;
        sync_session(&transaction, &self.shared.folder, session)?;
        Ok(transaction.commit()?)
    }

    /// Brings every session to what its files say, however it is with their heads. What cannot be
    /// read stays out, and is named when it is asked for.
    pub(crate) fn sync_all(&mut self) -> FilesFaultResult<()> {
        tracing::info!(folder = %self.shared.folder.path().display(), "building the index from the files");
        self.each_session(Self::sync)
    }

    /// Brings the sessions whose heads have changed to what their files say.
    pub(crate) fn sync_changed(&mut self) -> FilesFaultResult<()> {
        self.each_session(|store, session| store.heal(session, &[]))
    }

    /// Brings the sessions of which the index does not know every file to what their files say. Those
    /// that are not whole there either are taken out: nothing may be read of a part.
    pub(crate) fn sync_partial(&mut self) -> FilesFaultResult<()> {
        self.each_session(|store, session| {
            if index::is_whole(&store.index.db, session)? {
                return Ok(());
            }
            store.sync(session).or_else(|fault| match fault {
                FilesFault::Storage(error) => {
                    let transaction = store.index.db.unchecked_transaction()?;
                    index::remove_session(&transaction, session)?;
                    transaction.commit()?;
                    Err(error.into())
                }
                fault => Err(fault),
            })
        })
    }

    /// Does something with every session there is, in files or in the index.
    fn each_session(
        &mut self,
        mut work: impl FnMut(&mut Self, &SessionId) -> FilesFaultResult<()>,
    ) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let mut sessions: BTreeSet<SessionId> =
            index::sessions(&self.index.db)?.into_iter().collect();
        for name in session_folders(&shared.folder)? {
            match read_head(&shared.folder, &name) {
                Ok(head) => sessions.extend(head.map(|head| head.info.id)),
                Err(error) => tracing::warn!(%error, "a session cannot be read"),
            }
        }
        for session in sessions {
            match work(self, &session) {
                Err(FilesFault::Storage(error)) => {
                    tracing::warn!(%error, %session, "a session cannot be read");
                }
                done => done?,
            }
        }
        Ok(())
    }
}

/// Lists the folders of sessions by name.
pub(crate) fn session_folders(folder: &Folder) -> StorageResult<Vec<String>> {
    let entries = folder.list(SESSIONS)?.into_iter();
    let folders = entries.filter(|entry| entry.form == Form::Folder && names::is_safe(&entry.name));
    Ok(folders.map(|entry| entry.name).collect())
}

/// Reads the head in a session's folder; none where there is none.
pub(crate) fn read_head(folder: &Folder, name: &str) -> StorageResult<Option<Head>> {
    let path = format!("{SESSIONS}/{name}/{HEAD}");
    let Some((bytes, _)) = folder.look().read(&path)? else { return Ok(None) };
    let Record::Head(head) = Record::decode(&path, Kind::Head, &bytes)? else { return Ok(None) };
    if names::session(&head.info.id) != format!("{SESSIONS}/{name}") {
        return Err(corrupt(&path, &format!("it is the head of session '{}'", head.info.id)));
    }
    Ok(Some(head))
}

/// Reads what a file says, if it says it in its own place.
pub(crate) fn decode(path: &str, inner: &str, bytes: &[u8]) -> StorageResult<Record> {
    let kind = Kind::of(inner).ok_or_else(|| corrupt(path, "it is not a file of this store"))?;
    let record = Record::decode(path, kind, bytes)?;
    if record.spot().path() != inner {
        return Err(corrupt(path, "it is in the place of another file"));
    }
    Ok(record)
}

/// Takes in what has changed, and takes out what is gone. Unchanged files are not read. Files that are
/// not those the head counts are of no state, and none of them is taken in.
fn sync_session(db: &Connection, folder: &Folder, session: &SessionId) -> FilesFaultResult<()> {
    let root = names::session(session);
    let mut look = folder.look();
    let Some((bytes, stamp)) = look.read(&format!("{root}/{HEAD}"))? else {
        return Ok(index::remove_session(db, session)?);
    };
    let Record::Head(head) = decode(&format!("{root}/{HEAD}"), HEAD, &bytes)? else {
        return Ok(());
    };
    if head.info.id != *session {
        let path = format!("{root}/{HEAD}");
        return Err(corrupt(&path, &format!("it is the head of session '{}'", head.info.id)).into());
    }
    let is_known = index::head(db, session)?.as_ref() == Some(&head);
    let key = index::put_head(db, &head, stamp)?;
    let mut seen: BTreeSet<String> = BTreeSet::from([HEAD.to_owned()]);
    let mut found = Tally::default();
    walk(folder, &root, "", &mut |inner| {
        let Some(kind) = Kind::of(inner).filter(|kind| *kind != Kind::Head) else {
            return Ok(());
        };
        let path = format!("{root}/{inner}");
        let stamp = look.stamp(&path)?;
        if stamp.is_none() || index::stamp(db, key, inner)? != stamp {
            // One that was taken away since it was listed is not there.
            let Some((bytes, stamp)) = look.read(&path)? else { return Ok(()) };
            let record = decode(&path, inner, &bytes)?;
            index::put(db, key, session, &record, stamp)?;
        }
        found.add(kind);
        seen.insert(inner.to_owned());
        Ok(())
    })?;
    let known = index::files(db, key)?.into_iter().map(|(path, _)| path);
    let mut gone = known.filter(|path| !seen.contains(path));
    if let Some((place, wrong)) = head.files.differences(&found).into_iter().next() {
        // Of the very state the head speaks of the index knows every file by name.
        return Err(match gone.next().filter(|_| is_known) {
            Some(path) => corrupt(&format!("{root}/{path}"), "the file is missing"),
            None => corrupt(&format!("{root}/{place}"), &wrong),
        }
        .into());
    }
    for path in gone {
        if let Some(spot) = index::spot(db, key, &path)? {
            index::remove(db, key, session, &spot)?;
        }
    }
    Ok(())
}

/// Visits every file below a folder, by its path from there on.
pub(crate) fn walk(
    folder: &Folder,
    root: &str,
    below: &str,
    visit: &mut impl FnMut(&str) -> FilesFaultResult<()>,
) -> FilesFaultResult<()> {
    let here = if below.is_empty() { root.to_owned() } else { format!("{root}/{below}") };
    for entry in folder.list(&here)? {
        let inner = if below.is_empty() { entry.name } else { format!("{below}/{}", entry.name) };
        match entry.form {
            // Nothing of ours is nested so deeply; a loop of mounts would be.
            Form::Folder if inner.matches('/').count() < 8 => walk(folder, root, &inner, visit)?,
            Form::Folder => {}
            Form::File | Form::Other => visit(&inner)?,
        }
    }
    Ok(())
}
