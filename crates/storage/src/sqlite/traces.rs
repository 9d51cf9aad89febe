//! Traces: what a purge took is wiped from the bytes of a SQLite file and its log.
//!
//! SQLite overwrites what is deleted, but not copies of rows that it once moved from page to page; only
//! writing the whole file anew does. That may be put off (a large file), fail (no room) or not reach
//! everything (somebody reads an earlier state). Until it is done, a small file beside the database
//! says so; it is written before the purge is committed, so that a crash does not hide it either.

mod reason;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use contexture_core::storage::{StorageError, StorageResult, Trace};
use rusqlite::{Connection, ErrorCode};

pub(crate) use self::reason::TraceReason;
use super::open::{self, beside};

/// How long to wait for readers when nobody asked for it.
pub(crate) const IN_PASSING: Duration = Duration::from_millis(50);

/// How much is done about traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// What does not stop everybody for long: a file is rewritten up to so many bytes.
    UpTo(i64),
    /// Everything.
    Full,
}

impl Reach {
    /// What is done right after a purge, and when a store is opened.
    pub(crate) const QUICK: Self = Self::UpTo(256 << 20);
}

/// What a note says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Note {
    /// Tells it from others that say the same.
    id: String,
    pub(crate) remaining: Vec<TraceReason>,
}

/// What says that something is still to be wiped.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    path: PathBuf,
    /// The database.
    what: String,
}

impl Due {
    /// Returns that of a database.
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: beside(database, "-scrub"), what: database.display().to_string() }
    }

    /// Tells whether something is to be wiped.
    pub(crate) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Notes that something is about to be taken out.
    pub(crate) fn begin(&self) -> StorageResult<()> {
        self.write(&[TraceReason::Begun]).map_err(|error| StorageError::Unavailable {
            what: self.what.clone(),
            reason: format!("the note that something must be wiped could not be written: {error}"),
        })
    }

    /// Notes what is left; nothing takes the note away. Where that fails the earlier note stands, which
    /// says no less; so it does where another process has begun something since `seen` was read.
    pub(crate) fn update(&self, seen: &Note, remaining: &[TraceReason]) {
        if self.read().is_ok_and(|now| now != *seen) {
            return;
        }
        let noted = if remaining.is_empty() {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            self.write(remaining)
        };
        if let Err(error) = noted {
            tracing::warn!(path = self.what, %error, "the traces left by a purge could not be noted");
        }
    }

    /// Puts a new file in its place: whatever link lies there is not followed.
    fn write(&self, remaining: &[TraceReason]) -> io::Result<()> {
        let new = beside(&self.path, "-new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => open::make(&new)?,
        }
        let lines: String = remaining.iter().map(|reason| format!("{}\n", reason.code())).collect();
        let id: [u8; 8] = crate::random::bytes("a note").unwrap_or_default();
        let text = format!("#{:x}\n{lines}", u64::from_le_bytes(id));
        // Without room for the words it is put there all the same.
        let _ = fs::write(&new, text);
        fs::File::open(&new)?.sync_all()?;
        fs::rename(&new, &self.path)?;
        match self.path.parent() {
            Some(folder) if cfg!(unix) => fs::File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }

    /// Returns the note; an empty one where there is none.
    pub(crate) fn read(&self) -> io::Result<Note> {
        let text = match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_file() => fs::read(&self.path)?,
            // Whatever else lies there is not ours to read; that it is there says enough.
            Ok(_) => Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Note::default()),
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&text);
        let known = |line: &str| TraceReason::ALL.into_iter().find(|reason| reason.code() == line);
        let (ids, lines): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with('#'));
        let remaining: Option<Vec<TraceReason>> = lines.into_iter().map(known).collect();
        let remaining = remaining
            .filter(|remaining| !remaining.is_empty())
            .unwrap_or_else(|| vec![TraceReason::Begun]);
        Ok(Note { id: ids.concat(), remaining })
    }

    /// Returns it in words.
    pub(crate) fn traces(&self) -> StorageResult<Vec<Trace>> {
        let note = self.read().map_err(|error| StorageError::Unavailable {
            what: self.what.clone(),
            reason: format!("which traces a purge left is unknown: {error}"),
        })?;
        Ok(note.remaining.into_iter().map(|reason| reason.trace(&self.what)).collect())
    }
}

/// Leaves nothing in a database and its log of what was taken out, as far as that is `due`; returns what is
/// left all the same.
///
/// With `patience` it waits no longer than that for readers of an earlier state.
pub(crate) fn wipe(
    db: &Connection,
    due: &[TraceReason],
    reach: Reach,
    patience: Option<Duration>,
) -> Vec<TraceReason> {
    let usual = number(db, "busy_timeout").unwrap_or(0);
    if let Some(patience) = patience {
        let _ = db.busy_timeout(patience);
    }
    let mut remaining = Vec::new();
    if reach == Reach::Full || due.is_empty() || due.iter().any(|due| due.is_whole_file()) {
        remaining.extend(rewrite(db, reach).err());
    }
    if !remaining.contains(&TraceReason::Read) {
        remaining.extend(empty_log(db).err());
    }
    if patience.is_some() {
        let _ = db.busy_timeout(Duration::from_millis(u64::try_from(usual).unwrap_or(0)));
    }
    remaining
}

/// Writes the whole file anew, into its log.
fn rewrite(db: &Connection, reach: Reach) -> Result<(), TraceReason> {
    let size = || {
        let size = number(db, "page_count")?.saturating_mul(number(db, "page_size")?);
        Ok::<_, rusqlite::Error>(size)
    };
    let size = size().map_err(|error| reason(&error))?;
    if matches!(reach, Reach::UpTo(most) if size > most) {
        return Err(TraceReason::Large);
    }
    // While somebody reads an earlier state it would only fill the log, each time it is tried.
    empty_log(db)
        .map_err(|reason| if reason == TraceReason::Log { TraceReason::Read } else { reason })?;
    db.execute_batch("VACUUM").map_err(|error| reason(&error))
}

/// Brings the log into the file and empties it.
fn empty_log(db: &Connection) -> Result<(), TraceReason> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    match db.query_row(sql, [], |row| row.get::<_, bool>(0)) {
        Ok(false) => Ok(()),
        Ok(true) => Err(TraceReason::Log),
        Err(error) => Err(reason(&error)),
    }
}

fn number(db: &Connection, name: &str) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, name, |row| row.get(0))
}

fn reason(error: &rusqlite::Error) -> TraceReason {
    tracing::warn!(%error, "traces of removed data could not be wiped");
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => TraceReason::NoRoom,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => TraceReason::Read,
        _ => TraceReason::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(folder: &Path) -> (Connection, PathBuf) {
        let path = folder.join("it.db");
        let db = Connection::open(&path).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES ('secret'); DELETE FROM t")
            .unwrap();
        (db, path)
    }

    fn holds(path: &Path) -> bool {
        let log = path.with_file_name("it.db-wal");
        let bytes = [fs::read(path).unwrap(), fs::read(log).unwrap_or_default()].concat();
        bytes.windows(6).any(|window| window == b"secret")
    }

    #[test]
    fn a_large_file_is_rewritten_when_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (db, path) = database(folder.path());
        assert_eq!(wipe(&db, &[], Reach::UpTo(0), None), [TraceReason::Large]);
        assert_eq!(wipe(&db, &[], Reach::Full, None), []);
        assert!(!holds(&path));
    }

    // Nor does the log grow while the reader stays, however often somebody tries.
    #[test]
    fn a_reader_of_an_earlier_state_leaves_traces() {
        let folder = tempfile::tempdir().unwrap();
        let (db, path) = database(folder.path());
        db.execute_batch("INSERT INTO t VALUES (zeroblob(1000000))").unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
        let log = || fs::metadata(path.with_file_name("it.db-wal")).unwrap().len();
        let before = log();
        let mut remaining = vec![TraceReason::Begun];
        for _ in 0..5 {
            remaining = wipe(&db, &remaining, Reach::QUICK, Some(Duration::from_millis(1)));
            assert_eq!((&remaining[..], log()), (&[TraceReason::Read][..], before));
        }
        assert!(holds(&path), "the reader still needs it");
        drop(reader);
        assert_eq!(wipe(&db, &remaining, Reach::QUICK, Some(IN_PASSING)), []);
        assert!(!holds(&path));
    }

    // Once it is rewritten only the log is left to do.
    #[test]
    fn a_file_is_rewritten_once() {
        let folder = tempfile::tempdir().unwrap();
        let (db, path) = database(folder.path());
        assert_eq!(wipe(&db, &[TraceReason::Log], Reach::QUICK, None), []);
        assert!(holds(&path), "it was not rewritten");
        assert_eq!(wipe(&db, &[TraceReason::Begun], Reach::QUICK, None), []);
        assert!(!holds(&path));
    }

    #[test]
    fn remaining_traces_are_noted_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let due = Due::of(&folder.path().join("it.db"));
        let read = || due.read().unwrap();
        assert_eq!(read(), Note::default());
        due.begin().unwrap();
        assert!(due.is_there() && folder.path().join("it.db-scrub").exists());
        assert_eq!(read().remaining, [TraceReason::Begun]);
        due.update(&read(), &TraceReason::ALL);
        assert_eq!(read().remaining, TraceReason::ALL);
        // Another process began something meanwhile.
        let seen = read();
        due.begin().unwrap();
        due.update(&seen, &[]);
        assert_eq!(read().remaining, [TraceReason::Begun]);
        for other in ["", "log\nsomething else", "\u{1b}[2J"] {
            fs::write(folder.path().join("it.db-scrub"), other).unwrap();
            assert_eq!(read().remaining, [TraceReason::Begun], "a note is a note");
        }
        due.update(&read(), &[]);
        assert!(!due.is_there());
    }

    #[test]
    fn where_it_cannot_be_noted_nothing_is_taken_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("it.db-scrub-new")).unwrap();
        let error = Due::of(&folder.path().join("it.db")).begin().unwrap_err();
        assert!(error.to_string().contains("could not be written"), "{error}");
    }
}
