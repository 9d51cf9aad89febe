//! Many writers: every commit that returned is there, whoever else was writing.

use std::{collections::BTreeSet, thread};

use contexture_core::{
    MemoryStorage, PageStorage,
    storage::{ChildQuery, Order, ScanQuery, StandingFilter, StorageError},
};
use futures::executor::block_on;

use crate::build::{
    Sandbox, append, assert_sound, commit, content, index, init, segment_id, session,
};

const WRITERS: u64 = 32;
const EACH: u64 = 20;

fn scan(storage: &dyn PageStorage, name: &str) -> Vec<contexture_core::Page> {
    let (segment, standing) = (segment_id("usr"), StandingFilter::Any);
    let query = ScanQuery { segment, standing, after: Some(0), limit: usize::MAX };
    block_on(storage.scan(&session(name), &query)).unwrap()
}

/// Appends from many threads, each guessing the first free number; returns what each was told.
fn write_at_once(
    storages: &[&dyn PageStorage],
    name: impl Fn(u64) -> String + Sync,
) -> BTreeSet<String> {
    let written = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let storage = storages[writer as usize % storages.len()];
                let name = &name;
                scope.spawn(move || {
                    let mut written = Vec::new();
                    for at in 0..EACH {
                        let change = append("usr", &format!("{writer} {at}"));
                        let committed = commit(storage, &name(writer), change).unwrap();
                        let page = committed.change.unwrap().subjects[0].clone();
                        // It is there as soon as it is acknowledged.
                        let read = block_on(
                            storage.pages(&session(&name(writer)), std::slice::from_ref(&page)),
                        );
                        assert_eq!(read.unwrap()[0].as_ref().unwrap().index, page);
                        written.push(format!("{} {page}", name(writer)));
                    }
                    written
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    let set: BTreeSet<String> = written.iter().cloned().collect();
    assert_eq!(set.len(), written.len(), "two commits were given the same number");
    set
}

#[test]
fn many_writers_on_one_session_get_dense_numbers() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open_durable();
    init(&storage, "s");
    let written = write_at_once(&[&storage], |_| "s".to_owned());
    let pages = scan(&storage, "s");
    let numbers: Vec<u64> = pages.iter().map(|page| page.index.number()).collect();
    assert_eq!(numbers, (1..=WRITERS * EACH).collect::<Vec<_>>());
    assert_eq!(written, pages.iter().map(|page| format!("s {}", page.index)).collect());
    let places: BTreeSet<_> = pages.iter().map(|page| page.place).collect();
    let revisions: BTreeSet<_> = pages.iter().map(|page| page.revision).collect();
    assert_eq!((places.len(), revisions.len()), (pages.len(), pages.len()));
    let count = block_on(storage.child_count(&session("s"), &index("usr-0"))).unwrap();
    assert_eq!(count, WRITERS * EACH);
    assert_sound(&storage);
}

#[test]
fn many_writers_on_many_sessions() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open_durable();
    (0..WRITERS).for_each(|writer| init(&storage, &format!("s{writer}")));
    write_at_once(&[&storage], |writer| format!("s{writer}"));
    for writer in 0..WRITERS {
        assert_eq!(scan(&storage, &format!("s{writer}")).len() as u64, EACH);
    }
    assert_sound(&storage);
}

#[test]
fn two_storages_on_one_file_see_each_other() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.open_durable(), sandbox.open_durable());
    init(&one, "s");
    let written = write_at_once(&[&one, &two], |_| "s".to_owned());
    assert_eq!(written.len() as u64, WRITERS * EACH);
    for storage in [&one, &two] {
        assert_eq!(scan(storage, "s").len() as u64, WRITERS * EACH);
        assert_sound(storage);
    }
    drop(one);
    commit(&two, "s", append("usr", "alone")).unwrap();
    assert_eq!(scan(&sandbox.open(), "s").len() as u64, WRITERS * EACH + 1);
}

// A commit that cannot be written takes none of its group with it.
#[test]
fn only_the_guilty_commit_of_a_group_fails() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open_durable();
    let memory = MemoryStorage::new();
    init(&storage, "s");
    init(&memory, "s");
    let results: Vec<bool> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let storage = &storage;
                scope.spawn(move || {
                    let mut change = append("usr", &format!("text {writer}"));
                    if writer % 4 == 0 {
                        // Found out only while its rows are written.
                        let far = contexture_core::storage::Version(u64::MAX);
                        change.pages[0].after.as_mut().unwrap().version = far;
                    }
                    commit(storage, "s", change).is_ok()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    for (writer, made) in results.iter().enumerate() {
        assert_eq!(*made, writer % 4 != 0, "writer {writer}");
        let hash = content(&format!("text {writer}")).hash();
        assert_eq!(block_on(storage.contents(&session("s"), &[hash])).unwrap()[0].is_some(), *made);
    }
    let numbers: Vec<u64> = scan(&storage, "s").iter().map(|page| page.index.number()).collect();
    assert_eq!(numbers, (1..=WRITERS * 3 / 4).collect::<Vec<_>>());
    assert_sound(&storage);
}

#[test]
fn reads_never_see_half_a_commit() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open_durable();
    init(&storage, "s");
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for at in 0..100 {
                commit(&storage, "s", append("usr", &format!("text {at}"))).unwrap();
            }
        });
        while !writer.is_finished() {
            let query = ChildQuery {
                parent: index("usr-0"),
                standing: StandingFilter::Listed,
                order: Order::Backward,
                after: None,
                limit: 1,
            };
            let Some(page) = block_on(storage.children(&session("s"), &query)).unwrap().pop()
            else {
                continue;
            };
            let hash = page.detail().unwrap().content;
            assert!(block_on(storage.contents(&session("s"), &[hash])).unwrap()[0].is_some());
            let info = block_on(storage.session(&session("s"))).unwrap().unwrap();
            assert!(info.revision >= page.revision);
        }
    });
}

#[test]
fn what_waits_is_answered_before_the_storage_goes() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open_durable();
    init(&storage, "s");
    // Begun, but not waited for.
    let mut begun = Vec::new();
    for at in 0..10 {
        let name = session("s");
        let change = Some(append("usr", &format!("text {at}")));
        let commit = contexture_core::storage::Commit { create: None, change };
        let mut future = Box::pin(async { storage.commit(&name, commit).await.map(|_| ()) });
        let waker = futures::task::noop_waker();
        let poll = future.as_mut().poll(&mut std::task::Context::from_waker(&waker));
        begun.push(poll.is_ready());
    }
    drop(storage);
    assert_eq!(scan(&sandbox.open(), "s").len(), 10, "{begun:?}");
}

#[test]
fn another_writer_that_does_not_end_makes_it_unavailable() {
    let sandbox = Sandbox::new();
    init(&sandbox.open(), "s");
    let options = contexture_storage::SqliteOptions {
        busy_timeout: std::time::Duration::from_millis(50),
        ..Default::default()
    };
    let storage = contexture_storage::SqliteStorage::open(&sandbox.file(), options).unwrap();
    let other = sandbox.meddle();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = commit(&storage, "s", append("usr", "text")).unwrap_err();
    assert!(matches!(error, StorageError::Unavailable { .. }), "{error}");
    // Readers do not mind.
    assert_eq!(scan(&storage, "s").len(), 0);
    other.execute_batch("ROLLBACK").unwrap();
    commit(&storage, "s", append("usr", "text")).unwrap();
    assert_sound(&storage);
}
