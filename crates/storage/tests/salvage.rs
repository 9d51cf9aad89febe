//! Salvage: what the pages of a damaged file still hold is there again, and nothing is made up.

mod header;
mod leftover;

use std::{fs, path::PathBuf};

use contexture_core::{
    PageStorage,
    storage::{
        HistoryQuery, StorageError,
        check::{check_session, repair_session},
    },
};
use contexture_storage::{SqliteOptions, SqliteStorage};
use contexture_testkit::state;
use futures::executor::block_on;

use crate::build::{Sandbox, append, at, commit, index, init, session};

const PAGE: usize = 4_096;

/// A file with trees of more than one level, closed.
fn grown() -> Sandbox {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    init(&storage, "other");
    for number in 1..=150 {
        commit(&storage, "s", append("usr", &format!("text {number} ").repeat(40))).unwrap();
    }
    commit(&storage, "s", append("usr", &"a long one ".repeat(9_000))).unwrap();
    commit(&storage, "other", append("usr", "a text of another session")).unwrap();
    sandbox
}

/// Returns in which page a table or an index begins.
fn root(sandbox: &Sandbox, name: &str) -> usize {
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root: u32 = sandbox.meddle().query_row(sql, [name], |row| row.get(0)).unwrap();
    root as usize
}

/// Overwrites the middle of a page.
fn damage(sandbox: &Sandbox, page: usize, range: std::ops::Range<usize>) {
    let mut bytes = fs::read(sandbox.file()).unwrap();
    bytes[(page - 1) * PAGE..page * PAGE][range].fill(0xa5);
    fs::write(sandbox.file(), bytes).unwrap();
}

/// Repairs as `store check --repair` does; returns what was done.
fn repaired(sandbox: &Sandbox) -> (SqliteStorage, Vec<String>) {
    let mut done = SqliteStorage::salvage(&sandbox.file(), SqliteOptions::default()).unwrap();
    let storage = sandbox.open();
    done.extend(block_on(storage.repair()).unwrap());
    for info in block_on(storage.sessions(None, 9)).unwrap() {
        done.extend(block_on(repair_session(&storage, &info.id, at(9))).unwrap());
    }
    block_on(storage.repair()).unwrap();
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{done:?}");
    for info in block_on(storage.sessions(None, 9)).unwrap() {
        assert_eq!(block_on(check_session(&storage, &info.id)).unwrap(), [""; 0], "{done:?}");
    }
    (storage, done)
}

fn beside(sandbox: &Sandbox, ending: &str) -> PathBuf {
    let mut name = sandbox.file().into_os_string();
    name.push(ending);
    name.into()
}

// Also where nothing is left of any session, nobody hears that all is well.
#[test]
fn a_file_that_was_cut_short_is_said_to_be() {
    let pages = fs::read(grown().file()).unwrap().len() / PAGE;
    for left in [1, 2, 8, pages / 2, pages - 2] {
        let sandbox = grown();
        let file = fs::OpenOptions::new().write(true).open(sandbox.file()).unwrap();
        file.set_len((left * PAGE) as u64).unwrap();
        let (_, done) = repaired(&sandbox);
        let said = format!("the file was cut short and its last {} pages are lost", pages - left);
        assert!(done[0].contains(&said), "{left}: {done:?}");
    }
}

#[test]
fn a_sound_file_is_left_alone() {
    let sandbox = grown();
    let before = fs::read(sandbox.file()).unwrap();
    let done = SqliteStorage::salvage(&sandbox.file(), SqliteOptions::default()).unwrap();
    assert_eq!(done, [""; 0]);
    assert!(fs::read(sandbox.file()).unwrap() == before);
    let nothing = sandbox.folder().join("nothing.db");
    SqliteStorage::salvage(&nothing, SqliteOptions::default()).unwrap();
    assert!(!nothing.exists());
}

// Inner pages lead to rows and hold none, or few: without them every row is still there.
#[test]
fn nothing_is_lost_with_the_page_that_leads_to_it() {
    for name in ["blobs", "pages_by_parent", "history_by_actor"] {
        let sandbox = grown();
        let root = root(&sandbox, name);
        let before = {
            let storage = sandbox.open();
            block_on(state::read(&storage, &session("s")))
        };
        damage(&sandbox, root, 0..PAGE);
        let problems = match SqliteStorage::open(&sandbox.file(), SqliteOptions::default()) {
            Ok(storage) => block_on(storage.verify()).unwrap(),
            Err(error) => vec![error.to_string()],
        };
        let named = format!("page {root} of the file is damaged");
        assert!(problems.contains(&named), "{name}: {problems:?}");
        let (storage, done) = repaired(&sandbox);
        assert!(done[0].starts_with("1 page of the file was damaged"), "{done:?}");
        let after = block_on(state::read(&storage, &session("s")));
        assert_eq!(before.differences(&after), [""; 0], "{name}: {done:?}");
        let sql = "SELECT count(*) FROM quarantine WHERE origin = 'file' AND key = ?1";
        let kept = sandbox.meddle().query_row(sql, [format!("page {root}")], |row| row.get(0));
        assert_eq!(kept, Ok(1));
        commit(&storage, "s", append("usr", "life goes on")).unwrap();
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    }
}

// Rows that go into the quarantine leave free pages in the new file, and those are copied as well.
#[test]
fn a_file_is_repaired_whichever_of_its_sectors_is_lost() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    // What cannot be compressed goes on in further pages.
    let words =
        (0..4_000_u64).map(|word| format!("{:x} ", word.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    commit(&storage, "s", append("usr", &words.collect::<String>())).unwrap();
    drop(storage);
    let whole = fs::read(sandbox.file()).unwrap();
    for page in 1..=whole.len() / PAGE {
        fs::write(sandbox.file(), &whole).unwrap();
        damage(&sandbox, page, 1_024..1_536);
        let (storage, _) = repaired(&sandbox);
        drop(storage);
    }
}

// A sector in the middle of an inner page of `pages` takes a few rows with it, and none of the rest.
#[test]
fn a_lost_sector_takes_only_what_was_in_it() {
    for name in ["pages", "history", "contents"] {
        let sandbox = grown();
        damage(&sandbox, root(&sandbox, name), 3_000..3_512);
        let (storage, done) = repaired(&sandbox);
        let indices: Vec<_> = (0..=151).map(|number| index(&format!("usr-{number}"))).collect();
        let pages = block_on(storage.pages(&session("s"), &indices)).unwrap();
        let left = pages.iter().flatten().count();
        assert!(left >= 140, "{name}: {left} pages are left: {done:?}");
        let query = HistoryQuery { limit: 1_000, ..HistoryQuery::default() };
        let left = block_on(storage.history(&session("s"), &query)).unwrap().len();
        assert!(left >= 140, "{name}: {left} edits are left: {done:?}");
    }
}

#[test]
fn sessions_and_segments_are_named_again_when_their_rows_are_lost() {
    for name in ["sessions", "segments"] {
        let sandbox = grown();
        damage(&sandbox, root(&sandbox, name), 0..PAGE);
        let (storage, done) = repaired(&sandbox);
        let sessions = block_on(storage.sessions(None, 9)).unwrap();
        let names: Vec<&str> = sessions.iter().map(|info| info.id.as_str()).collect();
        assert_eq!(names, ["other", "s"], "{name}: {done:?}");
        for (session_name, last) in [("s", "usr-151"), ("other", "usr-1")] {
            let pages = block_on(storage.pages(&session(session_name), &[index(last)])).unwrap();
            assert!(pages[0].is_some(), "{name}: {last} of {session_name} is lost: {done:?}");
        }
    }
}

// Which tables there are is not asked: the list of them may be lost as well.
#[test]
fn the_list_of_tables_may_be_lost() {
    let sandbox = grown();
    let before = {
        let storage = sandbox.open();
        block_on(state::read(&storage, &session("s")))
    };
    damage(&sandbox, 1, 512..PAGE);
    let refused = SqliteStorage::open(&sandbox.file(), SqliteOptions::default()).unwrap_err();
    assert!(matches!(refused, StorageError::Corrupt { .. }), "{refused}");
    let (storage, done) = repaired(&sandbox);
    let after = block_on(state::read(&storage, &session("s")));
    assert_eq!(before.differences(&after), [""; 0], "{done:?}");
}

#[test]
fn a_salvage_that_was_cut_off_is_finished_before_anything_is_read() {
    let sandbox = grown();
    // As if it had died just before the whole file was copied over the damaged one.
    fs::copy(sandbox.file(), beside(&sandbox, "-salvaged")).unwrap();
    let root = root(&sandbox, "pages");
    damage(&sandbox, root, 0..PAGE);
    let refused = SqliteStorage::open(&sandbox.file(), SqliteOptions::default()).unwrap_err();
    assert!(refused.to_string().contains("its repair was interrupted"), "{refused}");
    let (storage, done) = repaired(&sandbox);
    assert_eq!(done[0], "an interrupted repair was finished");
    assert!(!beside(&sandbox, "-salvaged").exists());
    let page = block_on(storage.pages(&session("s"), &[index("usr-151")])).unwrap();
    assert!(page[0].is_some());
}

#[test]
fn a_file_in_use_is_not_salvaged() {
    let sandbox = grown();
    let root = root(&sandbox, "pages");
    damage(&sandbox, root, 0..PAGE);
    let other = sandbox.meddle();
    other.query_row("SELECT count(*) FROM sessions", [], |_| Ok(())).unwrap();
    let options =
        SqliteOptions { busy_timeout: std::time::Duration::ZERO, ..SqliteOptions::default() };
    let refused = SqliteStorage::salvage(&sandbox.file(), options).unwrap_err();
    assert!(matches!(refused, StorageError::Unavailable { .. }), "{refused}");
}
