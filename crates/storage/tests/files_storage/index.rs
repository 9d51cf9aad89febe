//! The index is derived: lost or damaged, it is made again, and nothing else changes.

use std::fs;

use contexture_core::{ContextSystem, PageStorage};
use contexture_storage::FilesStorage;
use contexture_testkit::fixture::reopen;
use futures::executor::block_on;

use crate::{copy, everything, fill, open, write};

#[test]
fn a_lost_or_damaged_index_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let before = everything(&storage);
    drop(storage);
    let index = dir.path().join(".local/index.db");
    let whole = fs::read(&index).unwrap();
    let mut zeroed = whole.clone();
    zeroed[4_096..].fill(0);
    let mut other_version = whole.clone();
    other_version[60..64].fill(7);
    for (how, bytes) in [
        ("missing", None),
        ("empty", Some(Vec::new())),
        ("cut short", Some(whole[..whole.len() / 2].to_vec())),
        ("garbage", Some(vec![b'x'; 10_000])),
        ("zeroed", Some(zeroed)),
        ("another version", Some(other_version)),
    ] {
        match &bytes {
            Some(bytes) => fs::write(&index, bytes).unwrap(),
            None => fs::remove_file(&index).unwrap(),
        }
        assert_eq!(everything(&open(dir.path())), before, "{how}");
        // The same while it is open.
        let storage = open(dir.path());
        block_on(storage.session(&contexture_testkit::fixture::session_id())).unwrap();
        fs::remove_file(&index).unwrap();
        if let Some(bytes) = &bytes {
            fs::write(&index, bytes).unwrap();
        }
        assert_eq!(everything(&storage), before, "{how}, while open");
    }
}

#[test]
fn the_whole_local_folder_may_go() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let before = everything(&storage);
    fs::remove_dir_all(dir.path().join(".local")).unwrap();
    assert_eq!(everything(&storage), before);
    let system: ContextSystem = block_on(reopen(storage.clone()));
    write(&system, "usr-2", "after");
    let after = everything(&storage);
    drop((system, storage));
    assert_eq!(everything(&open(dir.path())), after);
}

// A flip in the index that SQLite does not notice is found by a check and mended by a repair.
#[test]
fn repairs_a_flipped_index() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let before = everything(&storage);
    drop(storage);
    let index = dir.path().join(".local/index.db");
    let whole = fs::read(&index).unwrap();
    for at in (100..whole.len()).step_by(whole.len() / 40) {
        let mut flipped = whole.clone();
        flipped[at] ^= 16;
        fs::write(&index, &flipped).unwrap();
        let storage = open(dir.path());
        block_on(storage.repair()).unwrap();
        assert_eq!(everything(&storage), before, "byte {at}");
    }
}

// What a power cut took from the files comes back from the journal.
#[test]
fn the_journal_brings_back_what_did_not_reach_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let (path, cut) = (dir.path().join("running"), dir.path().join("cut"));
    drop(fill(&open(&path)));
    // The journal was emptied with the first half in place; it holds the rest.
    let storage = open(&path);
    write(&block_on(reopen(storage.clone())), "usr-2", "the rest");
    let before = everything(&storage);
    drop(open(&dir.path().join("empty")));
    for index in ["kept", "lost", "empty"] {
        let _ = fs::remove_dir_all(&cut);
        copy(&path, &cut);
        assert!(fs::metadata(cut.join(".local/journal")).unwrap().len() > 0);
        // Another life of the machine: what was put in place counts for nothing.
        fs::write(cut.join(".local/applied"), [0; 48]).unwrap();
        fs::write(cut.join("sessions/test/pages/usr-2.json"), "").unwrap();
        fs::write(cut.join("sessions/test/session.json"), [0; 300]).unwrap();
        let _ = fs::remove_file(cut.join("sessions/test/segments/usr.json"));
        if index != "kept" {
            for file in ["index.db", "index.db-wal", "index.db-shm"] {
                let _ = fs::remove_file(cut.join(".local").join(file));
            }
        }
        if index == "empty" {
            // Its last writes were lost: it knows only what the journal tells it.
            fs::copy(dir.path().join("empty/.local/index.db"), cut.join(".local/index.db"))
                .unwrap();
        }
        let storage: std::sync::Arc<FilesStorage> = open(&cut);
        assert_eq!(everything(&storage), before, "the index is {index}");
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "the index is {index}");
    }
}
