//! The suites every storage must pass, with everything small so that records move on all the time.

use std::sync::Arc;

use contexture_core::{PageStorage, storage::StorageResult};
use contexture_testkit::{
    backend::{Backend, Home},
    concurrency, conformance, fixture, property, undoing,
};
use futures::executor::block_on;
use object_store::ObjectStore;

use super::{in_memory, medium, open, small, try_open};

/// Stores in memory, where nothing stays in the root for long.
struct Restless;

struct RestlessHome(Arc<dyn ObjectStore>);

impl Backend for Restless {
    fn name(&self) -> &'static str {
        "s3 in memory"
    }

    fn home(&self) -> Box<dyn Home> {
        Box::new(RestlessHome(in_memory()))
    }
}

impl Home for RestlessHome {
    fn try_open(&self) -> StorageResult<Arc<dyn PageStorage>> {
        let opened = std::thread::scope(|scope| scope.spawn(|| try_open(&self.0, small())).join());
        Ok(Arc::new(opened.expect("opening does not panic")?))
    }

    fn locator(&self) -> Option<String> {
        None
    }
}

// B-12: S3 passes the suite every storage must pass also while its records move on.
#[test]
fn s3_conforms_while_records_move_on() {
    let summary = conformance::run(&Restless);
    assert_eq!(summary.failed, [""; 0], "{summary}");
}

// B-54: random edits, reopened at random moments, do what the model says.
#[test]
fn random_edits_with_reopening_do_what_the_model_says() {
    let run = |seed| {
        let store = in_memory();
        let summary = property::run(|| open(&store, medium()), seed, 3_400, 20);
        assert!(summary.made > 1_000 && summary.reopened > 10, "{summary:?}");
        assert!(summary.folded > 50, "{summary:?}");
        assert_eq!(block_on(open(&store, small()).verify()).unwrap(), [""; 0]);
    };
    // This is the longest of all tests here: its seeds run side by side.
    std::thread::scope(|scope| {
        for seed in 1..4 {
            scope.spawn(move || run(seed));
        }
    });
}

// Random edits, undone one by one.
#[test]
fn random_sequences_are_undone_one_by_one() {
    let store = in_memory();
    undoing::run(|| open(&store, medium()), 11, 1_000);
    assert_eq!(block_on(open(&store, small()).verify()).unwrap(), [""; 0]);
}

// 64 threads on one session.
#[test]
fn sixty_four_threads_lose_nothing() {
    let storage: Arc<dyn PageStorage> = open(&in_memory(), medium());
    let system = block_on(fixture::session(storage.clone()));
    concurrency::run(|_| system.clone(), 64, 6);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}
