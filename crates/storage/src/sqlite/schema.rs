//! The tables, and how a file gets from one version of them to the next.
//!
//! Sessions and segments have short integer keys, so that the rows of pages stay small. A row that
//! is decoded carries a checksum over its key and its data ([`super::rows`]); columns beside the
//! data exist only to find it, and are compared with it when it is read.

use contexture_core::storage::StorageError;
use rusqlite::Connection;

use super::error::{Fault, Outcome};

/// Marks a database as ours: "Ctxr".
pub(crate) const APPLICATION_ID: i32 = 0x4374_7872;

/// The version of the tables this program knows.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// Each brings the tables from the version of its position to the next. Never changed once released.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        app TEXT NOT NULL,
        revision INTEGER NOT NULL,
        next_place INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        checksum BLOB NOT NULL
    ) STRICT;

    -- Without data a row only gives a name its key, for what may refer to a segment that is not there.
    CREATE TABLE segments (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        data BLOB,
        checksum BLOB NOT NULL,
        UNIQUE (session, name)
    ) STRICT;

    -- standing: 0 listed, 1 archived cold, 2 moved. turn_author: only for pages of a turn.
    CREATE TABLE pages (
        segment INTEGER NOT NULL,
        number INTEGER NOT NULL,
        parent INTEGER,
        place INTEGER NOT NULL,
        standing INTEGER NOT NULL,
        version INTEGER NOT NULL,
        turn_author TEXT,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (segment, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX pages_by_parent ON pages (segment, parent, standing, place)
        WHERE parent IS NOT NULL;
    CREATE INDEX pages_unlisted ON pages (segment, standing, number) WHERE standing <> 0;
    CREATE INDEX pages_of_turns ON pages (segment, turn_author, place)
        WHERE turn_author IS NOT NULL AND standing = 0;

    -- How many pages a directory lists, because counting a million takes too long.
    CREATE TABLE directories (
        segment INTEGER NOT NULL,
        number INTEGER NOT NULL,
        listed INTEGER NOT NULL,
        PRIMARY KEY (segment, number)
    ) STRICT, WITHOUT ROWID;

    -- The blob lies apart, so that counting a reference does not rewrite it. raw: the size before
    -- compression, where the blob is compressed.
    CREATE TABLE contents (
        hash BLOB PRIMARY KEY,
        refs INTEGER NOT NULL,
        raw INTEGER,
        blob INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE blobs (
        id INTEGER PRIMARY KEY,
        data BLOB NOT NULL
    ) STRICT;

    CREATE TABLE levels (
        session INTEGER NOT NULL,
        view TEXT NOT NULL,
        segment INTEGER NOT NULL,
        chunk INTEGER NOT NULL,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, view, segment, chunk)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE focus (
        session INTEGER NOT NULL,
        view TEXT NOT NULL,
        page TEXT NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, view)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE custom (
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        content TEXT NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, name)
    ) STRICT, WITHOUT ROWID;

    -- undoable: 1 while the edit is neither undone nor an undo.
    CREATE TABLE history (
        session INTEGER NOT NULL,
        revision INTEGER NOT NULL,
        actor TEXT NOT NULL,
        undoable INTEGER NOT NULL,
        raw INTEGER,
        data BLOB NOT NULL,
        checksum BLOB NOT NULL,
        PRIMARY KEY (session, revision)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX history_by_actor ON history (session, actor, undoable, revision);
"];

/// What a database says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    application: i32,
    version: i64,
    /// How often its schema changed; 0 for a file in which nothing was ever made.
    changes: i64,
}

impl Identity {
    /// Reads it from the database's header.
    pub(crate) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok(Self {
            application: db.pragma_query_value(None, "application_id", |row| row.get(0))?,
            version: number("user_version")?,
            changes: number("schema_version")?,
        })
    }

    /// Tells whether nothing was ever written, so that it may become ours.
    pub(crate) fn is_blank(self) -> bool {
        self == Self { application: 0, version: 0, changes: 0 }
    }

    /// Tells whether its tables are the ones this program knows.
    pub(crate) fn is_current(self) -> bool {
        self.application == APPLICATION_ID && self.version == VERSION
    }

    /// Refuses what is not ours, or was written by a later program.
    pub(crate) fn check(self, what: &str) -> Result<(), StorageError> {
        if self.application != APPLICATION_ID {
            return Err(StorageError::Foreign {
                what: what.to_owned(),
                reason: format!("it is a SQLite database with application id {}", self.application),
            });
        }
        if self.version > VERSION {
            let (found, known) = (self.version, VERSION);
            return Err(StorageError::Newer { what: what.to_owned(), found, known });
        }
        Ok(())
    }
}

/// Makes or updates the tables, all or nothing. Several processes may do so at once.
pub(crate) fn migrate(db: &mut Connection, what: &str) -> Outcome<()> {
    let transaction = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let identity = Identity::read(&transaction)?;
    if !identity.is_blank() {
        identity.check(what)?;
    }
    let done = usize::try_from(identity.version)
        .map_err(|_| Fault::corrupt(what, format!("its version is {}", identity.version)))?;
    for migration in &MIGRATIONS[done..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}
