//! Repair: after it everything that can be read is read, and what cannot lies in the quarantine.

use contexture_core::{
    ContextSystem, Edit, PageStorage,
    storage::{
        ContentHash, HistoryQuery, StorageError,
        check::{check_session, is_lost, repair_session},
    },
};
use contexture_storage::SqliteStorage;
use contexture_testkit::fixture::TickingClock;
use futures::executor::block_on;
use std::sync::Arc;

use crate::{
    build::{Sandbox, append, at, commit, content, index, session},
    damage::{FLIPPED, filled},
};

/// Repairs a storage as `store check --repair` does; returns what was done.
fn repaired(sandbox: &Sandbox) -> Vec<String> {
    let storage = sandbox.open();
    let mut done = block_on(storage.repair()).unwrap();
    for info in block_on(storage.sessions(None, 9)).unwrap() {
        done.extend(block_on(repair_session(&storage, &info.id, at(9))).unwrap());
    }
    done.extend(block_on(storage.repair()).unwrap());
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{done:?}");
    for info in block_on(storage.sessions(None, 9)).unwrap() {
        let problems = block_on(check_session(&storage, &info.id)).unwrap();
        assert_eq!(problems, [""; 0], "{done:?}");
    }
    assert_eq!(block_on(storage.repair()).unwrap(), [""; 0], "nothing is done twice");
    done
}

fn quarantined(sandbox: &Sandbox, origin: &str) -> Vec<String> {
    let db = sandbox.meddle();
    let sql = "SELECT content FROM quarantine WHERE origin = ?1 ORDER BY id";
    let mut query = db.prepare(sql).unwrap();
    query.query_map([origin], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Damages one row, repairs, and returns the storage with what was done.
#[track_caller]
fn after(sql: &str) -> (Sandbox, SqliteStorage, Vec<String>) {
    let sandbox = filled();
    assert_eq!(sandbox.meddle().execute(sql, []).unwrap(), 1, "{sql}");
    assert_ne!(block_on(sandbox.open().verify()).unwrap(), [""; 0], "{sql}");
    let done = repaired(&sandbox);
    assert!(!done.is_empty(), "{sql}");
    let storage = sandbox.open();
    commit(&storage, "s", append("usr", "life goes on")).unwrap();
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{sql}");
    (sandbox, storage, done)
}

#[test]
fn a_sound_storage_is_left_alone() {
    let sandbox = filled();
    assert_eq!(block_on(sandbox.open().repair()).unwrap(), [""; 0]);
}

#[test]
fn a_damaged_page_goes_into_the_quarantine_and_is_made_again() {
    for set in [format!("data = {FLIPPED}"), "checksum = zeroblob(16)".into(), "data = x''".into()]
    {
        let (sandbox, storage, done) = after(&format!("UPDATE pages SET {set} WHERE number = 3"));
        assert!(done[0].contains("page usr-3 of session 's' is corrupt"), "{done:?}");
        let pages = [index("usr-2"), index("usr-3"), index("usr-4")];
        let read = block_on(storage.pages(&session("s"), &pages)).unwrap();
        // Its text is stored apart from it, but these are no messages, so nobody could read it.
        let made = read[1].as_ref().unwrap();
        assert!(is_lost(made) && made.parent == Some(index("usr-0")));
        assert!(read[0].as_ref().unwrap().place < made.place);
        assert!(made.place < read[2].as_ref().unwrap().place);
        let kept = quarantined(&sandbox, "pages");
        assert_eq!(kept.len(), 1);
        assert!(kept[0].contains("\"number\":3"), "{kept:?}");
        let root = index("usr-0");
        assert_eq!(block_on(storage.child_count(&session("s"), &root)).unwrap(), 6);
    }
}

#[test]
fn columns_are_derived_from_what_they_repeat() {
    for set in ["parent = 2", "place = 77", "standing = 1", "version = 4", "turn_author = 'eve'"] {
        let (_, storage, _) = after(&format!("UPDATE pages SET {set} WHERE number = 3"));
        let read = block_on(storage.pages(&session("s"), &[index("usr-3")])).unwrap();
        assert!(read[0].is_some(), "{set}");
    }
}

#[test]
fn a_lost_directory_leaves_its_pages() {
    let (_, storage, done) = after("UPDATE pages SET data = x'00' WHERE number = 0");
    assert!(done.iter().any(|done| done.contains("usr-0 was missing and was created")), "{done:?}");
    assert_eq!(block_on(storage.child_count(&session("s"), &index("usr-0"))).unwrap(), 6);
}

#[test]
fn a_lost_content_is_reported_in_its_place() {
    let hash: ContentHash = content(&"text 3 ".repeat(500)).hash();
    let of = format!("(SELECT blob FROM contents WHERE hash = x'{hash}')");
    for sql in [
        format!("UPDATE blobs SET data = {FLIPPED} WHERE id = {of}"),
        format!("DELETE FROM blobs WHERE id = {of}"),
        format!("DELETE FROM contents WHERE hash = x'{hash}'"),
        format!("UPDATE contents SET blob = 1 WHERE hash = x'{hash}'"),
        format!("UPDATE contents SET raw = raw + 1 WHERE hash = x'{hash}'"),
    ] {
        let (_, storage, done) = after(&sql);
        let told = "the content of page usr-3 is lost, and the page now says so";
        assert!(done.iter().any(|done| done == told), "{sql}: {done:?}");
        let page = block_on(storage.pages(&session("s"), &[index("usr-3")])).unwrap().remove(0);
        let now = page.unwrap().detail().unwrap().content;
        assert_ne!(now, hash);
        let text = block_on(storage.contents(&session("s"), &[now])).unwrap().remove(0).unwrap();
        assert!(text.messages().unwrap()[0].plain_text().contains("was lost"));
        // What was lost does not come back by an undo.
        let clock = TickingClock::new();
        let storage = Arc::new(storage);
        let system = block_on(ContextSystem::open(storage.clone(), session("s"), clock)).unwrap();
        let query = HistoryQuery { limit: 20, ..HistoryQuery::default() };
        for entry in block_on(storage.history(&session("s"), &query)).unwrap() {
            let undo = Edit::Undo { revision: Some(entry.revision) };
            drop(block_on(system.as_system().apply(undo)));
        }
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{sql}");
    }
}

#[test]
fn lost_history_leaves_the_contents_of_pages() {
    let (sandbox, storage, done) =
        after("UPDATE history SET checksum = zeroblob(16) WHERE revision = 3");
    assert!(
        done.iter().any(|done| done.contains("was written as a stand-in for the lost one")),
        "{done:?}"
    );
    assert_eq!(quarantined(&sandbox, "history").len(), 1);
    let page = block_on(storage.pages(&session("s"), &[index("usr-2")])).unwrap().remove(0);
    let hash = page.unwrap().detail().unwrap().content;
    let read = block_on(storage.contents(&session("s"), &[hash])).unwrap();
    assert!(read[0].is_some());
    // A purge finds it.
    let clock = TickingClock::new();
    let storage = Arc::new(storage);
    let system = block_on(ContextSystem::open(storage.clone(), session("s"), clock)).unwrap();
    block_on(system.as_system().apply(Edit::PurgePage(index("usr-2")))).unwrap();
    assert_eq!(block_on(storage.contents(&session("s"), &[hash])).unwrap(), [None]);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

#[test]
fn heads_are_rebuilt() {
    for set in
        ["revision = 1", "next_place = 1", "app = 'other'", "mark = 'no mark'", "mark = NULL"]
    {
        let (_, storage, _) = after(&format!("UPDATE sessions SET {set}"));
        let info = block_on(storage.session(&session("s"))).unwrap().unwrap();
        assert!(info.revision.0 >= 7 && info.next_place.0 >= 6, "{info:?}");
    }
    for set in
        [format!("data = {FLIPPED}"), "checksum = zeroblob(16)".into(), "data = x'00'".into()]
    {
        let (sandbox, storage, _) = after(&format!("UPDATE segments SET {set}"));
        let segment = block_on(storage.segments(&session("s"))).unwrap().remove(0);
        assert_eq!((segment.id.as_str(), segment.next_number), ("usr", 7));
        assert_eq!(quarantined(&sandbox, "segments").len(), 1);
    }
}

#[test]
fn what_stands_alone_goes_alone() {
    for (origin, sql) in [
        ("levels", "UPDATE levels SET data = x'7b7d'"),
        ("focus", "UPDATE focus SET page = 'usr-2'"),
        ("custom", "UPDATE custom SET content = 'evil'"),
        ("views", "UPDATE views SET touched = touched + 1 WHERE view = 'bot'"),
        ("ledger", "UPDATE ledger SET raw = 10 WHERE number = 1"),
        ("runs", "UPDATE runs SET value = '{}'"),
        ("counts", "UPDATE counts SET tokens = -1"),
        ("blobs", "INSERT INTO blobs (data) VALUES (x'00')"),
        ("runs", "UPDATE runs SET session = 99"),
    ] {
        let (sandbox, storage, _) = after(sql);
        assert_eq!(quarantined(&sandbox, origin).len(), 1, "{sql}");
        block_on(storage.views(&session("s"))).unwrap();
        block_on(storage.custom(&session("s"))).unwrap();
        block_on(storage.runs(&session("s"), "")).unwrap();
    }
    let (_, storage, _) = after("DELETE FROM views WHERE view = 'bot'");
    assert_eq!(block_on(storage.views(&session("s"))).unwrap().len(), 2);
}

#[test]
fn counts_are_made_again() {
    let (_, _, done) = after("UPDATE directories SET listed = 4");
    assert_eq!(done, ["the pages of 1 directories were recounted"]);
    let hash = content(&"text 3 ".repeat(500)).hash();
    let (_, _, done) = after(&format!("UPDATE contents SET refs = 7 WHERE hash = x'{hash}'"));
    assert_eq!(done, [format!("content {hash} now counts 1 references instead of 7")]);
}

#[test]
fn much_damage_at_once_is_repaired() {
    let sandbox = filled();
    let db = sandbox.meddle();
    for sql in [
        &format!("UPDATE pages SET data = {FLIPPED} WHERE number IN (0, 2, 4)"),
        "UPDATE history SET checksum = zeroblob(16) WHERE revision IN (2, 5)",
        "UPDATE custom SET content = 'evil'",
        "UPDATE sessions SET app = 'other'",
        "UPDATE segments SET data = x'00'",
        "UPDATE blobs SET data = x'00' WHERE id = 3",
    ] {
        db.execute(sql, []).unwrap();
    }
    drop(db);
    repaired(&sandbox);
}

// What is damaged below the rows is said to be, and left as it is.
#[test]
fn a_broken_structure_is_beyond_repair() {
    let sandbox = filled();
    let root: i64 = sandbox
        .meddle()
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'custom'", [], |row| row.get(0))
        .unwrap();
    let mut bytes = std::fs::read(sandbox.file()).unwrap();
    let size = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let start = (usize::try_from(root).unwrap() - 1) * size;
    bytes[start..start + 64].fill(0xff);
    std::fs::write(sandbox.file(), &bytes).unwrap();
    let storage = sandbox.open();
    let error = block_on(storage.repair()).unwrap_err();
    assert!(matches!(error, StorageError::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("then repair it again"), "{error}");
    assert!(std::fs::read(sandbox.file()).unwrap() == bytes, "it was changed");
}

// An index that does not fit its table is built anew.
#[test]
fn indexes_are_built_again() {
    let sandbox = filled();
    let db = sandbox.meddle();
    db.execute_batch(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'standing <> 0', 'standing <> 1')
         WHERE name = 'pages_unlisted'",
    )
    .unwrap();
    drop(db);
    let storage = sandbox.open();
    assert_ne!(block_on(storage.verify()).unwrap(), [""; 0]);
    let done = block_on(storage.repair()).unwrap();
    assert_eq!(done, ["the indexes did not match the rows and were rebuilt"]);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
