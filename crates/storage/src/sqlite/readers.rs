//! A few connections that read, made when they are needed and kept for the next.

use std::{
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use contexture_core::storage::{StorageError, StorageResult};
use rusqlite::Connection;

#[cfg(feature = "files")]
use super::memory;
use super::{
    error::{Fault, FaultResult},
    open,
    still::Still,
};

/// Lends connections. Who asks when all are lent waits.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    kind: Kind,
    stock: Mutex<Stock>,
    returned: Condvar,
    /// A connection whose transaction never ends: every read sees the state it began with.
    pinned: Option<Mutex<Reader>>,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file that others may be writing.
    Shared,
    /// A file that cannot be written from here.
    Still,
    /// A database in memory.
    #[cfg(feature = "files")]
    Memory,
}

#[derive(Debug, Default)]
struct Stock {
    idle: Vec<Reader>,
    lent: usize,
}

/// A connection that reads.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) db: Connection,
    /// What the file must still be for a read to count, where no lock keeps others from writing.
    pub(crate) still: Option<Still>,
}

impl Reader {
    /// Refuses what was read of a file that was changed meanwhile.
    pub(crate) fn check(&self) -> FaultResult<()> {
        self.still.as_ref().map_or(Ok(()), Still::check)
    }
}

impl Readers {
    /// How many there are at most.
    const MOST: usize = 8;

    pub(crate) fn new(path: PathBuf, busy_timeout: Duration) -> Self {
        Self::of_kind(Kind::Shared, path, busy_timeout)
    }

    /// Makes readers of a file that cannot be written from here.
    pub(crate) fn still(path: PathBuf, busy_timeout: Duration) -> Self {
        Self::of_kind(Kind::Still, path, busy_timeout)
    }

    /// Makes readers of a database in memory.
    #[cfg(feature = "files")]
    pub(crate) fn memory(name: PathBuf, busy_timeout: Duration) -> Self {
        Self::of_kind(Kind::Memory, name, busy_timeout)
    }

    fn of_kind(kind: Kind, path: PathBuf, busy_timeout: Duration) -> Self {
        let (stock, returned) = (Mutex::default(), Condvar::new());
        Self { path, busy_timeout, kind, stock, returned, pinned: None }
    }

    /// Opens a connection to be kept.
    pub(crate) fn open(&self) -> FaultResult<Reader> {
        match self.kind {
            Kind::Shared => {
                Ok(Reader { db: open::reader(&self.path, self.busy_timeout)?, still: None })
            }
            Kind::Still => Still::reader(&self.path, self.busy_timeout),
            #[cfg(feature = "files")]
            Kind::Memory => {
                Ok(Reader { db: memory::connect(&self.path, self.busy_timeout)?, still: None })
            }
        }
    }

    /// Returns readers that see the present state for as long as they live.
    pub(crate) fn snapshot(&self) -> StorageResult<Self> {
        let pin = || -> FaultResult<Reader> {
            let reader = match self.kind {
                Kind::Shared | Kind::Still => self.open()?,
                #[cfg(feature = "files")]
                Kind::Memory => self.copied()?,
            };
            reader.db.execute_batch("BEGIN")?;
            // The transaction sees what stands at its first read.
            let sql = "SELECT count(*) FROM sqlite_schema";
            reader.db.query_row(sql, [], |row| row.get::<_, i64>(0))?;
            Ok(reader)
        };
        let reader = pin().map_err(|fault| fault.at(&self.path))?;
        let readers = Self::of_kind(self.kind, self.path.clone(), self.busy_timeout);
        Ok(Self { pinned: Some(Mutex::new(reader)), ..readers })
    }

    /// Returns a connection to a copy: a transaction that never ends would keep all others from writing.
    #[cfg(feature = "files")]
    fn copied(&self) -> FaultResult<Reader> {
        let copy = memory::name();
        let db = memory::connect(&copy, self.busy_timeout)?;
        memory::copy(&memory::connect(&self.path, self.busy_timeout)?, &copy)?;
        Ok(Reader { db, still: None })
    }

    /// Says that a read cannot be made any more.
    pub(crate) fn gone(&self, reason: &str) -> StorageError {
        let (what, reason) = (self.path.display().to_string(), reason.to_owned());
        StorageError::Unavailable { what, reason }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a read in one transaction, so that it sees one state.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> FaultResult<T>,
    ) -> StorageResult<T> {
        self.run(read).map_err(|fault: Fault| fault.at(&self.path))
    }

    /// Runs a read, and leaves its fault without the file's name.
    pub(crate) fn run<T>(
        &self,
        read: impl FnOnce(&Connection) -> FaultResult<T>,
    ) -> FaultResult<T> {
        if let Some(pinned) = &self.pinned {
            let reader = pinned.lock().unwrap_or_else(PoisonError::into_inner);
            let result = read(&reader.db);
            return reader.check().and(result);
        }
        let loan = self.lend()?;
        loan.db.prepare_cached("BEGIN")?.execute([])?;
        let result = read(&loan.db);
        // A read that failed may have ended the transaction itself.
        if !loan.db.is_autocommit() {
            loan.db.prepare_cached("ROLLBACK")?.execute([])?;
        }
        loan.check().and(result)
    }

    fn lend(&self) -> FaultResult<Loan<'_>> {
        let stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stock = self
            .returned
            .wait_while(stock, |stock| stock.idle.is_empty() && stock.lent >= Self::MOST)
            .unwrap_or_else(PoisonError::into_inner);
        let reader = match stock.idle.pop() {
            Some(reader) if reader.check().is_ok() => reader,
            _ => self.open()?,
        };
        stock.lent += 1;
        Ok(Loan { reader: Some(reader), readers: self })
    }
}

/// A connection on loan.
struct Loan<'a> {
    /// There until it is given back.
    reader: Option<Reader>,
    readers: &'a Readers,
}

impl std::ops::Deref for Loan<'_> {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        self.reader.as_ref().expect("it is given back only when dropped")
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut stock = self.readers.stock.lock().unwrap_or_else(PoisonError::into_inner);
        stock.lent -= 1;
        // One that is still in a transaction would read the past forever.
        stock.idle.extend(self.reader.take().filter(|reader| reader.db.is_autocommit()));
        drop(stock);
        self.readers.returned.notify_one();
    }
}
