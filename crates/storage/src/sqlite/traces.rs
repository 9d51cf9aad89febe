//! Traces: what a purge took is wiped from the bytes of a SQLite file and its log.
//!
//! SQLite overwrites what is deleted, but not copies of rows that it once moved from page to page; only
//! writing the whole file anew does. That may be put off (a large file), fail (no room) or not reach
//! everything (somebody reads an earlier state). Until it is done, a small file beside the database
//! says so; it is written before the purge is committed, so that a crash does not hide it either.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use contexture_core::storage::Trace;
use rusqlite::{Connection, ErrorCode};

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
        let mut name = database.file_name().unwrap_or_default().to_owned();
        name.push("-scrub");
        Self { path: database.with_file_name(name), what: database.display().to_string() }
    }

    /// Tells whether something is to be wiped.
    pub(crate) fn is_there(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Notes that something is about to be taken out.
    pub(crate) fn begin(&self) {
        let until = "it is opened again: what was taken out was not wiped yet";
        self.settle(&[Trace::new(&*self.what, until)]);
    }

    /// Notes what is left; nothing takes the note away.
    pub(crate) fn settle(&self, left: &[Trace]) {
        let noted = if left.is_empty() {
            match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            let lines: Vec<String> =
                left.iter().map(|trace| format!("{}\t{}\n", trace.place, trace.until)).collect();
            self.write(&lines.concat())
        };
        if let Err(error) = noted {
            tracing::warn!(path = self.what, %error, "what is left of a purge could not be noted");
        }
    }

    /// Puts a new file in its place: whatever link lies there is not followed.
    fn write(&self, text: &str) -> io::Result<()> {
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push("-new");
        let new = self.path.with_file_name(name);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&new)?;
        // Without room for the words it is put there all the same.
        let written = file.write_all(text.as_bytes());
        fs::rename(&new, &self.path)?;
        written
    }

    /// Returns what is left.
    pub(crate) fn read(&self) -> io::Result<Vec<Trace>> {
        let text = match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_file() => fs::read_to_string(&self.path)?,
            // Whatever else lies there is not ours to read; that it is there says enough.
            Ok(_) => String::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let trace = |line: &str| {
            let (place, until) = line.split_once('\t').unwrap_or((self.what.as_str(), line));
            Trace::new(place, until)
        };
        let traces: Vec<Trace> = text.lines().map(trace).collect();
        // Where there was no room for words the file itself says enough.
        let unknown = || vec![Trace::new(&*self.what, "`contexture store scrub` wipes it")];
        Ok(if traces.is_empty() { unknown() } else { traces })
    }
}

/// Leaves nothing in a database and its log of what was taken out; returns what is left all the same.
///
/// With `patience` it waits no longer than that for readers of an earlier state.
pub(crate) fn wipe(
    db: &Connection,
    what: &str,
    reach: Reach,
    patience: Option<Duration>,
) -> Vec<Trace> {
    let number = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let usual = number("busy_timeout").unwrap_or(0);
    if let Some(patience) = patience {
        let _ = db.busy_timeout(patience);
    }
    let mut left = Vec::new();
    let size =
        || Ok::<_, rusqlite::Error>(number("page_count")?.saturating_mul(number("page_size")?));
    match size() {
        Ok(size) if matches!(reach, Reach::UpTo(most) if size > most) => {
            let until = "`contexture store scrub` rewrites it: it is large, and that takes long";
            left.push(Trace::new(what, until));
        }
        Ok(_) => left.extend(db.execute_batch("VACUUM").err().map(|error| {
            Trace::new(what, format!("`contexture store scrub` rewrites it: {}", reason(&error)))
        })),
        Err(error) => left.push(Trace::new(what, format!("it can be read again: {error}"))),
    }
    let emptied = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    let log = match emptied {
        Ok(false) => None,
        Ok(true) => Some("whoever reads an earlier state has ended".to_owned()),
        Err(error) => Some(format!("the log can be emptied: {}", reason(&error))),
    };
    left.extend(log.map(|until| Trace::new(format!("{what} and its log"), until)));
    if patience.is_some() {
        let _ = db.busy_timeout(Duration::from_millis(u64::try_from(usual).unwrap_or(0)));
    }
    for trace in &left {
        tracing::warn!("traces of what was removed may be left in {trace}");
    }
    left
}

fn reason(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "there was not enough room on the disk".to_owned(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "others use it".to_owned(),
        _ => error.to_string(),
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
        let left = wipe(&db, "it", Reach::UpTo(0), None);
        assert_eq!(left.len(), 1, "{left:?}");
        assert!(left[0].until.contains("store scrub"), "{left:?}");
        assert_eq!(wipe(&db, "it", Reach::Full, None), []);
        assert!(!holds(&path));
    }

    #[test]
    fn a_reader_of_an_earlier_state_leaves_traces() {
        let folder = tempfile::tempdir().unwrap();
        let (db, path) = database(folder.path());
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN").unwrap();
        reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap();
        let left = wipe(&db, "it", Reach::QUICK, Some(IN_PASSING));
        assert!(left.iter().any(|trace| trace.until.contains("earlier state")), "{left:?}");
        assert!(holds(&path), "the reader still needs it");
        drop(reader);
        assert_eq!(wipe(&db, "it", Reach::QUICK, Some(IN_PASSING)), []);
        assert!(!holds(&path));
    }

    #[test]
    fn what_is_left_is_noted_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let due = Due::of(&folder.path().join("it.db"));
        assert_eq!(due.read().unwrap(), []);
        due.begin();
        assert!(due.is_there() && folder.path().join("it.db-scrub").exists());
        assert_eq!(due.read().unwrap().len(), 1);
        let left = [Trace::new("here", "then"), Trace::new("there", "later")];
        due.settle(&left);
        assert_eq!(due.read().unwrap(), left);
        fs::write(folder.path().join("it.db-scrub"), "").unwrap();
        assert_eq!(due.read().unwrap().len(), 1, "an empty note is a note");
        due.settle(&[]);
        assert!(!due.is_there());
    }
}
