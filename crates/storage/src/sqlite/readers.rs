//! A few connections that read, made when they are needed and kept for the next.

use std::{
    path::{Path, PathBuf},
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use contexture_core::storage::StorageResult;
use rusqlite::Connection;

use super::{
    error::{Fault, Outcome},
    open,
};

/// Lends connections. Who asks when all are lent waits.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    stock: Mutex<Stock>,
    returned: Condvar,
    /// A connection whose transaction never ends: every read sees the state it began with.
    pinned: Option<Mutex<Connection>>,
}

#[derive(Debug, Default)]
struct Stock {
    idle: Vec<Connection>,
    lent: usize,
}

impl Readers {
    /// How many there are at most.
    const MOST: usize = 8;

    pub(crate) fn new(path: PathBuf, busy_timeout: Duration) -> Self {
        let (stock, returned) = (Mutex::default(), Condvar::new());
        Self { path, busy_timeout, stock, returned, pinned: None }
    }

    /// Returns readers that see the present state for as long as they live.
    pub(crate) fn snapshot(&self) -> StorageResult<Self> {
        let pin = || -> Outcome<Connection> {
            let db = open::reader(&self.path, self.busy_timeout)?;
            db.execute_batch("BEGIN")?;
            // The transaction sees what stands at its first read.
            db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
            Ok(db)
        };
        let db = pin().map_err(|fault| fault.at(&self.path))?;
        let readers = Self::new(self.path.clone(), self.busy_timeout);
        Ok(Self { pinned: Some(Mutex::new(db)), ..readers })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a read in one transaction, so that it sees one state.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> Outcome<T>) -> StorageResult<T> {
        self.run(read).map_err(|fault: Fault| fault.at(&self.path))
    }

    /// Runs a read, and leaves its fault without the file's name.
    pub(crate) fn run<T>(&self, read: impl FnOnce(&Connection) -> Outcome<T>) -> Outcome<T> {
        if let Some(pinned) = &self.pinned {
            return read(&pinned.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let loan = self.lend()?;
        loan.prepare_cached("BEGIN")?.execute([])?;
        let result = read(&loan);
        loan.prepare_cached("ROLLBACK")?.execute([])?;
        result
    }

    fn lend(&self) -> Outcome<Loan<'_>> {
        let stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stock = self
            .returned
            .wait_while(stock, |stock| stock.idle.is_empty() && stock.lent >= Self::MOST)
            .unwrap_or_else(PoisonError::into_inner);
        let db = match stock.idle.pop() {
            Some(db) => db,
            None => open::reader(&self.path, self.busy_timeout)?,
        };
        stock.lent += 1;
        Ok(Loan { db: Some(db), readers: self })
    }
}

/// A connection on loan.
struct Loan<'a> {
    /// There until it is given back.
    db: Option<Connection>,
    readers: &'a Readers,
}

impl std::ops::Deref for Loan<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.db.as_ref().expect("it is given back only when dropped")
    }
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut stock = self.readers.stock.lock().unwrap_or_else(PoisonError::into_inner);
        stock.lent -= 1;
        // One that is still in a transaction would read the past forever.
        stock.idle.extend(self.db.take().filter(Connection::is_autocommit));
        drop(stock);
        self.readers.returned.notify_one();
    }
}
