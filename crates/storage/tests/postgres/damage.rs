//! Damage: noticed when read, named when verified, taken into the quarantine when repaired.

use contexture_core::{Edit, ErrorKind, PageStorage, Timestamp, storage::RunPut};
use contexture_testkit::fixture::{self, agent, apply, page, session_id, valid};
use futures::executor::block_on;

use crate::support::{append, database, names, open, sql};

/// Makes a session with something in every table.
fn filled(url: &str) {
    let storage = open(url);
    let made = block_on(fixture::session(storage.clone()));
    append(&made, "one").unwrap();
    append(&made, "two").unwrap();
    let set = Edit::SetCustom { key: valid("goal"), value: Some("reached".to_owned()) };
    block_on(apply(&made, set));
    let agent = agent(&made, "reader");
    block_on(agent.pin_page("usr-1")).unwrap();
    block_on(made.as_system().apply(Edit::FocusPage(page("usr-2")))).unwrap();
    let put = RunPut::first(valid("run"), "step", Timestamp::from_millis(1));
    block_on(storage.keep_run(&session_id(), &put)).unwrap();
}

// A flipped byte in any column that holds data is noticed and named; repairing takes the row
// into the quarantine, keeps all others, and leaves nothing to find but what is then missing.
#[test]
fn a_flipped_byte_is_noticed_named_and_taken_away() {
    for (table, column, condition) in [
        ("pages", "data", "number = 2"),
        (
            "contents",
            "data",
            "hash IN (SELECT hash FROM contexture_contents ORDER BY hash LIMIT 1)",
        ),
        ("history", "data", "revision = 3"),
        ("levels", "data", "TRUE"),
        ("custom", "content", "TRUE"),
        ("runs", "content", "TRUE"),
        ("pages", "checksum", "number = 2"),
        ("views", "checksum", "TRUE"),
        ("focus", "checksum", "TRUE"),
    ] {
        let what = format!("{table}.{column}");
        let url = database();
        filled(&url);
        let storage = open(&url);
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{what}");
        let pages = names(&*storage).len();
        sql(
            &url,
            &format!(
                "UPDATE contexture_{table}
                 SET {column} = set_byte({column}, 1, get_byte({column}, 1) # 4) WHERE {condition}"
            ),
        );
        let found = block_on(storage.verify()).unwrap();
        assert!(!found.is_empty(), "{what} was not noticed");
        assert!(found.iter().any(|problem| problem.contains("corrupt")), "{what}: {found:?}");
        let done = block_on(storage.repair()).unwrap();
        assert!(done.iter().any(|done| done.contains("quarantine")), "{what}: {done:?}");
        let kept =
            sql(&url, "SELECT source, convert_from(content, 'UTF8') FROM contexture_quarantine");
        assert!(!kept.is_empty() && kept.iter().all(|row| row[0] == format!("contexture_{table}")));
        assert!(kept[0][1].starts_with('{'), "{}", kept[0][1]);
        let left = block_on(storage.verify()).unwrap();
        let missing = |problem: &String| {
            problem.contains("is missing") || problem.contains("belongs to nothing")
        };
        assert!(left.iter().all(missing), "{what}: {left:?}");
        assert_eq!(block_on(storage.repair()).unwrap(), [""; 0], "{what} was repaired twice");
        let gone = usize::from(table == "pages");
        assert_eq!(names(&*storage).len(), pages - gone, "{what}");
    }
}

#[test]
fn reading_damage_is_an_error() {
    let url = database();
    filled(&url);
    let storage = open(&url);
    let flip = |table: &str, column: &str| {
        sql(
            &url,
            &format!(
                "UPDATE contexture_{table} SET {column} = set_byte({column}, 1, get_byte({column}, 1) # 4)"
            ),
        );
    };
    let session = session_id();
    flip("pages", "data");
    let error = block_on(storage.pages(&session, &[page("usr-1")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("page usr-1 of session 'test'"), "{error}");
    flip("segments", "data");
    assert_eq!(block_on(storage.segments(&session)).unwrap_err().kind(), ErrorKind::Corrupt);
    flip("custom", "content");
    assert_eq!(block_on(storage.custom(&session)).unwrap_err().kind(), ErrorKind::Corrupt);
    flip("sessions", "app");
    assert_eq!(block_on(storage.session(&session)).unwrap_err().kind(), ErrorKind::Corrupt);
    // A row moved to where it does not belong is as bad as a flipped byte.
    flip("pages", "data");
    sql(&url, "UPDATE contexture_pages SET number = 99 WHERE number = 1 AND segment = 'usr'");
    let error = block_on(storage.pages(&session, &[page("usr-99")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

// What is derived is derived anew.
#[test]
fn repairs_counts_and_the_row_of_a_session() {
    let url = database();
    filled(&url);
    let storage = open(&url);
    let before = block_on(storage.session(&session_id())).unwrap().unwrap();
    sql(
        &url,
        "UPDATE contexture_directories SET listed = 77; UPDATE contexture_contents SET refs = 5",
    );
    sql(&url, "UPDATE contexture_sessions SET revision = 0, next_place = 0");
    let found = block_on(storage.verify()).unwrap();
    assert!(found.len() >= 3, "{found:?}");
    block_on(storage.repair()).unwrap();
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    let after = block_on(storage.session(&session_id())).unwrap().unwrap();
    assert_eq!(after, before);
    assert_eq!(block_on(storage.child_count(&session_id(), &page("usr-0"))).unwrap(), 2);
    append(&crate::support::system(storage.clone()), "three").unwrap();
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
