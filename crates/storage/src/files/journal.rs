//! The journal: what a commit writes stands here first, whole, and that is when it is made.
//!
//! A record is a length, a number, a checksum and the files with their bytes. What does not fit its
//! checksum was torn by a crash and counts for nothing, nor does what stands behind it. Beside it a
//! small file says up to where records have been put in place, and in which life of the machine: what
//! was written before a power cut may not have reached the disk, so then all of them are put in place
//! again.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
};

use contexture_core::{SessionId, storage::StorageError};

use super::{
    folder::{Folder, refused},
    names::is_safe,
};
use crate::{options::Durability, packing::checksum};

pub(crate) const JOURNAL: &str = ".local/journal";
const APPLIED: &str = ".local/applied";

/// What a record does to one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// Writes a file.
    Put {
        /// Its time.
        time: i64,
        bytes: Vec<u8>,
    },
    /// Removes a file.
    Delete,
    /// Removes a session's folder.
    RemoveSession(SessionId),
}

/// A record: paths from the storage's folder on.
pub(crate) type Ops = Vec<(String, Op)>;

/// The open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    applied: File,
    durability: Durability,
    boot: [u8; 16],
    what: std::path::PathBuf,
}

/// Up to where records are in place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    number: u64,
    length: u64,
}

impl Journal {
    /// From this size on it is worth emptying.
    pub(crate) const FULL: u64 = 8 << 20;

    const HEADER: usize = 8 + 8 + 16;

    /// Opens it. A new one must be found after a power cut, or what stands in it is lost.
    pub(crate) fn open(folder: &Folder, durability: Durability) -> Result<Self, StorageError> {
        let is_new = folder.look().stamp(JOURNAL)?.is_none();
        let journal = Self {
            file: folder.open_file(JOURNAL)?,
            applied: folder.open_file(APPLIED)?,
            durability,
            boot: boot()?,
            what: folder.path().join(JOURNAL),
        };
        if is_new && durability == Durability::PowerCut {
            folder.sync()?;
        }
        Ok(journal)
    }

    /// Reads the records of a folder that are not in place, where they cannot be put there.
    pub(crate) fn unplaced(folder: &Folder) -> Result<Vec<Ops>, StorageError> {
        let Some(file) = folder.open_to_read(JOURNAL)? else { return Ok(Vec::new()) };
        let mut journal = Self {
            // Where it is not said, nothing counts as in place.
            applied: match folder.open_to_read(APPLIED)? {
                Some(applied) => applied,
                None => file.try_clone().map_err(|error| refused(folder.path(), &error))?,
            },
            file,
            durability: Durability::Process,
            boot: boot()?,
            what: folder.path().join(JOURNAL),
        };
        Ok(journal.pending()?.0)
    }

    pub(crate) fn len(&self) -> Result<u64, StorageError> {
        Ok(self.file.metadata().map_err(|error| self.failed(&error))?.len())
    }

    /// Reads up to where records are in place; none where all of them are to be put in place again.
    pub(crate) fn applied(&self) -> Option<Mark> {
        let mut bytes = [0; 48];
        self.applied.read_exact_at(&mut bytes, 0).ok()?;
        let number = u64::from_le_bytes(bytes[..8].try_into().ok()?);
        let length = u64::from_le_bytes(bytes[8..16].try_into().ok()?);
        let sound = bytes[32..] == checksum(&[&bytes[..32]]) && bytes[16..32] == self.boot;
        sound.then_some(Mark { number, length })
    }

    /// Tells whether every record is in place.
    pub(crate) fn is_done(&self) -> Result<Option<Mark>, StorageError> {
        let length = self.len()?;
        Ok(self.applied().filter(|mark| mark.length == length))
    }

    pub(crate) fn set_applied(&self, mark: Mark) -> Result<(), StorageError> {
        let mut bytes = [0; 48];
        bytes[..8].copy_from_slice(&mark.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&mark.length.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.boot);
        let sum = checksum(&[&bytes[..32]]);
        bytes[32..].copy_from_slice(&sum);
        self.applied.write_all_at(&bytes, 0).map_err(|error| self.failed(&error))
    }

    /// Appends a record. It is made when this returns; on an error it is not, unless the error says
    /// that it may be.
    pub(crate) fn append(&mut self, after: Mark, ops: &Ops) -> Result<Mark, StorageError> {
        let number = after.number + 1;
        let payload = encode(ops);
        let length = payload.len() as u64;
        let mut record = Vec::with_capacity(Self::HEADER + payload.len());
        record.extend_from_slice(&length.to_le_bytes());
        record.extend_from_slice(&number.to_le_bytes());
        record.extend_from_slice(&checksum(&[&number.to_le_bytes(), &payload]));
        record.extend_from_slice(&payload);
        let written = self
            .file
            .seek(SeekFrom::Start(after.length))
            .and_then(|_| self.file.write_all(&record))
            .and_then(|()| self.sync());
        match written {
            Ok(()) => Ok(Mark { number, length: after.length + record.len() as u64 }),
            Err(error) => {
                self.take_back(after).map_err(maybe_made)?;
                Err(self.failed(&error))
            }
        }
    }

    /// Forgets all records behind a mark.
    pub(crate) fn take_back(&mut self, to: Mark) -> Result<(), StorageError> {
        let cut = self.file.set_len(to.length).and_then(|()| self.sync());
        cut.map_err(|error| self.failed(&error))
    }

    fn sync(&self) -> std::io::Result<()> {
        match self.durability {
            Durability::PowerCut => self.file.sync_data(),
            Durability::Process => Ok(()),
        }
    }

    /// Reads the records that are not in place, and up to where it is sound.
    pub(crate) fn pending(&mut self) -> Result<(Vec<Ops>, Mark), StorageError> {
        let applied = self.applied();
        let mut bytes = Vec::new();
        let read =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        read.map_err(|error| self.failed(&error))?;
        let mut mark = Mark { number: applied.map_or(0, |mark| mark.number), length: 0 };
        let (mut pending, mut rest) = (Vec::new(), &bytes[..]);
        while let Some((number, ops, length)) = next(rest) {
            if applied.is_none_or(|applied| number > applied.number) {
                pending.push(ops);
            }
            mark = Mark { number: mark.number.max(number), length: mark.length + length as u64 };
            rest = &rest[length..];
        }
        Ok((pending, mark))
    }

    /// Empties it. Everything it holds must be in place, for good.
    pub(crate) fn empty(&mut self, mark: Mark) -> Result<Mark, StorageError> {
        let empty = Mark { length: 0, ..mark };
        self.take_back(empty)?;
        self.set_applied(empty)?;
        Ok(empty)
    }

    fn failed(&self, error: &std::io::Error) -> StorageError {
        refused(&self.what, error)
    }
}

/// Returns which life of the machine this is. Where the system does not tell, every opening counts as a
/// new one.
fn boot() -> Result<[u8; 16], StorageError> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id");
    boot.map_or_else(|_| crate::random::bytes("the journal"), |id| Ok(checksum(&[&id])))
}

impl Mark {
    pub(crate) fn length(self) -> u64 {
        self.length
    }
}

/// Says that what failed may have been done all the same: its record stands in the journal, and whoever
/// takes the lock next may put it in place. That the folder is read-only would say that it was not.
pub(crate) fn maybe_made(error: StorageError) -> StorageError {
    match error {
        StorageError::ReadOnly { what, reason } | StorageError::Unavailable { what, reason } => {
            let reason = format!("{reason}; the edit may have been made");
            StorageError::Unavailable { what, reason }
        }
        error => error,
    }
}

/// Reads a record: its number, what it does, and how long it is.
fn next(bytes: &[u8]) -> Option<(u64, Ops, usize)> {
    let header = bytes.get(..Journal::HEADER)?;
    let length = usize::try_from(u64::from_le_bytes(header[..8].try_into().ok()?)).ok()?;
    let number: [u8; 8] = header[8..16].try_into().ok()?;
    let end = Journal::HEADER.checked_add(length)?;
    let payload = bytes.get(Journal::HEADER..end)?;
    if header[16..] != checksum(&[&number, payload]) {
        return None;
    }
    Some((u64::from_le_bytes(number), decode(payload)?, end))
}

fn encode(ops: &Ops) -> Vec<u8> {
    let mut out = Vec::new();
    let text = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    for (path, op) in ops {
        out.push(match op {
            Op::Put { .. } => 0,
            Op::Delete => 1,
            Op::RemoveSession(_) => 2,
        });
        text(&mut out, path.as_bytes());
        match op {
            Op::Put { time, bytes } => {
                out.extend_from_slice(&time.to_le_bytes());
                text(&mut out, bytes);
            }
            Op::Delete => {}
            Op::RemoveSession(id) => text(&mut out, id.as_str().as_bytes()),
        }
    }
    out
}

/// Reads what [`encode`] wrote; none where a path is not one of ours.
fn decode(mut bytes: &[u8]) -> Option<Ops> {
    let mut ops = Vec::new();
    while let Some((&tag, rest)) = bytes.split_first() {
        bytes = rest;
        let path = String::from_utf8(take(&mut bytes)?.to_vec()).ok()?;
        if !is_safe(&path) {
            return None;
        }
        let op = match tag {
            0 => {
                let (time, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                let time = i64::from_le_bytes(*time);
                Op::Put { time, bytes: take(&mut bytes)?.to_vec() }
            }
            1 => Op::Delete,
            2 => Op::RemoveSession(std::str::from_utf8(take(&mut bytes)?).ok()?.parse().ok()?),
            _ => return None,
        };
        ops.push((path, op));
    }
    Some(ops)
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (taken, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(path: &str, bytes: &[u8]) -> Ops {
        let put = Op::Put { time: 7, bytes: bytes.to_vec() };
        vec![
            (path.to_owned(), put),
            ("sessions/x".to_owned(), Op::RemoveSession("x".parse().unwrap())),
        ]
    }

    #[test]
    fn torn_records_count_for_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let mut journal = Journal::open(&folder, Durability::Process).unwrap();
        let (none, mark) = journal.pending().unwrap();
        assert!(none.is_empty());
        let first = journal.append(mark, &ops("sessions/a/x.json", b"one")).unwrap();
        let second = journal.append(first, &ops("sessions/a/y.json", b"two")).unwrap();
        let whole = std::fs::read(dir.path().join(JOURNAL)).unwrap();
        for length in 0..=whole.len() {
            std::fs::write(dir.path().join(JOURNAL), &whole[..length]).unwrap();
            let (pending, mark) = journal.pending().unwrap();
            let expected = match length as u64 {
                length if length < first.length => 0,
                length if length < second.length => 1,
                _ => 2,
            };
            assert_eq!(pending.len(), expected, "{length}");
            assert_eq!(mark.length, [0, first.length, second.length][expected]);
        }
        assert_eq!(journal.pending().unwrap().0[1], ops("sessions/a/y.json", b"two"));
        // What is in place is not pending, until the machine starts again.
        journal.set_applied(first).unwrap();
        assert_eq!(journal.pending().unwrap().0.len(), 1);
        assert_eq!(journal.is_done().unwrap(), None);
        journal.set_applied(second).unwrap();
        assert_eq!(journal.is_done().unwrap(), Some(second));
        journal.boot = [1; 16];
        assert_eq!(journal.pending().unwrap().0.len(), 2);
        // Numbers go on after it was emptied.
        let empty = journal.empty(second).unwrap();
        let third = journal.append(empty, &ops("sessions/a/z.json", b"")).unwrap();
        assert_eq!((third.number, journal.pending().unwrap().0.len()), (3, 1));
    }

    // That a folder is read-only says that nothing was changed. It must not be said of a record that
    // could not be taken back.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_record_that_stays_may_have_been_made() {
        use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        let mut journal = Journal::open(&folder, Durability::Process).unwrap();
        let mut append = |length: u64, seals: SealFlags| {
            journal.file = memfd_create("journal", MemfdFlags::ALLOW_SEALING).unwrap().into();
            journal.file.set_len(length).unwrap();
            fcntl_add_seals(&journal.file, seals).unwrap();
            journal.append(Mark::default(), &ops("sessions/a/x.json", b"one")).unwrap_err()
        };
        let refused = append(0, SealFlags::GROW);
        assert!(matches!(refused, StorageError::ReadOnly { .. }), "{refused}");
        let stays = append(8, SealFlags::WRITE | SealFlags::SHRINK);
        assert!(matches!(stays, StorageError::Unavailable { .. }), "{stays}");
        assert!(stays.to_string().contains("may have been made"), "{stays}");
    }
}
