//! The suites every storage must pass, on SQLite.

use std::{path::Path, sync::Arc};

use contexture_core::PageStorage;
use contexture_storage::{Durability, SqliteOptions, SqliteStorage};
use contexture_testkit::{concurrency, fixture, property, undoing};
use futures::executor::block_on;

/// Opens a file as it is for real, but for the wait for the disk: thousands of commits follow.
fn open(path: &Path) -> Arc<dyn PageStorage> {
    let options = SqliteOptions { durability: Durability::Process, ..SqliteOptions::default() };
    Arc::new(SqliteStorage::open(path, options).unwrap())
}

// B-54: random edits through SQLite, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..4 {
        let path = folder.path().join(format!("{seed}.db"));
        let summary = property::run(|| open(&path), seed, 3_400, 20);
        assert!(summary.made > 1_000 && summary.reopened > 10, "{summary:?}");
        assert!(summary.folded > 50, "{summary:?}");
        let problems = block_on(open(&path).verify()).unwrap();
        assert_eq!(problems, [""; 0]);
    }
}

// Random edits through SQLite, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("undo.db");
    undoing::run(|| open(&path), 11, 1_000);
    assert_eq!(block_on(open(&path).verify()).unwrap(), [""; 0]);
}

// 64 threads on one session in one file.
#[test]
fn sixty_four_threads_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(&folder.path().join("threads.db"));
    let system = block_on(fixture::session(storage.clone()));
    concurrency::run(|_| system.clone(), 64, 6);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
