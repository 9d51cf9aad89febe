//! Opening: looking at what lies there before touching it, then connections with their settings.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use contexture_core::storage::{StorageError, StorageResult};
use rusqlite::{Connection, Error, ErrorCode, MAIN_DB, OpenFlags, config::DbConfig};

use super::{
    CreateMode, Durability, SqliteOptions,
    error::{Fault, FaultResult},
    salvage,
    schema::{self, Identity},
    sums,
};

/// How many prepared statements a connection keeps; more than there are.
const STATEMENTS: usize = 100;

/// Opens the connection that writes, making or updating the tables where that is due.
pub(crate) fn writer(path: &Path, options: &SqliteOptions) -> StorageResult<Connection> {
    salvage::check_finished(path)?;
    let there = look(path)?;
    if !there && options.create == CreateMode::MustExist {
        return Err(StorageError::Unavailable {
            what: path.display().to_string(),
            reason: "there is no such file".to_owned(),
        });
    }
    if !there {
        make(path).map_err(|error| refused(path, &error))?;
    }
    connect(path, options).map_err(|fault| match fault {
        // The file is there or its folder is, so it is not out of reach but out of bounds.
        Fault::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            StorageError::ReadOnly { what: path.display().to_string(), reason: error.to_string() }
        }
        fault => fault.at(path),
    })
}

const READING: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// Opens a connection whose pages carry checksums, where the file has them.
pub(crate) fn connection(
    path: impl AsRef<Path>,
    flags: OpenFlags,
    file_system: &str,
) -> rusqlite::Result<Connection> {
    contexture_vfs::register()?;
    Connection::open_with_flags_and_vfs(path, flags, file_system)
}

/// Opens a connection that only reads.
pub(crate) fn reader(path: &Path, busy_timeout: Duration) -> FaultResult<Connection> {
    for_reading(connection(path, READING, contexture_vfs::CHECKED)?, busy_timeout)
}

/// Opens a connection to a file that nobody writes and that has no log.
pub(crate) fn still_reader(path: &Path, busy_timeout: Duration) -> FaultResult<Connection> {
    let flags = READING | OpenFlags::SQLITE_OPEN_URI;
    for_reading(connection(immutable(path), flags, contexture_vfs::STILL)?, busy_timeout)
}

/// Opens a connection to a file that nobody writes and that has a log.
pub(crate) fn still_log_reader(path: &Path, busy_timeout: Duration) -> FaultResult<Connection> {
    let db = connection(path, READING, contexture_vfs::STILL)?;
    // Who has a file alone keeps in memory what is shared beside it otherwise.
    db.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    for_reading(db, busy_timeout)
}

fn for_reading(db: Connection, busy_timeout: Duration) -> FaultResult<Connection> {
    db.busy_timeout(busy_timeout)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    keep_plans(&db)?;
    db.pragma_update(None, "cache_size", -4_096)?;
    Ok(db)
}

/// Keeps a statement's plan for other values: otherwise many statements are prepared again for each of them.
fn keep_plans(db: &Connection) -> FaultResult<()> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Makes an empty file, and the folders above it: for its owner's eyes alone. What SQLite puts beside it
/// takes after it.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    let (mut folder, mut file) = (fs::DirBuilder::new(), fs::OpenOptions::new());
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        folder.mode(0o700);
        file.mode(0o600);
    }
    if let Some(above) = path.parent() {
        folder.recursive(true).create(above)?;
    }
    match file.write(true).create_new(true).open(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made.map(|_| ()),
    }
}

/// Refuses a file whose tables would have to be updated before they can be read.
pub(crate) fn check_readable(path: &Path) -> StorageResult<()> {
    let identity = identify(path).map_err(|error| Fault::from(error).at(path))?;
    if identity.has_tables() {
        return Ok(());
    }
    let reason = "an earlier version wrote it, and its tables must be updated first".to_owned();
    Err(StorageError::ReadOnly { what: path.display().to_string(), reason })
}

/// Looks at what lies there without a lock or a write. Tells whether there is something.
pub(crate) fn look(path: &Path) -> StorageResult<bool> {
    let what = path.display().to_string();
    let file = match fs::metadata(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refused(path, &error)),
    };
    if !file.is_file() {
        return Err(StorageError::Foreign { what, reason: "it is not a regular file".to_owned() });
    }
    if file.len() == 0 {
        return Ok(true);
    }
    let found = match identify(path) {
        Ok(identity) => identity.check(&what),
        Err(Error::SqliteFailure(code, _)) if code.code == ErrorCode::NotADatabase => {
            let reason = "it is not a SQLite database".to_owned();
            Err(StorageError::Foreign { what, reason })
        }
        // Without a lock, a file that another process is just making can look broken.
        Err(_) => Ok(()),
    };
    match found {
        // It is damaged, as whoever reads it will find out.
        Err(_) if has_lost_header(path) => Ok(true),
        found => found.map(|()| true),
    }
}

/// Tells whether a file is ours though its first page does not say so.
fn has_lost_header(path: &Path) -> bool {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    connection(immutable(path), flags, contexture_vfs::SALVAGE)
        .is_ok_and(|db| contexture_vfs::has_lost_header(&db))
}

/// Reads the header as it stands in the file, leaving a log that may lie beside it alone.
///
/// It goes through SQLite, because closing a file of one's own would drop the locks that other
/// connections of this process hold on it. Our own marks are in the file before there is a log.
fn identify(path: &Path) -> Result<Identity, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(immutable(path), flags)?;
    Identity::read(&db)
}

/// Returns the URI of a file that is read as it lies, without a lock or a log.
fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

fn connect(path: &Path, options: &SqliteOptions) -> FaultResult<Connection> {
    let what = path.display().to_string();
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if options.create == CreateMode::IfMissing {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let mut db = connection(path, flags, contexture_vfs::CHECKED)?;
    if db.is_readonly(MAIN_DB)? {
        let reason = "the system allows only read access".to_owned();
        return Err(StorageError::ReadOnly { what, reason }.into());
    }
    db.busy_timeout(options.busy_timeout)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.pragma_update(None, "secure_delete", true)?;
    let identity = Identity::read(&db)?;
    if identity.is_blank() {
        contexture_vfs::reserve(&db)?;
    }
    if !identity.has_tables() {
        schema::migrate(&mut db, &what)?;
    }
    check_size(&db, path)?;
    if !Identity::read(&db)?.has_sums() {
        sums::give(&db, &what);
        db.busy_timeout(options.busy_timeout)?;
    }
    log_ahead(&db, options.busy_timeout)?;
    set_durability(&db, options.durability)?;
    // More costs more than it saves: ending a transaction that split a page walks the whole cache,
    // and what is not in it is in the system's.
    keep_plans(&db)?;
    db.pragma_update(None, "cache_size", -8_192)?;
    db.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    db.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(db)
}

/// Sets what the transactions of a connection survive from now on; not while one is under way.
pub(crate) fn set_durability(db: &Connection, durability: Durability) -> FaultResult<()> {
    match durability {
        Durability::PowerCut => {
            db.pragma_update(None, "synchronous", "FULL")?;
            // Only macOS knows it: there fsync alone leaves data in the disk's cache.
            db.pragma_update(None, "fullfsync", true)?;
        }
        Durability::Process => db.pragma_update(None, "synchronous", "NORMAL")?,
    }
    Ok(())
}

/// Refuses a file that ends within a page: SQLite would read zeros there.
fn check_size(db: &Connection, path: &Path) -> FaultResult<()> {
    let size = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
    let page: u32 = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let log = beside(path, "-wal");
    // After a crash the log may hold the rest.
    if !size(path).is_multiple_of(page.into()) && size(&log) == 0 {
        return Err(Fault::corrupt(path.display(), "the file ends within a page"));
    }
    Ok(())
}

/// Returns the path of a file that SQLite keeps beside a database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Switches to a write-ahead log, after the tables were made, so that the mark of whose file it is
/// stands in the file itself.
fn log_ahead(db: &Connection, patience: Duration) -> FaultResult<()> {
    let began = Instant::now();
    loop {
        // SQLite does not wait here by itself when another process is opening the file too.
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                let what = db.path().unwrap_or_default().to_owned();
                let reason = format!("its folder does not support a write-ahead log, only {mode}");
                return Err(StorageError::Unavailable { what, reason }.into());
            }
            Err(error) if is_busy(&error) && began.elapsed() < patience => {
                thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(crate) fn refused(path: &Path, error: &io::Error) -> StorageError {
    let (what, reason) = (path.display().to_string(), error.to_string());
    match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => StorageError::ReadOnly { what, reason },
        _ => StorageError::Unavailable { what, reason },
    }
}

/// Returns the path by which the file is known from now on, whatever the working directory becomes.
pub(crate) fn absolute(path: &Path) -> StorageResult<PathBuf> {
    std::path::absolute(path).map_err(|error| refused(path, &error))
}
