//! The first page: without it a file is still ours, and a header that lies about its version is damaged.

use std::fs;

use contexture_core::{PageStorage, storage::StorageError};
use contexture_storage::{SqliteOptions, SqliteStorage};
use contexture_testkit::state;
use futures::executor::block_on;

use super::{PAGE, beside, grown, repaired, root};
use crate::build::{Sandbox, append, commit, session};

/// Where in a header which number stands.
const RESERVED: usize = 20;
const VERSION: usize = 63;
const APPLICATION: usize = 71;

type Damage = fn(&mut [u8]);

fn refused(sandbox: &Sandbox) -> StorageError {
    SqliteStorage::open(&sandbox.file(), SqliteOptions::default()).unwrap_err()
}

#[test]
fn nothing_is_lost_with_the_first_page() {
    let sandbox = grown();
    let whole = fs::read(sandbox.file()).unwrap();
    let before = block_on(state::read(&sandbox.open(), &session("s")));
    let damages: [(&str, Damage); 7] = [
        ("a sector of zeros", |page| page[..512].fill(0)),
        ("a sector of garbage", |page| page[..512].fill(0xa5)),
        ("a page of zeros", |page| page.fill(0)),
        ("a page of garbage", |page| page.fill(0xa5)),
        ("other bytes reserved", |page| page[RESERVED] ^= 8),
        ("a later version", |page| page[VERSION] ^= 2),
        ("another application", |page| page[APPLICATION] ^= 1),
    ];
    for (name, damage) in damages {
        let mut bytes = whole.clone();
        damage(&mut bytes[..PAGE]);
        fs::write(sandbox.file(), &bytes).unwrap();
        let error = refused(&sandbox);
        assert!(matches!(error, StorageError::Corrupt { .. }), "{name}: {error}");
        assert!(error.to_string().contains("repair"), "{name}: {error}");
        assert!(fs::read(sandbox.file()).unwrap() == bytes, "{name}: opening changed the file");
        let (storage, done) = repaired(&sandbox);
        let after = block_on(state::read(&storage, &session("s")));
        assert_eq!(before.differences(&after), [""; 0], "{name}: {done:?}");
    }
}

// The log may hold a first page that is right. Then SQLite opens the file, and the rest is verified.
#[test]
fn what_a_log_holds_is_there_without_the_first_page() {
    for elsewhere in [false, true] {
        let (sandbox, crashed) = (grown(), Sandbox::new());
        let storage = sandbox.open();
        for number in 0..30 {
            commit(&storage, "s", append("usr", &format!("late {number} ").repeat(60))).unwrap();
        }
        let before = block_on(state::read(&storage, &session("s")));
        let mut bytes = fs::read(sandbox.file()).unwrap();
        bytes[..PAGE].fill(0xa5);
        if elsewhere {
            // Of a page that is not in the log.
            let damaged = root(&sandbox, "blobs") * PAGE - 1_000;
            bytes[damaged] ^= 1;
        }
        fs::write(crashed.file(), &bytes).unwrap();
        fs::copy(beside(&sandbox, "-wal"), beside(&crashed, "-wal")).unwrap();
        drop(storage);
        if elsewhere {
            let problems = SqliteStorage::open(&crashed.file(), SqliteOptions::default())
                .and_then(|storage| block_on(storage.verify()))
                .unwrap_or_else(|error| vec![error.to_string()]);
            assert!(problems.concat().contains("of the file is damaged"), "{problems:?}");
        }
        let (storage, done) = repaired(&crashed);
        let after = block_on(state::read(&storage, &session("s")));
        assert_eq!(before.differences(&after), [""; 0], "{done:?}");
    }
}

// Without verification, the file would be taken for an old one, and its damage be given sums.
#[test]
fn a_version_that_is_damaged_does_not_turn_verification_off() {
    for (bit, elsewhere) in [(1, false), (1, true), (4, true)] {
        let sandbox = grown();
        let before = block_on(state::read(&sandbox.open(), &session("s")));
        let mut bytes = fs::read(sandbox.file()).unwrap();
        bytes[VERSION] ^= bit;
        if elsewhere {
            let last = bytes.len() - 1_000;
            bytes[last] ^= 1;
        }
        fs::write(sandbox.file(), &bytes).unwrap();
        let error = refused(&sandbox);
        assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
        assert!(fs::read(sandbox.file()).unwrap() == bytes, "opening changed the file");
        let (storage, done) = repaired(&sandbox);
        let pages = if elsewhere { "2 pages" } else { "1 page " };
        assert!(done[0].starts_with(pages), "{done:?}");
        if !elsewhere {
            let after = block_on(state::read(&storage, &session("s")));
            assert_eq!(before.differences(&after), [""; 0], "{done:?}");
        }
    }
}

#[test]
fn a_file_of_somebody_else_is_left_alone() {
    let sandbox = Sandbox::new();
    let file = sandbox.file();
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let database = fs::read(&file).unwrap();
    let mut later = fs::read(grown().file()).unwrap();
    later[VERSION] = 6;
    // Not only its version is another: somebody wrote it so.
    later[100..PAGE].reverse();
    for bytes in [database, vec![0; 3 * PAGE], vec![0xa5; 3 * PAGE], vec![0xa5; 100], later] {
        fs::write(&file, &bytes).unwrap();
        let opening = refused(&sandbox);
        let kept = matches!(opening, StorageError::Foreign { .. } | StorageError::Newer { .. });
        assert!(kept, "{opening}");
        let salvage = SqliteStorage::salvage(&file, SqliteOptions::default()).unwrap_err();
        assert_eq!(salvage.to_string(), opening.to_string());
        assert!(fs::read(&file).unwrap() == bytes);
    }
}
