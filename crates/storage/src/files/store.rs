//! What the writer's thread owns: the lock, the journal, the index, and how a group of commits gets
//! from one to the other.
//!
//! ```text
//! lock ─► recover ─► stage in the index's transaction ─► new files in tmp ─► journal, synced
//!                                    (the commit point) ─► index committed ─► files put in place
//! ```
//!
//! What fails before the commit point leaves nothing behind; what fails after it is done again by
//! whoever takes the lock next.

mod lock;
mod reading;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use contexture_core::{
    SessionId,
    storage::{StorageError, StorageResult, Trace},
};
use rustix::fs::{FlockOperation, flock};

use super::{
    FilesOptions,
    batch::Batch,
    folder::{Folder, refused},
    identity::now,
    index::{self, FilesFault, FilesFaultResult, Index, Opened},
    journal::{Journal, Mark, Op, Ops, maybe_made},
    names,
    place::{discard, take_in, write_new},
    repair::set_remains_aside,
    writer::Task,
};
use crate::{
    options::Durability,
    sqlite::traces::{self, Due, Reach, TraceReason},
};
use lock::acquire;

const LOCK: &str = ".local/lock";
const INDEX: &str = ".local/index.db";

/// What the writer and the readers of one storage share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) folder: Folder,
    pub(crate) options: FilesOptions,
    /// Held for writing while files and index are not of one state.
    pub(crate) one_state: RwLock<()>,
    /// The name of the index where it is in memory, because nothing can be written.
    pub(crate) memory: Option<PathBuf>,
}

impl Shared {
    pub(crate) fn new(folder: Folder, options: FilesOptions) -> Self {
        Self { folder, options, one_state: RwLock::default(), memory: None }
    }

    pub(crate) fn index_path(&self) -> PathBuf {
        self.memory.clone().unwrap_or_else(|| self.folder.path().join(INDEX))
    }
}

/// The writer's side of a folder.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) shared: Arc<Shared>,
    /// None where there is no file to lock and none can be made.
    lock: Option<File>,
    /// None where nothing can be written.
    journal: Option<Journal>,
    pub(crate) index: Index,
    /// Up to where the journal is in place, while the lock is held.
    mark: Mark,
    /// Whether the journal may hold more than is in place, although the lock is held.
    unplaced: bool,
    /// The time last given to a file: no two get the same.
    clock: i64,
    /// Names files in the making, unlike those of other processes.
    prefix: String,
    made: u64,
}

impl Store {
    /// Opens the folder, making what is missing, and brings it to one state.
    pub(crate) fn open(shared: Arc<Shared>) -> StorageResult<Self> {
        let folder = &shared.folder;
        folder.make(names::TMP)?;
        let lock = folder.open_file(LOCK)?;
        acquire(&lock, &folder.path().join(LOCK), shared.options.busy_timeout)?;
        let journal = Journal::open(folder, shared.options.durability)?;
        let opened = Index::open(&shared.index_path(), shared.options.busy_timeout)?;
        let (index, made) = match opened {
            Opened::Kept(index) => (index, false),
            Opened::Made(index) => (index, true),
        };
        let random: [u8; 8] = crate::random::bytes("a name for new files")?;
        let prefix = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mark = Mark::default();
        let (unplaced, clock) = (false, 0);
        let (lock, journal) = (Some(lock), Some(journal));
        let mut store =
            Self { shared, lock, journal, index, mark, unplaced, clock, prefix, made: 0 };
        super::identity::claim(&store.shared.folder)?;
        store.clear_tmp()?;
        store.recover()?;
        if made {
            store.sync_all().map_err(|fault| fault.at(&store.index.path))?;
        }
        if Due::of(&store.index.path).is_there() {
            store.scrub(Reach::QUICK);
        }
        if store.mark.length() > 0 {
            store.checkpoint()?;
        }
        store.release();
        Ok(store)
    }

    /// Removes what a crash left behind.
    fn clear_tmp(&self) -> StorageResult<()> {
        let folder = &self.shared.folder;
        for entry in folder.list(names::TMP)? {
            let path = format!("{}/{}", names::TMP, entry.name);
            match entry.form {
                super::folder::Form::Folder => folder.remove_all(&path)?,
                _ => folder.remove(&path)?,
            }
        }
        Ok(())
    }

    /// Takes the lock and brings everything to one state.
    pub(crate) fn acquire(&mut self) -> StorageResult<()> {
        if self.shared.memory.is_some() {
            return self.hold();
        }
        let path = self.shared.folder.path().join(LOCK);
        acquire(self.locked(), &path, self.shared.options.busy_timeout)?;
        let result = self.refresh(&path).and_then(|()| self.recover());
        if result.is_err() {
            self.release();
        }
        result
    }

    /// Opens again what somebody has put something else in the place of.
    fn refresh(&mut self, lock: &Path) -> StorageResult<()> {
        let ours = self.locked().metadata().map_err(|error| refused(lock, &error))?.ino();
        let lies = |path: &Path| index::inode(path).map_err(|fault| fault.at(path));
        if lies(lock)? != Some(ours) {
            let folder = &self.shared.folder;
            folder.make(names::TMP)?;
            let fresh = folder.open_file(LOCK)?;
            acquire(&fresh, lock, self.shared.options.busy_timeout)?;
            self.lock = Some(fresh);
            let durability = self.shared.options.durability;
            self.journal = Some(Journal::open(folder, durability)?);
            super::identity::claim(folder)?;
        }
        if lies(&self.index.path)? != Some(self.index.inode) {
            let opened = Index::open(&self.index.path, self.shared.options.busy_timeout)?;
            match opened {
                Opened::Kept(index) => self.index = index,
                Opened::Made(index) => {
                    self.index = index;
                    self.recover()?;
                    self.sync_all().map_err(|fault| fault.at(&self.index.path))?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn release(&self) {
        // Closing the file would release it too; there is nobody to tell.
        let _ = self.lock.as_ref().map(|lock| flock(lock, FlockOperation::Unlock));
    }

    fn locked(&self) -> &File {
        self.lock.as_ref().expect("a folder that is written has its lock open")
    }

    fn journal(&mut self) -> &mut Journal {
        self.journal.as_mut().expect("a folder that is written has its journal open")
    }

    /// Puts in place what the journal holds and a crash kept from it.
    fn recover(&mut self) -> StorageResult<()> {
        if let Some(mark) = self.journal().is_done()?
            && !self.unplaced
        {
            self.mark = mark;
            return Ok(());
        }
        let (pending, mark) = self.journal().pending()?;
        let is_crash = !pending.is_empty();
        for ops in &pending {
            let redone = self.redo(ops);
            match redone {
                Err(fault) if fault.is_damage() => {
                    self.remake_index()?;
                    self.redo(ops).map_err(|fault| fault.at(&self.index.path))?;
                }
                redone => redone.map_err(|fault| fault.at(&self.index.path))?,
            }
        }
        if self.journal().len()? > mark.length() {
            self.journal().take_back(mark)?;
        }
        self.mark = mark;
        self.unplaced = false;
        if is_crash {
            // The index may have lost what it knew before, or not taken in files half in place.
            match self.sync_partial() {
                Err(fault) if fault.is_damage() => self.remake_index()?,
                synced => synced.map_err(|fault| fault.at(&self.index.path))?,
            }
        }
        // Only now: who is killed before this does all of it again.
        self.journal().set_applied(mark)
    }

    /// Puts in place what a group that was made could not. Without it nothing may be taken from the
    /// files: they are of two states.
    pub(crate) fn finish_placing(&mut self) -> StorageResult<()> {
        if !self.unplaced {
            return Ok(());
        }
        self.recover().map_err(|error| StorageError::Unavailable {
            what: self.shared.folder.path().display().to_string(),
            reason: format!("files of a commit are not in place yet: {error}"),
        })
    }

    fn redo(&mut self, ops: &Ops) -> FilesFaultResult<()> {
        let shared = self.shared.clone();
        let _one_state = shared.one_state.write().unwrap_or_else(PoisonError::into_inner);
        let transaction = self.index.db.unchecked_transaction()?;
        take_in(&transaction, ops)?;
        transaction.commit()?;
        let made = self.write_new(ops)?;
        Ok(self.place(ops, &made)?)
    }

    /// Makes a group of commits, all or none; what each of them is answered, its task knows.
    pub(crate) fn group(&mut self, tasks: &mut [Box<dyn Task>]) -> StorageResult<()> {
        match self.try_group(tasks) {
            Err(fault) if fault.is_damage() => {
                tracing::info!(index = %self.index.path.display(), "the index is damaged and is rebuilt");
                self.remake_index()?;
                self.try_group(tasks).map_err(|fault| fault.at(&self.index.path))
            }
            made => made.map_err(|fault| fault.at(&self.index.path)),
        }
    }

    fn try_group(&mut self, tasks: &mut [Box<dyn Task>]) -> FilesFaultResult<()> {
        if self.unplaced {
            self.recover()?;
        }
        let sessions: BTreeSet<SessionId> =
            tasks.iter().map(|task| task.session().clone()).collect();
        let mut broken: BTreeMap<SessionId, StorageError> = BTreeMap::new();
        let mut absent: BTreeSet<String> = BTreeSet::new();
        for session in sessions {
            match self.heal(&session, &[]) {
                Ok(()) if index::key(&self.index.db, &session)?.is_none() => {
                    absent.insert(names::session(&session));
                }
                Ok(()) => {}
                Err(FilesFault::Storage(error)) => drop(broken.insert(session, error)),
                Err(fault) => return Err(fault),
            }
        }
        let shared = self.shared.clone();
        let mut clock = self.clock.max(now());
        let transaction = self.index.db.unchecked_transaction()?;
        let mut batch = Batch::new(&transaction, &shared.folder, &mut clock);
        for task in tasks.iter_mut() {
            if let Some(error) = broken.get(task.session()) {
                task.refuse(error.clone());
                continue;
            }
            transaction.execute_batch("SAVEPOINT task")?;
            match task.stage(&mut batch).and_then(|()| batch.keep()) {
                Ok(()) => {}
                Err(FilesFault::Storage(error)) => {
                    transaction.execute_batch("ROLLBACK TO task")?;
                    batch.forget();
                    task.refuse(error);
                }
                Err(fault) => return Err(fault),
            }
            transaction.execute_batch("RELEASE task")?;
        }
        let (ops, purges) = batch.finish();
        if ops.is_empty() {
            return Ok(());
        }
        if purges {
            Due::of(&self.index.path).begin()?;
        }
        // A session that is made must not find the files of another in its place.
        for place in absent {
            let head = format!("{place}/{}", names::HEAD);
            if ops.iter().any(|(path, _)| *path == head) {
                clock += 1;
                set_remains_aside(&shared.folder, &place, clock)?;
            }
        }
        let made = write_new(&shared.folder, &self.prefix, &mut self.made, &ops)?;
        let after = self.mark;
        let journal = self.journal.as_mut().expect("a folder that is written has its journal open");
        let mark = match journal.append(after, &ops) {
            Ok(mark) => mark,
            Err(error) => {
                // Whether it stands there all the same is seen before the next.
                self.unplaced = true;
                discard(&shared.folder, &made);
                return Err(error.into());
            }
        };
        let one_state = shared.one_state.write().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = transaction.commit() {
            drop(one_state);
            self.unplaced = true;
            journal.take_back(after).map_err(maybe_made)?;
            self.unplaced = false;
            discard(&shared.folder, &made);
            return Err(error.into());
        }
        self.clock = clock;
        let placed = self.place(&ops, &made);
        drop(one_state);
        // It is made all the same: where this fails, the rest is put in place before the next.
        if let Err(error) = placed.and_then(|()| self.journal().set_applied(mark)) {
            tracing::warn!(%error, "files of a commit are not in place yet");
            self.unplaced = true;
            return Ok(());
        }
        self.mark = mark;
        self.tidy(purges);
        Ok(())
    }

    /// Empties the journal where that is due. What was made is made, whatever comes of it.
    pub(super) fn tidy(&mut self, purges: bool) {
        if purges {
            self.scrub(Reach::QUICK);
        } else if self.mark.length() > Journal::FULL
            && let Err(error) = self.checkpoint()
        {
            tracing::warn!(%error, "the journal could not be emptied");
        }
    }

    /// Leaves nothing in journal and index of what was taken out; returns what is left all the same.
    ///
    /// A large index is rewritten only when somebody asks for it: that stops the writer for seconds.
    pub(crate) fn scrub(&mut self, reach: Reach) -> Vec<Trace> {
        let patience = (reach != Reach::Full).then_some(traces::IN_PASSING);
        let due = Due::of(&self.index.path);
        let earlier = due.read().unwrap_or_default();
        let mut remaining = traces::wipe(&self.index.db, &earlier.remaining, reach, patience);
        let emptied = self.checkpoint();
        if let Err(error) = &emptied {
            tracing::warn!(%error, "the journal could not be emptied");
        }
        if emptied.is_err() || self.mark.length() > 0 {
            remaining.push(TraceReason::Journal);
        }
        due.update(&earlier, &remaining);
        let index = self.index.path.display().to_string();
        remaining.into_iter().map(|reason| reason.trace(&index)).collect()
    }

    /// Empties the journal once everything in it is on disk for good.
    pub(crate) fn checkpoint(&mut self) -> StorageResult<()> {
        if self.journal().is_done()? != Some(self.mark) {
            return Ok(());
        }
        if self.shared.options.durability == Durability::PowerCut {
            self.shared.folder.sync()?;
        }
        let mark = self.mark;
        self.mark = self.journal().empty(mark)?;
        Ok(())
    }

    /// Empties the journal, so that nothing of it is put in place again over what comes now.
    pub(super) fn empty_journal(&mut self) -> StorageResult<()> {
        if self.unplaced {
            self.recover()?;
        }
        self.checkpoint()?;
        if self.mark.length() == 0 {
            return Ok(());
        }
        let what = self.shared.folder.path().display().to_string();
        Err(StorageError::Unavailable { what, reason: "the journal cannot be emptied".to_owned() })
    }

    /// Ends: the journal is left empty, if nobody else is at work.
    pub(crate) fn close(&mut self) {
        if self.shared.memory.is_some() {
            return;
        }
        if flock(self.locked(), FlockOperation::NonBlockingLockExclusive).is_ok() {
            let closed = self.recover().and_then(|()| match self.mark.length() {
                0 => Ok(()),
                _ => self.checkpoint(),
            });
            if let Err(error) = closed {
                tracing::debug!(%error, "the journal could not be emptied");
            }
            self.release();
        }
    }

    /// Removes a session. Tells whether it was there.
    pub(crate) fn remove_session(&mut self, session: &SessionId) -> FilesFaultResult<bool> {
        let folder = names::session(session);
        self.shared.folder.remove_all(&super::import::staging(session))?;
        self.heal(session, &[]).or_else(|fault| match fault {
            // What cannot be read can be removed.
            FilesFault::Storage(StorageError::Corrupt { .. }) => Ok(()),
            fault => Err(fault),
        })?;
        let head = format!("{folder}/{}", names::HEAD);
        let known = index::key(&self.index.db, session)?.is_some();
        if !known && self.shared.folder.look().stamp(&head)?.is_none() {
            return Ok(false);
        }
        if self.unplaced {
            self.recover()?;
        }
        let ops = vec![(folder, Op::RemoveSession(session.clone()))];
        Due::of(&self.index.path).begin()?;
        self.unplaced = true;
        let after = self.mark;
        let mark = self.journal().append(after, &ops)?;
        self.redo(&ops).map_err(|fault| match fault.is_damage() {
            true => fault,
            false => maybe_made(fault.at(&self.index.path)).into(),
        })?;
        self.journal().set_applied(mark).map_err(maybe_made)?;
        (self.mark, self.unplaced) = (mark, false);
        self.tidy(true);
        Ok(true)
    }

    fn write_new(&mut self, ops: &Ops) -> StorageResult<Vec<String>> {
        write_new(&self.shared.folder, &self.prefix, &mut self.made, ops)
    }

    /// Puts new files in place and takes old ones away; the heads of sessions come last.
    fn place(&mut self, ops: &Ops, made: &[String]) -> StorageResult<()> {
        let folder = &self.shared.folder;
        let is_head = |path: &str| path.ends_with("/session.json");
        let mut made = made.iter();
        let mut heads = Vec::new();
        for (path, op) in ops {
            match op {
                Op::Put { .. } => {
                    let new = made.next().expect("each new file was written");
                    if is_head(path) {
                        heads.push((new, path));
                    } else {
                        folder.rename(new, path)?;
                    }
                }
                Op::Delete => folder.remove(path)?,
                Op::RemoveSession(_) => {
                    let away = format!("{}/{}-removed", names::TMP, self.prefix);
                    folder.remove_all(&away)?;
                    if folder
                        .look()
                        .stamp(&format!("{path}/{}", names::HEAD))
                        .is_ok_and(|stamp| stamp.is_some())
                        || !folder.list(path)?.is_empty()
                    {
                        folder.rename(path, &away)?;
                        folder.remove_all(&away)?;
                    }
                }
            }
        }
        heads.into_iter().try_for_each(|(new, path)| folder.rename(new, path))
    }

    /// Makes the index anew from the files.
    pub(crate) fn remake_index(&mut self) -> StorageResult<()> {
        let (path, patience) = (self.index.path.clone(), self.shared.options.busy_timeout);
        let shared = self.shared.clone();
        let _one_state = shared.one_state.write().unwrap_or_else(PoisonError::into_inner);
        // One in memory cannot be damaged.
        if shared.memory.is_none() {
            self.index = Index::make(&path, patience)?;
        }
        self.sync_all().map_err(|fault| fault.at(&path))
    }

    /// Returns a time for a file, later than any before.
    pub(crate) fn tick(&mut self) -> i64 {
        self.clock = now().max(self.clock + 1);
        self.clock
    }
}
