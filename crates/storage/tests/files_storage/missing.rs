//! Files that somebody deleted: they are missed by name, and not taken for another state.

use std::{fs, path::Path, sync::Arc};

use contexture_core::{
    ContextSystem, Edit, PageStorage, Timestamp,
    storage::{LedgerKey, LedgerQuery, RunPut, StorageError},
};
use contexture_storage::FilesStorage;
use contexture_testkit::{
    conformance::sent,
    fixture::{apply, leaf, reopen, session_id, valid},
};
use futures::executor::block_on;

use crate::{below, everything, fill, open};

/// Makes a session with at least one file of every kind.
pub(crate) fn fill_all(storage: &Arc<FilesStorage>) -> ContextSystem {
    let system = fill(storage);
    write_beside(storage, &system, 1);
    system
}

/// Sets a custom value, keeps a run and records a window.
pub(crate) fn write_beside(storage: &FilesStorage, system: &ContextSystem, number: u64) {
    block_on(async {
        let (key, value) = (valid(&format!("key-{number}")), Some("value".to_owned()));
        apply(system, Edit::SetCustom { key, value }).await;
        let run = format!("run/{number}");
        let run = RunPut::first(valid(&run), "{}", Timestamp::from_millis(1));
        storage.keep_run(&session_id(), &run).await.unwrap();
        storage.record(&session_id(), &ledger(), &sent(number)).await.unwrap();
    });
}

fn ledger() -> LedgerKey {
    LedgerKey { view: valid("bot"), format: valid("openai") }
}

/// Returns the files of the session, from the storage's folder on.
fn files(dir: &Path) -> Vec<String> {
    let files = below(&dir.join("sessions")).into_iter().filter(|path| path.is_file());
    let name = |path: std::path::PathBuf| path.strip_prefix(dir).unwrap().display().to_string();
    files.map(name).collect()
}

fn lose_index(dir: &Path) {
    for file in ["index.db", "index.db-wal", "index.db-shm"] {
        let _ = fs::remove_file(dir.join(".local").join(file));
    }
}

/// Returns the folder of the session in which a file lies; for custom state and the head, the file.
fn place(file: &str) -> &str {
    let after = file.match_indices('/').nth(2).map_or(file.len(), |(at, _)| at);
    &file[..after]
}

#[test]
fn a_deleted_file_of_every_kind_is_named() {
    let dir = tempfile::tempdir().unwrap();
    drop(fill_all(&open(dir.path())));
    let files = files(dir.path());
    for kind in
        ["session", "segments", "pages", "history", "contents", "views", "custom", "runs", "ledger"]
    {
        let of_kind = format!("sessions/test/{kind}");
        assert!(files.iter().any(|file| file.starts_with(&of_kind)), "{kind}: {files:?}");
    }
    let storage = open(dir.path());
    let before = everything(&storage);
    for file in &files {
        let path = dir.path().join(file);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        for (how, storage) in [("open", storage.clone()), ("opened", open(dir.path()))] {
            let problems = block_on(storage.verify()).unwrap();
            assert!(problems.iter().any(|line| line.contains(file)), "{how} {file}: {problems:?}");
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(everything(&storage), before, "{file}");
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{file}");
    }
}

// Without the index it is only known how many there must be, and what refers to what.
#[test]
fn a_deleted_file_is_missed_without_the_index() {
    let dir = tempfile::tempdir().unwrap();
    drop(fill_all(&open(dir.path())));
    let before = everything(&open(dir.path()));
    for file in files(dir.path()) {
        let path = dir.path().join(&file);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        lose_index(dir.path());
        let storage = open(dir.path());
        let problems = block_on(storage.verify()).unwrap();
        assert!(problems.iter().any(|line| line.contains(place(&file))), "{file}: {problems:?}");
        // Nothing is read of what is not whole.
        if !file.ends_with("/session.json") {
            match block_on(storage.session(&session_id())) {
                Err(StorageError::Corrupt { what, .. }) => assert_eq!(what, place(&file)),
                other => panic!("{file}: {other:?}"),
            }
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(everything(&storage), before, "{file}");
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "{file}");
    }
}

// A commit on what is not whole would make the loss a state like any other.
#[test]
fn nothing_is_committed_where_a_file_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    drop(fill_all(&open(dir.path())));
    let file = dir.path().join("sessions/test/custom.json");
    let whole = fs::read(&file).unwrap();
    let storage = open(dir.path());
    let system = block_on(reopen(storage.clone()));
    fs::remove_file(&file).unwrap();
    lose_index(dir.path());
    let key = valid("other");
    let edit = Edit::SetCustom { key, value: Some("value".to_owned()) };
    let refused = block_on(system.as_system().apply(edit)).unwrap_err();
    assert_eq!(refused.kind(), contexture_core::ErrorKind::Corrupt, "{refused}");
    fs::write(&file, &whole).unwrap();
    block_on(leaf(&system, "usr-0", "later"));
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

/// Deletes the custom state, a run and a window sent; returns their files.
fn lose(dir: &Path) -> Vec<String> {
    let lost: Vec<String> = files(dir)
        .into_iter()
        .filter(|file| ["custom", "runs", "ledger"].iter().any(|kind| file.contains(kind)))
        .collect();
    assert_eq!(lost.len(), 3, "{lost:?}");
    lost.iter().for_each(|file| fs::remove_file(dir.join(file)).unwrap());
    lost
}

// The index knows everything but words.
#[test]
fn repair_writes_again_what_the_index_knows() {
    let dir = tempfile::tempdir().unwrap();
    drop(fill_all(&open(dir.path())));
    let before = everything(&open(dir.path()));
    let lost = lose(dir.path());
    let storage = open(dir.path());
    let told = block_on(storage.repair()).unwrap();
    for file in &lost {
        let line = format!("{file} was written again from the index");
        assert!(told.contains(&line), "{file}: {told:?}");
    }
    assert_eq!(everything(&storage), before);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    assert_eq!(block_on(storage.repair()).unwrap(), [""; 0], "nothing is done twice");
}

#[test]
fn repair_reports_what_is_missing_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    drop(fill_all(&open(dir.path())));
    let head = fs::read(dir.path().join("sessions/test/session.json")).unwrap();
    let lost = lose(dir.path());
    lose_index(dir.path());
    let storage = open(dir.path());
    let told = block_on(storage.repair()).unwrap();
    for file in &lost {
        let named = place(file).rsplit('/').next().unwrap();
        assert!(told.iter().any(|line| line.contains(named)), "{file}: {told:?}");
    }
    let kept = dir.path().join(".local/quarantine/sessions__test__session.json");
    assert_eq!(fs::read(kept).unwrap(), head);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    assert_eq!(block_on(storage.repair()).unwrap(), [""; 0], "nothing is done twice");
    let system = block_on(reopen(storage.clone()));
    write_beside(&storage, &system, 1);
    let all = LedgerQuery { upto: None, limit: 9 };
    let windows = block_on(storage.ledger(&session_id(), &ledger(), &all)).unwrap();
    assert_eq!((windows.len(), block_on(storage.verify()).unwrap().len()), (1, 0));
}
