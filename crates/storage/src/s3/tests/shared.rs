//! Several storages on one prefix, as several processes have them.

use std::{sync::Arc, time::Duration};

use contexture_core::{
    ContextSystem, Edit, PageStorage, SessionId,
    storage::{Commit, NewSession, StorageError},
};
use contexture_testkit::{
    concurrency,
    conformance::dump,
    fixture::{self, TickingClock, apply, leaf, page, session_id, valid},
};
use futures::executor::block_on;

use super::{collect, in_memory, medium, names, open, small};
use crate::s3::S3Tuning;

// B-38: writers in several processes lose no update.
#[test]
fn storages_on_one_prefix_lose_nothing() {
    let store = in_memory();
    block_on(concurrency::prepare(&block_on(fixture::session(open(&store, medium())))));
    let system = || block_on(fixture::reopen(open(&store, medium())));
    let opened: Vec<ContextSystem> = (0..4).map(|_| system()).collect();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let system = &opened[writer as usize % 4];
            scope.spawn(move || concurrency::work(system, writer, 5));
        }
    });
    block_on(concurrency::verify(&system(), 8, 5));
    assert_eq!(block_on(open(&store, small()).verify()).unwrap(), [""; 0]);
}

// A read sees every commit that returned before it, whoever made it.
#[test]
fn a_read_sees_what_another_storage_committed() {
    let store = in_memory();
    let one = open(&store, small());
    let two = open(&store, small());
    let system = block_on(fixture::session(one.clone()));
    for round in 0..60 {
        let index = block_on(leaf(&system, "usr-0", &format!("note {round}")));
        let read = block_on(two.pages(&session_id(), &[index])).unwrap().remove(0);
        assert_eq!(read.unwrap().name.as_str(), format!("note {round}"));
    }
    assert_eq!(block_on(dump(&*one, &session_id())), block_on(dump(&*two, &session_id())));
    block_on(one.remove_session(&session_id())).unwrap();
    assert_eq!(block_on(two.session(&session_id())).unwrap(), None);
}

#[test]
fn only_one_of_many_makes_a_session() {
    let store = in_memory();
    let opened: Vec<_> = (0..8).map(|_| open(&store, small())).collect();
    let made: Vec<bool> = std::thread::scope(|scope| {
        let make = |storage: Arc<crate::s3::S3Storage>| {
            let at = contexture_core::Timestamp::from_millis(1);
            let new = NewSession { app: "app".to_owned(), at, mark: None };
            let made =
                block_on(storage.commit(&session_id(), Commit { create: Some(new), change: None }));
            match made {
                Ok(_) => true,
                Err(StorageError::SessionExists { .. }) => false,
                Err(error) => panic!("{error}"),
            }
        };
        let threads: Vec<_> =
            opened.iter().cloned().map(|one| scope.spawn(move || make(one))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
}

// A session made again under the same name has nothing of the one before.
#[test]
fn a_session_made_again_has_nothing_of_the_one_before() {
    let store = in_memory();
    let (one, two) = (open(&store, small()), open(&store, small()));
    let system = block_on(fixture::session(one.clone()));
    for number in 0..40 {
        block_on(leaf(&system, "usr-0", &format!("old {number}")));
    }
    assert!(block_on(two.remove_session(&session_id())).unwrap());
    let left = names(&store);
    assert_eq!(left, ["prefix/contexture.json"]);
    let error = block_on(system.as_system().apply(fixture::new_leaf("usr-0", "late"))).unwrap_err();
    assert_eq!(error.kind(), contexture_core::ErrorKind::NotFound);
    let again = block_on(fixture::session(two));
    block_on(leaf(&again, "usr-0", "new"));
    assert_eq!(block_on(one.pages(&session_id(), &[page("usr-2")])).unwrap(), [None]);
    assert_eq!(block_on(one.verify()).unwrap(), [""; 0]);
}

// What a snapshot shows stays, whatever is merged and collected meanwhile, but for a purge.
#[test]
fn a_snapshot_outlives_merging_and_collecting() {
    let store = in_memory();
    let storage = open(&store, S3Tuning { collect_every: 1, ..small() });
    let system = block_on(fixture::session(storage.clone()));
    let other: SessionId = valid("other");
    let clock = TickingClock::new();
    block_on(ContextSystem::create(storage.clone(), other.clone(), "app", clock)).unwrap();
    for number in 0..30 {
        block_on(leaf(&system, "usr-0", &format!("before {number}")));
    }
    let expected = block_on(dump(&*storage, &session_id()));
    // Nothing of it is read before the changes come.
    let snapshot = block_on(storage.snapshot()).unwrap();
    for number in 0..60 {
        block_on(leaf(&system, "usr-0", &format!("after {number}")));
    }
    block_on(storage.remove_session(&other)).unwrap();
    assert_eq!(block_on(dump(&*snapshot, &session_id())), expected);
    assert_eq!(block_on(snapshot.sessions(None, 9)).unwrap().len(), 2);
    block_on(apply(&system, Edit::PurgePage(page("usr-3"))));
    let error = block_on(snapshot.pages(&session_id(), &[page("usr-3")])).unwrap_err();
    assert!(error.to_string().contains("take a new snapshot"), "{error}");
}

// B-39: collecting takes all that nothing refers to and nothing else, once its time has come.
#[test]
fn collecting_takes_only_garbage() {
    let store = in_memory();
    let patient = open(&store, small());
    let system = block_on(fixture::session(patient.clone()));
    for number in 0..120 {
        block_on(leaf(&system, "usr-0", &format!("note {number}")));
    }
    let before = block_on(dump(&*patient, &session_id()));
    let all = names(&store);
    assert_eq!(block_on(patient.repair()).unwrap(), [""; 0], "its time has not come");
    assert_eq!(names(&store), all);
    let hasty = open(&store, S3Tuning { grace: Duration::ZERO, ..small() });
    assert_eq!(block_on(hasty.repair()).unwrap(), [""; 0], "a repair deletes nothing");
    assert_eq!(names(&store), all);
    assert_eq!(collect(&store), all.len() - names(&store).len());
    let left = names(&store);
    assert!(left.len() * 2 < all.len(), "{} of {} are left", left.len(), all.len());
    assert_eq!(block_on(dump(&*patient, &session_id())), before);
    assert_eq!(collect(&store), 0);
    assert_eq!(names(&store), left);
}

// What was read is remembered, within bounds.
#[test]
fn the_cache_is_bounded() {
    let store = in_memory();
    let storage = open(&store, small());
    let system = block_on(fixture::session(storage.clone()));
    for number in 0..200 {
        block_on(leaf(&system, "usr-0", &format!("note {number} {}", "x".repeat(150))));
    }
    block_on(dump(&*storage, &session_id()));
    let total = storage.inner.objects.cache.total();
    assert!(total > 50_000 && total <= small().cache_bytes, "{total}");
}
