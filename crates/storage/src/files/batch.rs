//! A group of commits in the making: what it changes in the index's transaction, and the files that
//! follow from it.

use std::collections::BTreeMap;

use contexture_core::{
    SessionId,
    storage::{Content, ContentHash},
};
use rusqlite::Connection;

use super::{
    folder::{Folder, Look, Stamp},
    index::{self, FilesFaultResult},
    journal::{Op, Ops},
    names::{self, Kind, Spot},
    record::{Head, Record, corrupt},
    tally::Tally,
};

/// A group in the making.
pub(crate) struct Batch<'a> {
    pub(crate) db: &'a Connection,
    look: Look<'a>,
    clock: &'a mut i64,
    /// What commits before the present one write.
    kept: BTreeMap<String, Op>,
    /// What the present one writes.
    current: BTreeMap<String, Op>,
    /// The session the present one writes to: its key, and its head, which is written last, when the
    /// files beside it are counted.
    head: Option<(i64, Head)>,
    purges: bool,
}

/// As of when a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsOf {
    /// With what the present commit writes.
    Now,
    /// As it was before the present commit.
    Before,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(db: &'a Connection, folder: &'a Folder, clock: &'a mut i64) -> Self {
        let (kept, current) = (BTreeMap::new(), BTreeMap::new());
        Self { db, look: folder.look(), clock, kept, current, head: None, purges: false }
    }

    /// Keeps what the present commit writes, and begins the next.
    pub(crate) fn keep(&mut self) -> FilesFaultResult<()> {
        if let Some((_, head)) = self.head.take() {
            let path = format!("{}/{}", names::session(&head.info.id), names::HEAD);
            let stamp = self.write(path, &Record::Head(head.clone()))?;
            index::put_head(self.db, &head, stamp)?;
        }
        self.kept.append(&mut self.current);
        Ok(())
    }

    /// Forgets what the present commit writes.
    pub(crate) fn forget(&mut self) {
        self.current.clear();
        self.head = None;
    }

    /// Returns all that is written, and whether traces of something must go.
    pub(crate) fn finish(self) -> (Ops, bool) {
        (self.kept.into_iter().collect(), self.purges)
    }

    /// Says that what is taken away must leave no trace.
    pub(crate) fn purge(&mut self) {
        self.purges = true;
    }

    /// Writes a session's head, before all else of it; returns the session's key.
    pub(crate) fn put_head(&mut self, head: Head) -> FilesFaultResult<i64> {
        let key = index::put_head(self.db, &head, Stamp::default())?;
        self.head = Some((key, head));
        Ok(key)
    }

    /// Writes a file of a session.
    pub(crate) fn put(
        &mut self,
        key: i64,
        session: &SessionId,
        record: &Record,
    ) -> FilesFaultResult<()> {
        let inner = record.spot().path();
        if index::stamp(self.db, key, &inner)?.is_none() {
            self.count(key, &inner, Tally::add);
        }
        let stamp = self.write(format!("{}/{inner}", names::session(session)), record)?;
        Ok(index::put(self.db, key, session, record, stamp)?)
    }

    fn write(&mut self, path: String, record: &Record) -> FilesFaultResult<Stamp> {
        let bytes = record.encode(&path)?;
        *self.clock += 1;
        let stamp =
            Stamp { time: *self.clock, size: i64::try_from(bytes.len()).unwrap_or(i64::MAX) };
        self.current.insert(path, Op::Put { time: stamp.time, bytes });
        Ok(stamp)
    }

    /// Removes a file of a session, if there is one.
    pub(crate) fn delete(
        &mut self,
        key: i64,
        session: &SessionId,
        spot: &Spot,
    ) -> FilesFaultResult<()> {
        let path = spot.path();
        if index::stamp(self.db, key, &path)?.is_some() {
            index::remove(self.db, key, session, spot)?;
            self.count(key, &path, Tally::take);
            self.current.insert(format!("{}/{path}", names::session(session)), Op::Delete);
        }
        Ok(())
    }

    /// Counts a file that comes or goes in its session's head.
    fn count(&mut self, key: i64, inner: &str, count: fn(&mut Tally, Kind)) {
        if let Some((of, head)) = &mut self.head
            && *of == key
            && let Some(kind) = Kind::of(inner)
        {
            count(&mut head.files, kind);
        }
    }

    /// Returns a content of a session; none where no file carries it.
    pub(crate) fn content(
        &mut self,
        key: i64,
        session: &SessionId,
        hash: ContentHash,
    ) -> FilesFaultResult<Option<Content>> {
        let carriers = index::carriers(self.db, key, hash)?;
        let mut fault = None;
        for spot in carriers {
            match self.carried(session, &spot, hash, AsOf::Now) {
                Ok(Some(content)) => return Ok(Some(content)),
                Ok(None) => {}
                Err(error) => fault = Some(error),
            }
        }
        match fault {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }

    /// Returns the content of that hash, if this file carries it.
    pub(crate) fn carried(
        &mut self,
        session: &SessionId,
        spot: &Spot,
        hash: ContentHash,
        as_of: AsOf,
    ) -> FilesFaultResult<Option<Content>> {
        let inner = spot.path();
        let path = format!("{}/{inner}", names::session(session));
        let pending = match as_of {
            AsOf::Now => self.current.get(&path).or_else(|| self.kept.get(&path)),
            AsOf::Before => self.kept.get(&path),
        };
        let bytes = match pending {
            Some(Op::Put { bytes, .. }) => bytes.clone(),
            Some(_) => return Ok(None),
            None => match self.look.read(&path)? {
                Some((bytes, _)) => bytes,
                None => return Err(corrupt(&path, "the file is missing").into()),
            },
        };
        Ok(carried(&path, &inner, &bytes, hash)?)
    }
}

/// Returns the content of that hash, if the file's bytes carry it.
pub(crate) fn carried(
    path: &str,
    inner: &str,
    bytes: &[u8],
    hash: ContentHash,
) -> Result<Option<Content>, contexture_core::storage::StorageError> {
    let kind = Kind::of(inner).ok_or_else(|| corrupt(path, "it is not a file of this store"))?;
    let content = match Record::decode(path, kind, bytes)? {
        Record::Page(_, content) => content,
        Record::Content(content) => Some(content),
        _ => None,
    };
    Ok(content.filter(|content| content.hash() == hash))
}
