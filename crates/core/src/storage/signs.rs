//! The signs by which a store on disk is known without opening it as one.
//!
//! Storages write them; anything else that walks over files, such as an agent's tools, goes by them
//! to keep its hands off a store, whatever the store is called and wherever it lies.

/// Marks a SQLite database as ours: "Ctxr".
pub const APPLICATION_ID: i32 = 0x4374_7872;

/// How many bytes of a database's beginning [`is_database`] looks at.
pub const HEADER: usize = 72;

/// What the names of the files end with that SQLite and the storage keep beside a database.
pub const BESIDE: [&str; 7] =
    ["-wal", "-shm", "-journal", "-salvage", "-salvaged", "-scrub", "-scrub-new"];

/// The file that says that a folder is a store of files.
pub const IDENTITY: &str = "contexture.json";

/// What stands in that file.
pub const FORMAT: &str = "contexture-files";

/// What stands before the checksum at the end of every file of such a store.
pub const BEFORE_CHECKSUM: &str = ",\n  \"checksum\": \"";

/// What stands after it.
pub const AFTER_CHECKSUM: &str = "\"\n}\n";

/// How many characters the checksum has.
pub const CHECKSUM: usize = 32;

/// How many bytes of a file's end [`is_record`] looks at.
pub const RECORD_END: usize = BEFORE_CHECKSUM.len() + CHECKSUM + AFTER_CHECKSUM.len();

/// Tells by the beginning of a file whether it is one of our databases.
pub fn is_database(beginning: &[u8]) -> bool {
    beginning.starts_with(b"SQLite format 3\0")
        && beginning.get(HEADER - 4..HEADER) == Some(&APPLICATION_ID.to_be_bytes())
}

/// Tells by what [`IDENTITY`] holds whether its folder is a store of files, of this version or another.
pub fn is_identity(bytes: &[u8]) -> bool {
    bytes.windows(FORMAT.len()).any(|window| window == FORMAT.as_bytes())
}

/// Tells by the end of a file whether it was written by a store of files.
pub fn is_record(end: &[u8]) -> bool {
    let sum = end.strip_suffix(AFTER_CHECKSUM.as_bytes()).and_then(|rest| {
        let (before, sum) = rest.split_at_checked(rest.len().checked_sub(CHECKSUM)?)?;
        before.ends_with(BEFORE_CHECKSUM.as_bytes()).then_some(sum)
    });
    sum.is_some_and(|sum| sum.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_known_by_their_header() {
        let mut header = b"SQLite format 3\0".to_vec();
        header.resize(HEADER - 4, 0);
        assert!(!is_database(&header));
        header.extend(b"Ctxr");
        assert!(is_database(&header));
        header[0] = b's';
        assert!(!is_database(&header) && !is_database(b""));
    }

    #[test]
    fn records_are_known_by_their_end() {
        let record = format!("{{\n  \"a\": 1,\n  \"checksum\": \"{}\"\n}}\n", "0f".repeat(16));
        assert!(is_record(record.as_bytes()));
        assert!(is_record(&record.as_bytes()[record.len() - RECORD_END..]));
        for other in ["", "\"\n}\n", &record[1..40], &record.replace("0f", "xx")] {
            assert!(!is_record(other.as_bytes()), "{other}");
        }
        assert!(is_identity(br#"{"format": "contexture-files", "schemaVersion": 99}"#));
        assert!(!is_identity(br#"{"format": "contexture"}"#));
    }
}
