//! Random edits against the naive model, and random sequences undone.

use std::sync::Arc;

use contexture_core::{MemoryStorage, PageStorage};
use contexture_testkit::{property, undoing};

/// Opens the same memory storage again and again.
fn memory() -> impl Fn() -> Arc<dyn PageStorage> {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    move || storage.clone()
}

// B-54, A-42, A-34: 10,000 random edits do what the naive model says; after each no
// orphan, no cycle, children in order, no number reused, system roots Active and Expanded in
// every view.
#[test]
fn random_edits_do_what_the_model_says() {
    let summary = property::run(memory(), 1, 10_000, 0);
    assert!(summary.made > 4_000 && summary.refused > 1_000, "{summary:?}");
    assert!(summary.undone > 50 && summary.folded > 200, "{summary:?}");
}

// B-31, B-37, P-25: the same when everything resident is dropped at random moments.
#[test]
fn random_edits_survive_reopening() {
    for seed in 2..6 {
        let summary = property::run(memory(), seed, 1_000, 5);
        assert!(summary.reopened > 10, "{summary:?}");
    }
}

// 1,000 random edits of several agents and the system side, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    for seed in 1..4 {
        undoing::run(memory(), seed, 1_000);
    }
}
