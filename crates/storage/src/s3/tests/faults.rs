//! Requests that fail, answers that are lost, processes that end, servers that ignore conditions.

use std::sync::{Arc, atomic::Ordering};

use contexture_core::{
    ContextSystem, Edit, ErrorKind, PageStorage,
    storage::{ChildQuery, Order, StandingFilter, StorageError},
};
use contexture_testkit::{
    conformance::dump,
    fixture::{self, new_leaf, page, session_id, user},
};
use futures::executor::block_on;
use object_store::ObjectStore;

use super::{faulty::Faulty, in_memory, medium, open, small, try_open};
use crate::s3::S3Tuning;

/// An edit of each kind, in turn; every seventh is large, every ninth a purge.
fn edit(number: u64) -> Edit {
    match number % 9 {
        8 => Edit::PurgePage(page(&format!("usr-{}", number - 3))),
        7 => {
            let text: String = (0..900).map(|n| format!("{number} {n} ")).collect();
            let segment = fixture::segment("usr");
            Edit::AddTurn { segment, messages: vec![user(&text)] }
        }
        _ => new_leaf("usr-0", &format!("note {number}")),
    }
}

const EDITS: u64 = 40;

/// Makes the edits until one fails; returns how many were acknowledged.
fn make(system: &ContextSystem) -> u64 {
    let made =
        (0..EDITS).take_while(|number| block_on(system.as_system().apply(edit(*number))).is_ok());
    made.count() as u64
}

fn revision(storage: &dyn PageStorage) -> u64 {
    block_on(storage.session(&session_id())).unwrap().map_or(0, |info| info.revision.0)
}

/// Returns how many writes the edits take.
fn writes() -> i64 {
    let store = Faulty::new(in_memory());
    let shared: Arc<dyn ObjectStore> = store.clone();
    let system = block_on(fixture::session(open(&shared, small())));
    store.requests();
    assert_eq!(make(&system), EDITS);
    i64::try_from(store.requests().1).unwrap()
}

// B-37: an answer that is lost is no lost commit and no second one.
#[test]
fn lost_answers_are_resolved_truthfully() {
    for lost in 0..writes() {
        let store = Faulty::new(in_memory());
        let shared: Arc<dyn ObjectStore> = store.clone();
        let storage = open(&shared, small());
        let system = block_on(fixture::session(storage.clone()));
        let begun = revision(&*storage);
        store.loses.store(lost, Ordering::Relaxed);
        let mut acknowledged = 0;
        for number in 0..EDITS {
            acknowledged += u64::from(block_on(system.as_system().apply(edit(number))).is_ok());
        }
        // A root's answer is found out; any other object is written in vain and the edit refused.
        assert_eq!(revision(&*storage) - begun, acknowledged, "write {lost}");
        assert!(acknowledged + 2 >= EDITS, "write {lost}: {acknowledged} were made");
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "write {lost}");
    }
}

// B-36: a write that fails leaves the state before it; the storage goes on.
#[test]
fn a_failed_write_changes_nothing() {
    for refused in 0..writes() {
        let store = Faulty::new(in_memory());
        let shared: Arc<dyn ObjectStore> = store.clone();
        let storage = open(&shared, small());
        let system = block_on(fixture::session(storage.clone()));
        let begun = revision(&*storage);
        store.refuses.store(refused, Ordering::Relaxed);
        let mut acknowledged = 0;
        for number in 0..EDITS {
            match block_on(system.as_system().apply(edit(number))) {
                Ok(_) => acknowledged += 1,
                Err(error) => assert!(
                    matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::NotFound),
                    "write {refused}: {error}"
                ),
            }
            assert_eq!(revision(&*storage) - begun, acknowledged, "write {refused}");
        }
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "write {refused}");
    }
}

// B-35: a process that ends between any two writes leaves a whole state and garbage.
#[test]
fn a_process_that_ends_leaves_no_half_state() {
    for end in 0..writes() {
        let memory = in_memory();
        let store = Faulty::new(memory.clone());
        let shared: Arc<dyn ObjectStore> = store.clone();
        let storage = open(&shared, small());
        let system = block_on(fixture::session(storage.clone()));
        let begun = revision(&*storage);
        store.ends.store(end, Ordering::Relaxed);
        let acknowledged = make(&system);
        drop((system, storage));
        let tuning = S3Tuning { grace: std::time::Duration::ZERO, ..small() };
        let storage = open(&memory, tuning);
        assert_eq!(revision(&*storage) - begun, acknowledged, "write {end}");
        assert_eq!(block_on(storage.verify()).unwrap(), [""; 0], "write {end}");
        let before = block_on(dump(&*storage, &session_id()));
        block_on(storage.repair()).unwrap();
        assert_eq!(block_on(dump(&*storage, &session_id())), before, "write {end}");
        let system = block_on(fixture::reopen(storage.clone()));
        block_on(system.as_system().apply(new_leaf("usr-0", "after"))).unwrap();
    }
}

// B-33: a server that ignores conditions is refused with an explanation, and nothing is left there.
#[test]
fn a_server_that_ignores_conditions_is_refused() {
    let memory = in_memory();
    let store = Faulty::new(memory.clone());
    store.ignores.store(true, Ordering::Relaxed);
    let shared: Arc<dyn ObjectStore> = store;
    let error = try_open(&shared, S3Tuning::default()).unwrap_err();
    assert!(matches!(&error, StorageError::Foreign { .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("If-None-Match") && message.contains("conditional writes"),
        "{message}"
    );
    assert_eq!(super::names(&memory), [""; 0]);
}

// How many requests things take; the figures stand in the documentation.
#[test]
fn requests_are_few() {
    let memory = in_memory();
    let store = Faulty::new(memory.clone());
    let shared: Arc<dyn ObjectStore> = store.clone();
    let storage = open(&shared, S3Tuning::default());
    let system = block_on(fixture::session(storage.clone()));
    store.requests();
    block_on(fixture::leaf(&system, "usr-0", "small"));
    let (reads, writes) = store.requests();
    assert!(reads <= 1 && writes == 1, "a small commit takes {reads} reads and {writes} writes");
    block_on(storage.snapshot()).unwrap();
    assert_eq!(store.requests(), (0, 0), "a snapshot asks for nothing");
    block_on(storage.pages(&session_id(), &[page("usr-1")])).unwrap();
    assert_eq!(store.requests(), (1, 0), "a read looks at the root");
}

// A cold window reads what is visible, not the session.
#[test]
fn a_cold_window_reads_little() {
    let memory = in_memory();
    let store = Faulty::new(memory.clone());
    let shared: Arc<dyn ObjectStore> = store.clone();
    let system = block_on(fixture::session(open(&memory, medium())));
    let mut before = None;
    for round in 1..=2 {
        for number in 0..400 {
            block_on(fixture::leaf(&system, "usr-0", &format!("note {round} {number}")));
        }
        let cold = open(&shared, medium());
        store.requests();
        block_on(async {
            let (id, parent) = (session_id(), page("usr-0"));
            cold.session(&id).await.unwrap().unwrap();
            cold.segments(&id).await.unwrap();
            cold.views(&id).await.unwrap();
            let query = ChildQuery {
                parent,
                standing: StandingFilter::Listed,
                order: Order::Backward,
                after: None,
                limit: 50,
            };
            let pages = cold.children(&id, &query).await.unwrap();
            assert_eq!(pages.len(), 50);
            let hashes: Vec<_> = pages.iter().map(|page| page.detail().unwrap().content).collect();
            let contents = cold.contents(&id, &hashes).await.unwrap();
            assert!(contents.iter().all(Option::is_some));
        });
        let (reads, _) = store.requests();
        assert!(reads < 60, "{reads} reads");
        if let Some(before) = before.replace(reads) {
            assert!(
                reads < before + 20,
                "{before} reads before, {reads} in a session twice as long"
            );
        }
    }
}
