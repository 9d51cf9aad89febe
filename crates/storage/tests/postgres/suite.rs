//! The suites every storage must pass, on PostgreSQL.

use contexture_testkit::{concurrency, fixture, property, undoing};
use futures::executor::block_on;

use crate::support::{database, dynamic};

// B-54: random edits through PostgreSQL, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    let run = |seed| {
        let url = database();
        let summary = property::run(|| dynamic(&url), seed, 1_200, 20);
        assert!(summary.made > 300 && summary.reopened > 5, "{summary:?}");
        assert_eq!(block_on(dynamic(&url).verify()).unwrap(), [""; 0]);
    };
    // This is the longest of all tests here: its seeds run side by side.
    std::thread::scope(|scope| {
        for seed in 1..3 {
            scope.spawn(move || run(seed));
        }
    });
}

// Random edits through PostgreSQL, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let url = database();
    undoing::run(|| dynamic(&url), 11, 200);
    assert_eq!(block_on(dynamic(&url).verify()).unwrap(), [""; 0]);
}

// 64 threads on one session in one database.
#[test]
fn sixty_four_threads_lose_nothing() {
    let storage = dynamic(&database());
    let system = block_on(fixture::session(storage.clone()));
    concurrency::run(|_| system.clone(), 64, 6);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
