//! The index: a SQLite file that knows where everything is, derived from the files.
//!
//! Its tables are those of the SQLite storage, but for contents, so that reading is the same; beside
//! them stand the stamp of every file, which pages carry a content, and how often history refers to
//! it. When it is missing, damaged or of another version it is made anew.

mod get;
mod put;

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use contexture_core::{
    PageIndex, SegmentId, SessionId,
    storage::{ContentHash, StorageError, StorageResult},
};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};

use super::{
    folder::Stamp,
    names::{HEAD, Spot},
    record::Head,
};
use crate::sqlite::{
    error::{Fault, FaultResult, natural},
    lookup, memory, open,
    read::{self, collect},
    schema,
};

pub(crate) use get::record;
pub(crate) use put::{put, put_head, remove, remove_session};

/// Marks the index as ours, and as no storage of its own: "Ctxf".
const APPLICATION_ID: i64 = 0x4374_7866;

/// The version of the tables below; the SQLite storage's own comes on top.
const VERSION: i64 = 2;

const TABLES: &str = "
    CREATE TABLE files (
        session INTEGER NOT NULL,
        path TEXT NOT NULL,
        name TEXT NOT NULL,
        time INTEGER NOT NULL,
        size INTEGER NOT NULL,
        PRIMARY KEY (session, path)
    ) STRICT, WITHOUT ROWID;

    -- Which pages carry a content. Segment 0: a file of its own does.
    CREATE TABLE carriers (
        session INTEGER NOT NULL,
        hash BLOB NOT NULL,
        segment INTEGER NOT NULL,
        number INTEGER NOT NULL,
        PRIMARY KEY (session, hash, segment, number)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE refs (
        session INTEGER NOT NULL,
        hash BLOB NOT NULL,
        refs INTEGER NOT NULL,
        PRIMARY KEY (session, hash)
    ) STRICT, WITHOUT ROWID;

    -- What heads say that the SQLite storage does not know.
    CREATE TABLE heads (
        session INTEGER PRIMARY KEY,
        beside INTEGER NOT NULL,
        files TEXT NOT NULL
    ) STRICT;
";

/// What goes wrong below the trait: in the index, which can be made anew, or elsewhere.
#[derive(Debug)]
pub(crate) enum FilesFault {
    Index(Fault),
    Storage(StorageError),
}

pub(crate) type FilesFaultResult<T> = Result<T, FilesFault>;

impl From<Fault> for FilesFault {
    fn from(fault: Fault) -> Self {
        FilesFault::Index(fault)
    }
}

impl From<rusqlite::Error> for FilesFault {
    fn from(error: rusqlite::Error) -> Self {
        FilesFault::Index(Fault::Sqlite(error))
    }
}

impl From<StorageError> for FilesFault {
    fn from(error: StorageError) -> Self {
        FilesFault::Storage(error)
    }
}

impl FilesFault {
    /// Tells whether the index is not what was written, so that making it anew helps.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            FilesFault::Storage(_) => false,
            FilesFault::Index(Fault::Storage(error)) => {
                matches!(error, StorageError::Corrupt { .. })
            }
            FilesFault::Index(Fault::Sqlite(error)) => !matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::DatabaseBusy
                        | ErrorCode::DatabaseLocked
                        | ErrorCode::DiskFull
                        | ErrorCode::OutOfMemory
                        | ErrorCode::ReadOnly
                        | ErrorCode::PermissionDenied
                        | ErrorCode::OperationInterrupted
                )
            ),
        }
    }

    /// Names the index where it happened there.
    pub(crate) fn at(self, path: &Path) -> StorageError {
        match self {
            FilesFault::Index(fault) => fault.at(path),
            FilesFault::Storage(error) => error,
        }
    }
}

/// The index of a folder.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
    /// Which file it is: another may have taken its place.
    pub(crate) inode: u64,
}

/// What opening found.
pub(crate) enum Opened {
    /// It was there.
    Kept(Index),
    /// It is empty and must be filled.
    Made(Index),
}

impl Index {
    /// Opens it, and rebuilds it where it cannot be used. The folder must be locked.
    pub(crate) fn open(path: &Path, patience: Duration) -> StorageResult<Opened> {
        match Self::kept(path, patience) {
            Ok(Some(index)) => return Ok(Opened::Kept(index)),
            Ok(None) => {}
            Err(fault) if fault.is_damage() => {
                tracing::info!(index = %path.display(), "the index is damaged and is rebuilt");
            }
            Err(fault) => return Err(fault.at(path)),
        }
        Self::make(path, patience).map(Opened::Made)
    }

    /// Opens the one that is there; none where it is missing or of another version.
    fn kept(path: &Path, patience: Duration) -> FilesFaultResult<Option<Self>> {
        let Some(inode) = inode(path)? else { return Ok(None) };
        let db = connect(path, patience)?;
        log_ahead(&db)?;
        let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        if number("application_id")? != APPLICATION_ID || number("user_version")? != version() {
            return Ok(None);
        }
        // A look at a row of each table notices most damage at once.
        for table in ["sessions", "segments", "pages", "history", "files", "carriers", "refs"] {
            let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT 1)");
            db.query_row(&sql, [], |_| Ok(()))?;
        }
        Ok(Some(Self { db, path: path.to_owned(), inode }))
    }

    /// Makes one in memory, where nothing can be written: it goes when the last connection to it does.
    /// The one that lies there is taken over as it is; what it does not know is read from the files.
    pub(crate) fn in_memory(name: &Path, kept: &Path, patience: Duration) -> StorageResult<Opened> {
        let make = || -> FilesFaultResult<Opened> {
            let db = memory::connect(name, patience)?;
            if is_closed(kept) && take_over(kept, name, patience).is_ok() {
                return Ok(Opened::Kept(Self { db, path: name.to_owned(), inode: 0 }));
            }
            // What is half copied goes with its last connection.
            drop(db);
            let mut db = memory::connect(name, patience)?;
            schema::migrate(&mut db, &name.display().to_string())?;
            db.execute_batch(TABLES)?;
            Ok(Opened::Made(Self { db, path: name.to_owned(), inode: 0 }))
        };
        make().map_err(|fault| fault.at(name))
    }

    /// Makes an empty one in the place of whatever is there.
    pub(crate) fn make(path: &Path, patience: Duration) -> StorageResult<Self> {
        let make = || -> FilesFaultResult<Self> {
            for ending in ["", "-wal", "-shm", "-journal"] {
                let mut name = path.as_os_str().to_owned();
                name.push(ending);
                let gone = fs::remove_file(&name);
                if let Err(error) = gone
                    && error.kind() != io::ErrorKind::NotFound
                {
                    return Err(super::folder::refused(Path::new(&name), &error).into());
                }
            }
            // Readable for its owner alone from the beginning.
            let made = fs::OpenOptions::new().write(true).create_new(true).open(path);
            made.and_then(|file| file.set_permissions(owner_only()))
                .map_err(|error| super::folder::refused(path, &error))?;
            let mut db = connect(path, patience)?;
            // Before there is a log, so that the file itself says that its pages carry checksums.
            contexture_vfs::reserve(&db)?;
            // What a power cut leaves half made is made anew.
            db.pragma_update(None, "synchronous", "OFF")?;
            schema::migrate(&mut db, &path.display().to_string())?;
            db.execute_batch(&format!("BEGIN; {TABLES} COMMIT"))?;
            db.pragma_update(None, "application_id", APPLICATION_ID)?;
            db.pragma_update(None, "user_version", version())?;
            log_ahead(&db)?;
            let inode = inode(path)?.ok_or(rusqlite::Error::InvalidQuery)?;
            Ok(Self { db, path: path.to_owned(), inode })
        };
        make().map_err(|fault| fault.at(path))
    }
}

/// Tells whether nobody has an index open: then it has no log.
fn is_closed(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    inode(path).is_ok_and(|inode| inode.is_some())
        && fs::metadata(log).map_or(true, |log| log.len() == 0)
}

/// Copies an index that nobody has open into memory.
fn take_over(from: &Path, to: &Path, patience: Duration) -> FilesFaultResult<()> {
    let db = open::still_reader(from, patience)?;
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("application_id")? != APPLICATION_ID || number("user_version")? != version() {
        return Err(Fault::corrupt(from.display(), "it has a different version").into());
    }
    memory::copy(&db, to)?;
    Ok(())
}

fn owner_only() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o600)
}

fn version() -> i64 {
    schema::VERSION * 1_000 + VERSION
}

/// Tells which file lies there.
pub(crate) fn inode(path: &Path) -> FilesFaultResult<Option<u64>> {
    match fs::symlink_metadata(path) {
        Ok(file) if file.is_file() && file.nlink() > 1 => {
            Err(super::record::corrupt(&path.display().to_string(), super::folder::OTHER_NAMES)
                .into())
        }
        Ok(file) if file.is_file() => Ok(Some(file.ino())),
        Ok(_) => {
            Err(super::record::corrupt(&path.display().to_string(), "it is not a regular file")
                .into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(super::folder::refused(path, &error).into()),
    }
}

fn connect(path: &Path, patience: Duration) -> FaultResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let db = open::connection(path, flags, contexture_vfs::CHECKED)?;
    db.busy_timeout(patience)?;
    db.set_prepared_statement_cache_capacity(100);
    db.pragma_update(None, "secure_delete", true)?;
    db.pragma_update(None, "cache_size", -8_192)?;
    db.pragma_update(None, "journal_size_limit", 16 << 20)?;
    Ok(db)
}

fn log_ahead(db: &Connection) -> FaultResult<()> {
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // It is derived: after a power cut it may be behind, and the journal brings it on.
    Ok(db.pragma_update(None, "synchronous", "NORMAL")?)
}

/// Returns the stamp a file of a session had when it was taken in.
pub(crate) fn stamp(db: &Connection, session: i64, path: &str) -> FaultResult<Option<Stamp>> {
    let mut query =
        db.prepare_cached("SELECT time, size FROM files WHERE session = ?1 AND path = ?2")?;
    let stamp = |row: &rusqlite::Row<'_>| Ok(Stamp { time: row.get(0)?, size: row.get(1)? });
    Ok(query.query_row(params![session, path], stamp).optional()?)
}

/// Visits every file of a session that the index knows, by path.
pub(crate) fn files(db: &Connection, session: i64) -> FaultResult<Vec<(String, Stamp)>> {
    let sql = "SELECT path, time, size FROM files WHERE session = ?1 ORDER BY path";
    collect(db, sql, [session], |row| {
        Ok((row.get(0)?, Stamp { time: row.get(1)?, size: row.get(2)? }))
    })
}

/// Returns what a file of a session is about.
pub(crate) fn spot(db: &Connection, session: i64, path: &str) -> FaultResult<Option<Spot>> {
    let mut query = db.prepare_cached("SELECT name FROM files WHERE session = ?1 AND path = ?2")?;
    let name: Option<String> =
        query.query_row(params![session, path], |row| row.get(0)).optional()?;
    let spot = name.map(|name| {
        let kind = super::names::Kind::of(path);
        let spot = kind.and_then(|kind| Spot::named(kind, &name));
        spot.ok_or_else(|| Fault::corrupt(path, "the index has a different name for it"))
    });
    spot.transpose()
}

/// Returns how often history refers to a content.
pub(crate) fn refs(db: &Connection, session: i64, hash: ContentHash) -> FaultResult<i64> {
    let mut query = db.prepare_cached("SELECT refs FROM refs WHERE session = ?1 AND hash = ?2")?;
    let refs = query.query_row(params![session, hash.as_bytes()], |row| row.get(0)).optional()?;
    Ok(refs.unwrap_or(0))
}

/// Returns a few of the files that carry a content, those of its own last.
pub(crate) fn carriers(db: &Connection, session: i64, hash: ContentHash) -> FaultResult<Vec<Spot>> {
    // In the order of the key: a content may be carried by very many.
    let sql = "SELECT * FROM (
                   SELECT segments.name, carriers.number FROM carriers
                   JOIN segments ON segments.id = carriers.segment
                   WHERE carriers.session = ?1 AND hash = ?2 AND carriers.segment > 0
                   ORDER BY carriers.segment, carriers.number LIMIT 3)
               UNION ALL
               SELECT NULL, number FROM carriers
               WHERE session = ?1 AND hash = ?2 AND segment = 0";
    collect(db, sql, params![session, hash.as_bytes()], |row| {
        let Some(segment) = row.get::<_, Option<String>>(0)? else {
            return Ok(Spot::Content(hash));
        };
        let segment: SegmentId =
            segment.parse().map_err(|error| Fault::corrupt("a segment's name", error))?;
        let number = natural(row.get(1)?, "a page's number")?;
        Ok(Spot::Page(PageIndex::new(segment, number)))
    })
}

/// Tells whether pages carry a content, and whether a file of its own does.
pub(crate) fn is_carried(
    db: &Connection,
    session: i64,
    hash: ContentHash,
) -> FaultResult<(bool, bool)> {
    let mut query = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM carriers WHERE session = ?1 AND hash = ?2 AND segment > 0),
                EXISTS (SELECT 1 FROM carriers WHERE session = ?1 AND hash = ?2 AND segment = 0)",
    )?;
    Ok(query.query_row(params![session, hash.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Returns a session's head.
pub(crate) fn head(db: &Connection, session: &SessionId) -> FaultResult<Option<Head>> {
    let Some(key) = key(db, session)? else { return Ok(None) };
    let Some(info) = read::session(db, session)? else { return Ok(None) };
    let mut query = db.prepare_cached("SELECT beside, files FROM heads WHERE session = ?1")?;
    let row = query.query_row([key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let what = || format!("the head of session '{session}' in the index");
    let (beside, files): (i64, String) =
        row.ok_or_else(|| Fault::corrupt(what(), "it is missing"))?;
    let beside = natural(beside, "the count of other writes")?;
    let files = serde_json::from_str(&files).map_err(|error| Fault::corrupt(what(), error))?;
    Ok(Some(Head { info, beside, files }))
}

/// Tells whether it knows as many files of a session as stand beside its head.
pub(crate) fn is_whole(db: &Connection, session: &SessionId) -> FaultResult<bool> {
    let (Some(key), Some(head)) = (key(db, session)?, head(db, session)?) else {
        return Ok(true);
    };
    let mut query =
        db.prepare_cached("SELECT count(*) FROM files WHERE session = ?1 AND path <> ?2")?;
    let count: i64 = query.query_row(params![key, HEAD], |row| row.get(0))?;
    Ok(natural(count, "the count of files")? == head.files.total())
}

/// Returns the sessions it knows.
pub(crate) fn sessions(db: &Connection) -> FaultResult<Vec<SessionId>> {
    collect(db, "SELECT name FROM sessions ORDER BY name", [], |row| {
        let name: String = row.get(0)?;
        name.parse().map_err(|error| Fault::corrupt(format!("session '{name}'"), error))
    })
}

/// Returns a session's key.
pub(crate) fn key(db: &Connection, session: &SessionId) -> FaultResult<Option<i64>> {
    lookup::session_key(db, session)
}
