//! Sums on real files: put, verified, given later, left alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, path::Path};

use contexture_vfs::{
    CHECKED, SALVAGE, STILL, damaged_pages, has_lost_header, is_checked, is_damage, reserve, seal,
};
use rusqlite::{Connection, OpenFlags};

const PAGE: usize = 4_096;

fn open(path: &Path, vfs: &str) -> Connection {
    contexture_vfs::register().unwrap();
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs).unwrap()
}

const FILL: &str = "
    BEGIN;
    CREATE TABLE words (number INTEGER PRIMARY KEY, word TEXT NOT NULL);
    CREATE TABLE keys (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
    WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 900)
    INSERT INTO words SELECT n, hex(randomblob(60)) FROM count;
    INSERT INTO keys SELECT 'key ' || number, randomblob(CASE number % 50 WHEN 0 THEN 9000 ELSE 40 END)
    FROM words;
    PRAGMA user_version = 5;
    COMMIT;
";

/// Makes a file with sums, and closes it.
fn make(path: &Path) {
    let db = open(path, CHECKED);
    reserve(&db).unwrap();
    db.execute_batch(FILL).unwrap();
    assert!(is_checked(&db));
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    db.execute("UPDATE words SET word = word || 'x' WHERE number % 7 = 0", []).unwrap();
}

/// Reads everything, in both orders.
fn read(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut all = Vec::new();
    for sql in [
        "SELECT word FROM words ORDER BY number",
        "SELECT word FROM words ORDER BY number DESC",
        "SELECT key || hex(value) FROM keys ORDER BY key",
    ] {
        let mut query = db.prepare(sql)?;
        let rows = query.query_map([], |row| row.get(0))?;
        all.extend(rows.collect::<rusqlite::Result<Vec<String>>>()?);
    }
    for number in 1..=900 {
        let sql = "SELECT value FROM keys WHERE key = ?1";
        let found = db.query_row(sql, [format!("key {number}")], |row| row.get::<_, Vec<u8>>(0))?;
        all.push(format!("{found:?}"));
    }
    Ok(all)
}

#[test]
fn no_damage_to_a_page_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let whole = fs::read(&path).unwrap();
    let expected = read(&open(&path, CHECKED)).unwrap();
    assert!(whole.len() > 30 * PAGE);
    let mut named = 0;
    for (number, page) in whole.chunks(PAGE).enumerate() {
        let other = &whole[(number + 1) * PAGE % whole.len()..][..PAGE];
        let garbage: Vec<u8> = page.iter().map(|byte| byte.wrapping_mul(31) ^ 0x5a).collect();
        let flipped: Vec<u8> =
            page.iter().enumerate().map(|(at, byte)| byte ^ u8::from(at == 2_000)).collect();
        for damage in [other, &garbage, &flipped, &[0; PAGE]] {
            let mut bytes = whole.clone();
            bytes[number * PAGE..][..PAGE].copy_from_slice(damage);
            fs::write(&path, &bytes).unwrap();
            match read(&open(&path, CHECKED)) {
                Ok(read) => assert_eq!(read, expected, "page {}", number + 1),
                Err(error) => named += usize::from(is_damage(&error)),
            }
        }
    }
    // All but what leaves no database at all.
    assert!(named >= whole.len() / PAGE * 3, "{named} of {} pages", whole.len() / PAGE);
}

#[test]
fn every_page_has_its_sum_whoever_wrote_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let (first, second) = (open(&path, CHECKED), open(&path, CHECKED));
    for round in 0..20 {
        let writer = if round % 2 == 0 { &first } else { &second };
        writer.execute("INSERT INTO keys VALUES (?1, randomblob(20000))", [round]).unwrap();
        writer.execute("DELETE FROM words WHERE number % 20 = ?1", [round]).unwrap();
        let other = if round % 3 == 0 { &first } else { &second };
        other.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        assert_eq!(damaged_pages(&first).unwrap(), []);
    }
    first.execute_batch("VACUUM").unwrap();
    drop(second);
    first.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(damaged_pages(&first).unwrap(), []);
    let check: String = first.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn damage_is_named_and_salvage_reads_past_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let mut bytes = fs::read(&path).unwrap();
    // In a page of texts, so that its structure stays.
    bytes[6 * PAGE + 3_000] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let db = open(&path, CHECKED);
    read(&db).unwrap_err();
    assert_eq!(damaged_pages(&db).unwrap(), [7]);
    assert_eq!(read(&open(&path, SALVAGE)).map(|all| all.len()), Ok(3_600));
}

#[test]
fn a_file_without_sums_is_left_as_it_is_until_it_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let db = open(&path, CHECKED);
    db.execute_batch(FILL).unwrap();
    db.pragma_update(None, "user_version", 4).unwrap();
    drop(db);
    let expected = read(&Connection::open(&path).unwrap()).unwrap();

    let db = open(&path, CHECKED);
    assert_eq!(read(&db).unwrap(), expected);
    assert!(!is_checked(&db));
    seal(&db).unwrap_err();
    reserve(&db).unwrap();
    db.execute_batch("VACUUM").unwrap();
    seal(&db).unwrap();
    assert!(!is_checked(&db));
    db.pragma_update(None, "user_version", 5).unwrap();
    assert!(is_checked(&db));
    assert_eq!(damaged_pages(&db).unwrap(), []);
    assert_eq!(read(&db).unwrap(), expected);
    drop(db);
    assert_eq!(read(&open(&path, CHECKED)).unwrap(), expected);
    // Others read it too.
    assert_eq!(read(&Connection::open(&path).unwrap()).unwrap(), expected);
}

#[test]
fn a_page_written_past_the_sums_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let other = Connection::open(&path).unwrap();
    other.execute("UPDATE words SET word = 'other' WHERE number = 200", []).unwrap();
    drop(other);
    assert!(is_damage(&read(&open(&path, CHECKED)).unwrap_err()));
}

#[test]
fn a_transaction_that_is_taken_back_leaves_sums() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let db = open(&path, CHECKED);
    db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    db.pragma_update(None, "cache_size", 10).unwrap();
    let before = read(&db).unwrap();
    db.execute_batch("BEGIN; UPDATE keys SET value = randomblob(500); ROLLBACK").unwrap();
    assert_eq!(damaged_pages(&db).unwrap(), []);
    assert_eq!(read(&db).unwrap(), before);
}

#[test]
fn a_log_is_read_without_writing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let db = open(&path, CHECKED);
    db.execute("UPDATE words SET word = 'late' WHERE number = 3", []).unwrap();
    let copy = folder.path().join("b.db");
    fs::copy(&path, &copy).unwrap();
    fs::copy(folder.path().join("a.db-wal"), folder.path().join("b.db-wal")).unwrap();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let still = Connection::open_with_flags_and_vfs(&copy, flags, STILL).unwrap();
    still.pragma_update(None, "locking_mode", "EXCLUSIVE").unwrap();
    assert_eq!(read(&still).unwrap(), read(&db).unwrap());
    assert!(!folder.path().join("b.db-shm").exists());
}

// Whoever saves the rest may be cut off, and then nothing has changed.
#[test]
fn a_header_that_is_lost_is_shown_and_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    make(&path);
    let whole = fs::read(&path).unwrap();
    let damages: [fn(&mut [u8]); 3] = [
        |page| page[..512].fill(0),
        |page| page.fill(0xa5),
        // The version: 5 becomes 4.
        |page| page[63] ^= 1,
    ];
    for damage in damages {
        let mut bytes = whole.clone();
        damage(&mut bytes[..PAGE]);
        fs::write(&path, &bytes).unwrap();
        let db = open(&path, CHECKED);
        let sql = "SELECT count(*) FROM sqlite_schema";
        db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap_err();
        assert!(!has_lost_header(&db));
        drop(db);
        let db = open(&path, SALVAGE);
        assert!(has_lost_header(&db) && is_checked(&db));
        db.pragma_update(None, "writable_schema", true).unwrap();
        db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
        db.execute_batch("BEGIN EXCLUSIVE; COMMIT").unwrap();
        assert_eq!(damaged_pages(&db).unwrap(), [1]);
        drop(db);
        assert!(fs::read(&path).unwrap() == bytes);
    }
    fs::write(&path, &whole).unwrap();
    assert!(!has_lost_header(&open(&path, SALVAGE)));
}
