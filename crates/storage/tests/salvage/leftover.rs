//! What goes into the quarantine: damaged pages that hold more than was saved, and no others.

use std::fs;

use contexture_testkit::state;
use futures::executor::block_on;

use super::{PAGE, damage, grown, repaired, root};
use crate::build::{Sandbox, session};

/// Returns how many pages lie in the quarantine.
fn kept(sandbox: &Sandbox) -> u32 {
    let sql = "SELECT count(*) FROM quarantine WHERE origin = 'file'";
    sandbox.meddle().query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Writes every page as a program does that knows no checksums.
fn rewrite_all(sandbox: &Sandbox) {
    let db = rusqlite::Connection::open(sandbox.file()).unwrap();
    db.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
}

#[test]
fn nothing_is_kept_of_pages_that_another_program_wrote() {
    let sandbox = grown();
    let before = block_on(state::read(&sandbox.open(), &session("s")));
    rewrite_all(&sandbox);
    let pages = fs::metadata(sandbox.file()).unwrap().len() / PAGE as u64;
    let (storage, done) = repaired(&sandbox);
    // A few pages stayed what they were.
    let damaged: u64 = done[0].split(' ').next().unwrap().parse().unwrap();
    assert!(damaged > pages / 2, "{damaged} of {pages}: {done:?}");
    assert!(done[0].ends_with("; nothing else was in the damaged pages"), "{done:?}");
    let after = block_on(state::read(&storage, &session("s")));
    assert_eq!(before.differences(&after), [""; 0], "{done:?}");
    drop(storage);
    assert_eq!(kept(&sandbox), 0, "{done:?}");
}

#[test]
fn a_page_with_a_row_that_is_not_what_was_written_is_kept() {
    let sandbox = grown();
    rewrite_all(&sandbox);
    let name = b"{\"index\":\"usr-70\",\"parent\"";
    let mut bytes = fs::read(sandbox.file()).unwrap();
    let found = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[found + 13] ^= 1;
    fs::write(sandbox.file(), bytes).unwrap();
    let (storage, done) = repaired(&sandbox);
    assert!(done[0].ends_with("; 1 damaged page holds more and is in the quarantine"), "{done:?}");
    drop(storage);
    assert_eq!(kept(&sandbox), 1);
}

#[test]
fn nothing_is_kept_of_damage_where_nothing_was() {
    let sandbox = grown();
    // A table without rows.
    damage(&sandbox, root(&sandbox, "runs"), 3_000..3_512);
    let (storage, done) = repaired(&sandbox);
    drop(storage);
    assert_eq!(kept(&sandbox), 0, "{done:?}");
}

#[test]
fn a_page_that_says_less_than_it_holds_is_kept() {
    // That it leads to others, that it is of no kind, that it has one row.
    for (at, says) in [(0, [0x05, 0x00]), (0, [0x00, 0x00]), (3, [0x00, 0x01])] {
        let sandbox = grown();
        let start = (root(&sandbox, "sessions") - 1) * PAGE + at;
        let mut bytes = fs::read(sandbox.file()).unwrap();
        bytes[start..start + 2].copy_from_slice(&says);
        fs::write(sandbox.file(), bytes).unwrap();
        let (storage, done) = repaired(&sandbox);
        drop(storage);
        assert_eq!(kept(&sandbox), 1, "{says:?} at {at}: {done:?}");
    }
}
