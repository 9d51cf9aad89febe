//! Purging: what was destroyed is gone, from the tables and from the bytes of the files.

use std::collections::BTreeSet;

use contexture_core::{
    HistoryEntry, Operation, Page, PageStorage, Revision,
    storage::{Change, HistoryQuery, Quarantine},
};
use contexture_storage::{Durability, SqliteOptions, SqliteStorage};
use futures::executor::block_on;

use crate::build::{
    Sandbox, append, assert_sound, change, commit, content, index, init, ledger, page, put, sent,
    session, take,
};

fn refs(sandbox: &Sandbox, text: &str) -> Option<i64> {
    let sql = format!("SELECT refs FROM contents WHERE hash = x'{}'", content(text).hash());
    sandbox.meddle().query_row(&sql, [], |row| row.get(0)).ok()
}

fn purge(storage: &SqliteStorage, name: &str, pages: Vec<Page>) {
    let pages = pages.into_iter().map(take).collect();
    commit(storage, name, Change { pages, purge: true, ..change(Operation::PurgePage) }).unwrap();
}

fn rename(storage: &SqliteStorage, name: &str, of: &str, to: &str) {
    let before = page(storage, name, of);
    let mut after = before.clone();
    after.name = to.parse().unwrap();
    after.version = before.version.next();
    let pages = vec![put(Some(before), after)];
    commit(storage, name, Change { pages, ..change(Operation::UpdatePage) }).unwrap();
}

fn history(storage: &SqliteStorage) -> Vec<HistoryEntry> {
    let query = HistoryQuery { limit: usize::MAX, ..HistoryQuery::default() };
    block_on(storage.history(&session("s"), &query)).unwrap()
}

/// Finds the marks that stand in bytes: a word and the four digits after it.
fn marks(bytes: &[u8]) -> BTreeSet<(&'static str, u64)> {
    let mut found = BTreeSet::new();
    for at in 0..bytes.len() {
        for word in ["SECRET-", "PUBLIC-", "Name-", "Title-", "Quote-"] {
            let rest = bytes[at..].strip_prefix(word.as_bytes());
            let digits = rest.and_then(|rest| std::str::from_utf8(rest.get(..4)?).ok());
            found
                .extend(digits.and_then(|digits| digits.parse().ok()).map(|number| (word, number)));
        }
    }
    found
}

#[test]
fn references_count_assignments() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    init(&storage, "t");
    for name in ["s", "s", "t"] {
        commit(&storage, name, append("usr", "shared")).unwrap();
    }
    assert_eq!(refs(&sandbox, "shared"), Some(3));
    rename(&storage, "s", "usr-1", "another name");
    assert_eq!(refs(&sandbox, "shared"), Some(3));
    purge(&storage, "s", vec![page(&storage, "s", "usr-1")]);
    assert_eq!(refs(&sandbox, "shared"), Some(2));
    assert!(block_on(storage.remove_session(&session("s"))).unwrap());
    assert_eq!(refs(&sandbox, "shared"), Some(1));
    let read = block_on(storage.contents(&session("t"), &[content("shared").hash()])).unwrap();
    assert_eq!(read, [Some(content("shared"))]);
    purge(&storage, "t", vec![page(&storage, "t", "usr-1")]);
    assert_eq!(refs(&sandbox, "shared"), None);
    assert_sound(&storage);
}

#[test]
fn a_purge_scrubs_the_whole_history_of_a_page() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    commit(&storage, "s", append("usr", "text")).unwrap();
    rename(&storage, "s", "usr-1", "second");
    rename(&storage, "s", "usr-1", "third");
    purge(&storage, "s", vec![page(&storage, "s", "usr-1")]);
    let entries = history(&storage);
    let about = |entry: &&HistoryEntry| entry.revision > Revision(1);
    assert_eq!(entries.iter().filter(about).count(), 4);
    for entry in entries.iter().filter(about) {
        let before = &entry.inverse.pages[0];
        assert!(
            before.purged && before.before.is_none() && before.assigned.is_none(),
            "{before:?}"
        );
    }
    assert_eq!(block_on(storage.pages(&session("s"), &[index("usr-1")])).unwrap(), [None]);
    assert_sound(&storage);
}

const PAGES: u64 = 1_000;

// Large and small, compressed and not, with neighbours that stay.
#[test]
fn purged_text_is_gone_from_the_files() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    let text = |number: u64| {
        let noise: Vec<String> = (0..number % 7 * 40)
            .map(|at| {
                contexture_core::storage::ContentHash::of(format!("{number} {at}").as_bytes())
                    .to_string()
            })
            .collect();
        format!("SECRET-{number:04}-TEXT {}", noise.join(" "))
    };
    for number in 1..=PAGES {
        commit(&storage, "s", append("usr", &text(number))).unwrap();
        rename(&storage, "s", &format!("usr-{number}"), &format!("Name-{number:04}"));
    }
    // Rows that grow make SQLite move others about.
    for number in 1..=PAGES {
        let more = "x".repeat(usize::try_from(number * 7 % 150).unwrap());
        rename(&storage, "s", &format!("usr-{number}"), &format!("Title-{number:04} {more}"));
    }
    // Windows sent quote what they showed.
    for number in 1..=40 {
        let line = format!("Quote-{number:04} ").repeat(usize::try_from(number * 20).unwrap());
        block_on(storage.record(&session("s"), &ledger("bot"), &sent(number, &line))).unwrap();
    }
    assert!(marks(&sandbox.bytes()).iter().any(|(word, _)| *word == "Quote-"));
    let purged: Vec<u64> = (1..=PAGES).filter(|number| number % 3 == 0).collect();
    for some in purged.chunks(100) {
        let pages = some.iter().map(|number| page(&storage, "s", &format!("usr-{number}")));
        purge(&storage, "s", pages.collect());
    }
    let left = marks(&sandbox.bytes());
    assert!(left.contains(&("Title-", 1)) && left.contains(&("SECRET-", 7)), "what stays is there");
    assert!(!left.iter().any(|(word, _)| *word == "Quote-"), "windows are scrubbed");
    let left: Vec<_> = left.into_iter().filter(|(_, number)| purged.contains(number)).collect();
    assert_eq!(left, []);
    assert_sound(&storage);
}

#[test]
fn a_removed_session_is_gone_from_the_files() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "gone");
    init(&storage, "stays");
    for number in 1..=50 {
        let text = format!("SECRET-{number:04}-TEXT");
        commit(&storage, "gone", append("usr", &text)).unwrap();
        let text = format!("PUBLIC-{number:04}-TEXT");
        commit(&storage, "stays", append("usr", &text)).unwrap();
        let line = format!("Quote-{number:04}");
        block_on(storage.record(&session("gone"), &ledger("bot"), &sent(number, &line))).unwrap();
    }
    assert!(block_on(storage.remove_session(&session("gone"))).unwrap());
    let left = marks(&sandbox.bytes());
    assert_eq!(left, (1..=50).map(|number| ("PUBLIC-", number)).collect());
    assert!(
        block_on(storage.sessions(None, 9)).unwrap().iter().all(|info| info.id.as_str() == "stays")
    );
    assert_sound(&storage);
    // Its name is free again.
    init(&storage, "gone");
    commit(&storage, "gone", append("usr", "new")).unwrap();
    assert_sound(&storage);
}

// A snapshot still needs what was purged; the storage says so, and the next to open it finishes.
#[test]
fn traces_are_reported_and_wiped_at_the_next_opening() {
    let sandbox = Sandbox::new();
    let options = SqliteOptions {
        durability: Durability::Process,
        busy_timeout: std::time::Duration::from_millis(50),
        ..SqliteOptions::default()
    };
    let storage = SqliteStorage::open(&sandbox.file(), options).unwrap();
    init(&storage, "s");
    commit(&storage, "s", append("usr", "SECRET-0001-TEXT")).unwrap();
    assert_eq!(block_on(storage.traces()).unwrap(), []);
    let snapshot = block_on(storage.snapshot()).unwrap();
    assert!(block_on(snapshot.session(&session("s"))).unwrap().is_some());
    purge(&storage, "s", vec![page(&storage, "s", "usr-1")]);
    let left = block_on(storage.traces()).unwrap();
    assert!(left.iter().any(|trace| trace.until.contains("earlier state")), "{left:?}");
    assert!(marks(&sandbox.bytes()).contains(&("SECRET-", 1)), "it is still there");
    assert_eq!(block_on(storage.scrub(Quarantine::Keep)).unwrap(), left, "nor can it be wiped now");
    drop(snapshot);
    drop(storage);
    let storage = SqliteStorage::open(&sandbox.file(), options).unwrap();
    // Whatever is asked for next is done after it.
    assert_sound(&storage);
    commit(&storage, "s", append("usr", "PUBLIC-0002-TEXT")).unwrap();
    assert_eq!(block_on(storage.traces()).unwrap(), []);
    assert!(!marks(&sandbox.bytes()).contains(&("SECRET-", 1)));
    assert_eq!(block_on(storage.scrub(Quarantine::Keep)).unwrap(), []);
}

// What a salvage had copied before it was cut off holds the text as well, and nobody needs it.
#[test]
fn a_purge_removes_the_copy_of_a_salvage_that_was_cut_off() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    commit(&storage, "s", append("usr", "SECRET-0001-TEXT")).unwrap();
    let copy = sandbox.folder().join("contexture.db-salvage");
    std::fs::copy(sandbox.file(), &copy).unwrap();
    purge(&storage, "s", vec![page(&storage, "s", "usr-1")]);
    assert!(!copy.exists());
    assert_eq!(block_on(storage.traces()).unwrap(), []);
}
