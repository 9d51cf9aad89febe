//! Damage: what is read is what was written, or it is said to be corrupt, by name.

use std::fs;

use contexture_core::{
    Operation, PageStorage, Tokens, Visibility,
    storage::{
        Change, ChunkKey, CountKey, CustomDelta, FocusDelta, HistoryQuery, LedgerQuery, LevelDelta,
        LevelEntry, RunPut, ScanQuery, StandingFilter, StorageError, StorageResult,
    },
};
use contexture_storage::{SqliteOptions, SqliteStorage};
use futures::executor::block_on;

use crate::build::{
    Sandbox, append, assert_sound, at, change, commit, content, index, init, ledger, segment_id,
    sent, session,
};

/// A storage with one of everything.
pub(crate) fn filled() -> Sandbox {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    for number in 1..=5 {
        let text = format!("text {number} ").repeat(500);
        commit(&storage, "s", append("usr", &text)).unwrap();
    }
    let shown = LevelEntry::shown(Visibility::Expanded);
    let change = Change {
        levels: vec![LevelDelta {
            view: "bot".parse().unwrap(),
            page: index("usr-1"),
            before: LevelEntry::default(),
            after: shown,
        }],
        focus: vec![FocusDelta {
            view: "bot".parse().unwrap(),
            before: None,
            after: Some(index("usr-1")),
        }],
        custom: vec![CustomDelta {
            key: "key".parse().unwrap(),
            before: None,
            after: Some("value".to_owned()),
        }],
        ..change(Operation::Batch)
    };
    commit(&storage, "s", change).unwrap();
    for number in 1..=2 {
        // The first is small and stored as it is, the second is compressed.
        let line = "a line ".repeat(if number == 1 { 1 } else { 2_000 });
        let sent = sent(number, &line);
        block_on(storage.record(&session("s"), &ledger("bot"), &sent)).unwrap();
    }
    let run = RunPut::first("run".parse().unwrap(), "{\"step\":1}", at(0));
    block_on(storage.keep_run(&session("s"), &run)).unwrap();
    block_on(storage.keep_counts(&[(CountKey([7; 16]), Tokens(7))])).unwrap();
    assert_sound(&storage);
    sandbox
}

/// Changes something in the database behind the storage's back, then expects the read to notice.
#[track_caller]
fn noticed<T: std::fmt::Debug>(
    sql: &str,
    names: &str,
    read: impl FnOnce(&SqliteStorage) -> StorageResult<T>,
) {
    let sandbox = filled();
    assert_eq!(sandbox.meddle().execute(sql, []).unwrap(), 1, "{sql}");
    let storage = sandbox.open();
    match read(&storage) {
        Err(StorageError::Corrupt { what, .. }) => assert!(what.contains(names), "{what}"),
        other => panic!("{sql}: {other:?}"),
    }
    let problems = block_on(storage.verify()).unwrap();
    assert!(problems.iter().any(|problem| problem.contains(names)), "{sql}: {problems:?}");
}

fn read_pages(storage: &SqliteStorage) -> StorageResult<Vec<Option<contexture_core::Page>>> {
    block_on(storage.pages(&session("s"), &[index("usr-1"), index("usr-3")]))
}

pub(crate) const FLIPPED: &str = "CAST(substr(data, 1, 40) || 'X' || substr(data, 42) AS BLOB)";

#[test]
fn a_damaged_page_is_noticed() {
    let row = "WHERE number = 3";
    let name = "page usr-3 of session 's'";
    for set in [
        format!("data = {FLIPPED}"),
        "checksum = zeroblob(16)".to_owned(),
        "data = x''".to_owned(),
        "parent = 2".to_owned(),
        "place = 77".to_owned(),
        "standing = 1".to_owned(),
        "version = 4".to_owned(),
        "turn_author = 'eve'".to_owned(),
    ] {
        noticed(&format!("UPDATE pages SET {set} {row}"), name, read_pages);
    }
    // So it is by what lists it.
    noticed(&format!("UPDATE pages SET data = {FLIPPED} {row}"), name, |storage| {
        let (segment, standing) = ("usr".parse().unwrap(), StandingFilter::Any);
        let query = ScanQuery { segment, standing, after: None, limit: 100 };
        block_on(storage.scan(&session("s"), &query))
    });
    let elsewhere = "INSERT INTO pages SELECT segment, 9, parent, place, standing, version,
                     turn_author, data, checksum FROM pages WHERE number = 3";
    noticed(elsewhere, "page usr-9", |storage| {
        block_on(storage.pages(&session("s"), &[index("usr-9")]))
    });
}

#[test]
fn a_damaged_content_is_noticed() {
    let hash = content(&"text 3 ".repeat(500)).hash();
    let name = format!("content {hash}");
    let read = |storage: &SqliteStorage| block_on(storage.contents(&session("s"), &[hash]));
    let of = format!("(SELECT blob FROM contents WHERE hash = x'{hash}')");
    noticed(&format!("UPDATE blobs SET data = {FLIPPED} WHERE id = {of}"), &name, read);
    noticed(&format!("DELETE FROM blobs WHERE id = {of}"), &name, read);
    for set in ["raw = raw + 1", "raw = NULL", "raw = 9223372036854775807", "blob = 1"] {
        noticed(&format!("UPDATE contents SET {set} WHERE hash = x'{hash}'"), &name, read);
    }
}

#[test]
fn a_damaged_run_record_is_noticed() {
    let read = |storage: &SqliteStorage| block_on(storage.runs(&session("s"), ""));
    for set in [
        "value = '{}'",
        "version = 2",
        "updated_at = 7",
        "checksum = zeroblob(16)",
        "key = 'rum', version = -1",
    ] {
        noticed(&format!("UPDATE runs SET {set}"), "' of session 's'", read);
    }
    noticed("UPDATE runs SET key = 'ran'", "run 'ran' of session 's'", read);
}

#[test]
fn wrong_reference_counts_are_found() {
    let sandbox = filled();
    let hash = content(&"text 3 ".repeat(500)).hash();
    let change = format!("UPDATE contents SET refs = 7 WHERE hash = x'{hash}'");
    sandbox.meddle().execute(&change, []).unwrap();
    sandbox.meddle().execute("UPDATE directories SET listed = 4", []).unwrap();
    let problems = block_on(sandbox.open().verify()).unwrap();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains(&hash.to_string())), "{problems:?}");
    assert!(problems.iter().any(|problem| problem.contains("usr-0")), "{problems:?}");
}

#[test]
fn a_damaged_segment_is_noticed() {
    for set in [format!("data = {FLIPPED}"), "checksum = zeroblob(16)".to_owned()] {
        noticed(&format!("UPDATE segments SET {set}"), "segment usr of session 's'", |storage| {
            block_on(storage.segments(&session("s")))
        });
    }
}

#[test]
fn a_damaged_session_is_noticed() {
    for set in [
        "revision = 1",
        "next_place = 1",
        "app = 'other'",
        "updated_at = 0",
        "mark = 'bcdfghjk'",
        "mark = 'no mark'",
        "mark = NULL",
    ] {
        noticed(&format!("UPDATE sessions SET {set}"), "session 's'", |storage| {
            block_on(storage.session(&session("s")))
        });
        // Nor does the writer build upon it.
        noticed(&format!("UPDATE sessions SET {set}"), "session 's'", |storage| {
            commit(storage, "s", append("usr", "more"))
        });
    }
}

#[test]
fn damaged_history_is_noticed() {
    let read = |storage: &SqliteStorage| {
        let query = HistoryQuery { limit: 10, ..HistoryQuery::default() };
        block_on(storage.history(&session("s"), &query))
    };
    for set in [format!("data = {FLIPPED}"), "actor = 'eve'".to_owned(), "undoable = 0".to_owned()]
    {
        let sql = format!("UPDATE history SET {set} WHERE revision = 3");
        noticed(&sql, "revision 3 of session 's'", read);
    }
}

#[test]
fn damaged_levels_focus_and_custom_state_are_noticed() {
    let chunk = || ChunkKey { view: "bot".parse().unwrap(), segment: segment_id("usr"), chunk: 0 };
    noticed("UPDATE levels SET data = x'7b7d'", "view bot", |storage| {
        block_on(storage.levels(&session("s"), &[chunk()]))
    });
    noticed("UPDATE focus SET page = 'usr-2'", "the focus of view 'bot'", |storage| {
        block_on(storage.views(&session("s")))
    });
    noticed("UPDATE custom SET content = 'evil'", "custom state 'key'", |storage| {
        block_on(storage.custom(&session("s")))
    });
}

#[test]
fn damaged_views_are_noticed() {
    let read = |storage: &SqliteStorage| block_on(storage.views(&session("s")));
    for set in ["touched = touched + 1", "checksum = zeroblob(16)", "touched = -1"] {
        let sql = format!("UPDATE views SET {set} WHERE view = 'bot'");
        noticed(&sql, "view 'bot' of session 's'", read);
    }
    noticed("DELETE FROM views WHERE view = 'bot'", "the focus of view", read);
}

#[test]
fn damaged_windows_are_noticed() {
    let read = |storage: &SqliteStorage| {
        let query = LedgerQuery { upto: None, limit: 10 };
        block_on(storage.ledger(&session("s"), &ledger("bot"), &query))
    };
    let name = |number| format!("window {number} in the openai ledger of view bot of session 's'");
    for (number, set) in [
        (1, format!("data = {FLIPPED}")),
        (2, format!("data = {FLIPPED}")),
        (1, "checksum = zeroblob(16)".to_owned()),
        (1, "raw = 10".to_owned()),
        (2, "raw = NULL".to_owned()),
        (2, "raw = raw + 1".to_owned()),
    ] {
        let sql = format!("UPDATE ledger SET {set} WHERE number = {number}");
        noticed(&sql, &name(number), read);
        // Nor does a report or a purge build upon it.
        noticed(&sql, &name(number), |storage| {
            let usage = contexture_core::Usage::default();
            block_on(storage.report(&session("s"), &ledger("bot"), number, &usage))
        });
        noticed(&sql, &name(number), |storage| {
            let purge = Change { purge: true, ..change(Operation::PurgePage) };
            commit(storage, "s", purge)
        });
    }
    let moved = "UPDATE ledger SET number = 9 WHERE number = 2";
    noticed(moved, &name(9), read);
}

#[test]
fn damaged_token_counts_are_noticed() {
    let name = format!("token count {}", "07".repeat(16));
    noticed("UPDATE counts SET tokens = -1", &name, |storage| {
        block_on(storage.counts(&[CountKey([7; 16])]))
    });
}

#[test]
fn a_byte_flipped_in_the_file_is_noticed() {
    let sandbox = filled();
    let name = b"{\"index\":\"usr-3\",\"parent\"";
    let mut bytes = fs::read(sandbox.file()).unwrap();
    let found: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|&at| bytes[at..].starts_with(name)).collect();
    assert_eq!(found.len(), 1, "the page's data stands in the file once");
    bytes[found[0] + 9] ^= 1;
    fs::write(sandbox.file(), bytes).unwrap();
    match read_pages(&sandbox.open()) {
        Err(StorageError::Corrupt { what, reason }) => {
            assert_eq!(what, sandbox.file().display().to_string());
            assert!(reason.starts_with("a page of the file is damaged"));
            assert!(
                reason.contains("a plain sqlite3") && reason.contains("a repair saves"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_truncated_file_is_corrupt() {
    let sandbox = filled();
    let whole = fs::read(sandbox.file()).unwrap();
    for left in [whole.len() - 1, whole.len() / 2, 4_096, 5_000, 600, 100] {
        fs::write(sandbox.file(), &whole[..left]).unwrap();
        match SqliteStorage::open(&sandbox.file(), SqliteOptions::default()) {
            Err(StorageError::Corrupt { .. }) => {}
            other => panic!("{left} bytes left: {other:?}"),
        }
        assert!(fs::read(sandbox.file()).unwrap() == whole[..left], "{left} bytes left: changed");
    }
}

// Verifying does not stop at the first thing that is wrong.
#[test]
fn all_damage_is_listed() {
    let sandbox = filled();
    let db = sandbox.meddle();
    for sql in [
        &format!("UPDATE pages SET data = {FLIPPED} WHERE number IN (2, 4)"),
        "UPDATE history SET checksum = zeroblob(16) WHERE revision = 2",
        "UPDATE custom SET content = 'evil'",
        "UPDATE sessions SET app = 'other'",
    ] {
        db.execute(sql, []).unwrap();
    }
    let problems = block_on(sandbox.open().verify()).unwrap();
    for name in ["usr-2", "usr-4", "revision 2", "custom state 'key'", "session 's' is corrupt"] {
        assert!(problems.iter().any(|problem| problem.contains(name)), "{name}: {problems:?}");
    }
}

#[test]
fn missing_tables_are_corrupt() {
    let sandbox = filled();
    sandbox.meddle().execute_batch("DROP TABLE pages").unwrap();
    let error = read_pages(&sandbox.open()).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
}
