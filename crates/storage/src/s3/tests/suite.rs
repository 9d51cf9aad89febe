//! The suites every storage must pass, with everything small so that records move on all the time.

use std::sync::Arc;

use contexture_core::PageStorage;
use contexture_testkit::{concurrency, conformance, fixture, property, undoing};
use futures::executor::block_on;

use super::{in_memory, medium, open, small};
use crate::s3::S3Tuning;

// B-08, B-09, B-10, B-11, B-12, C22: S3 passes the suite every storage must pass.
#[test]
fn s3_conforms() {
    conformance::run(|| open(&in_memory(), S3Tuning::default()));
}

// The same where nothing stays in the root for long.
#[test]
fn s3_conforms_while_records_move_on() {
    conformance::run(|| open(&in_memory(), small()));
}

// B-54, C11, C17: random edits, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    for seed in 1..4 {
        let store = in_memory();
        let summary = property::run(|| open(&store, medium()), seed, 3_400, 20);
        assert!(summary.made > 1_000 && summary.reopened > 10, "{summary:?}");
        assert!(summary.folded > 50, "{summary:?}");
        assert_eq!(block_on(open(&store, small()).verify()).unwrap(), [""; 0]);
    }
}

// C11: random edits, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let store = in_memory();
    undoing::run(|| open(&store, medium()), 11, 1_000);
    assert_eq!(block_on(open(&store, small()).verify()).unwrap(), [""; 0]);
}

// C13: 64 threads on one session.
#[test]
fn sixty_four_threads_lose_nothing() {
    let storage: Arc<dyn PageStorage> = open(&in_memory(), medium());
    let system = block_on(fixture::session(storage.clone()));
    concurrency::run(|_| system.clone(), 64, 6);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
