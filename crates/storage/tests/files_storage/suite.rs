//! The suites every storage must pass, on files.

use contexture_core::PageStorage;
use contexture_testkit::{concurrency, fixture, property, undoing};
use futures::executor::block_on;

use crate::open;

// B-54, C11, C17: random edits through files, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..3 {
        let path = folder.path().join(seed.to_string());
        let summary = property::run(|| open(&path), seed, 600, 10);
        assert!(summary.made > 150 && summary.reopened > 10, "{summary:?}");
        assert!(summary.folded > 10, "{summary:?}");
        assert_eq!(block_on(open(&path).verify()).unwrap(), [""; 0]);
    }
}

// C11: random edits through files, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    undoing::run(|| open(folder.path()), 11, 250);
    assert_eq!(block_on(open(folder.path()).verify()).unwrap(), [""; 0]);
}

// C13: 64 threads on one session in one folder.
#[test]
fn sixty_four_threads_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let storage = open(folder.path());
    let system = block_on(fixture::session(storage.clone()));
    concurrency::run(|_| system.clone(), 64, 4);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
