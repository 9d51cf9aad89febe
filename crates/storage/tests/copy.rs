//! Sessions taken over from other storages, and given to them.

use std::sync::Arc;

use contexture_core::{
    Advice, ContextSystem, MemoryStorage, PageStorage,
    storage::{
        StorageError,
        copy::{CopyOutcome, copy_session},
    },
};
use contexture_storage::SqliteStorage;
use contexture_testkit::{
    conformance::dump,
    fake::{Death, WatchedStorage},
    fixture::{TickingClock, leaf, reopen, session_id},
    property,
};
use futures::executor::block_on;

use crate::build::{Sandbox, append, commit, init, session};

fn unwatched(_: contexture_core::storage::copy::Progress<'_>) {}

/// A session of random edits in a SQLite file.
fn filled(sandbox: &Sandbox, seed: u64) -> Arc<dyn PageStorage> {
    let storage: Arc<dyn PageStorage> = Arc::new(sandbox.open());
    property::run(|| storage.clone(), seed, 200, 0);
    storage
}

// From file to file and to memory and back, everything is the same.
#[test]
fn a_copy_in_another_file_is_the_same_session() {
    let (here, there, third) = (Sandbox::new(), Sandbox::new(), Sandbox::new());
    let (from, to) = (filled(&here, 5), there.open());
    let copied = block_on(copy_session(&*from, &to, &session_id(), &mut unwatched)).unwrap();
    assert_eq!(copied.outcome, CopyOutcome::Copied);
    let expected = block_on(dump(&*from, &session_id()));
    assert_eq!(block_on(dump(&to, &session_id())), expected);
    let memory = MemoryStorage::new();
    block_on(copy_session(&to, &memory, &session_id(), &mut unwatched)).unwrap();
    let last = third.open();
    block_on(copy_session(&memory, &last, &session_id(), &mut unwatched)).unwrap();
    drop(last);
    assert_eq!(block_on(dump(&third.open(), &session_id())), expected);
}

// Killed at any part, the next attempt leaves a whole copy and nothing else.
#[test]
fn a_copy_that_dies_is_begun_again() {
    let here = Sandbox::new();
    let from = filled(&here, 6);
    let counting = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    block_on(copy_session(&*from, &*counting, &session_id(), &mut unwatched)).unwrap();
    let parts = u32::try_from(counting.count("import")).unwrap();
    let expected = block_on(dump(&*from, &session_id()));
    for part in 1..=parts {
        let there = Sandbox::new();
        let to: Arc<dyn PageStorage> = Arc::new(there.open());
        // Another session shares contents with what is left behind, and keeps them.
        let other = Arc::new(MemoryStorage::new());
        block_on(copy_session(&*from, &*other, &session_id(), &mut unwatched)).unwrap();
        let dying = WatchedStorage::new(to.clone());
        dying.die_at_write(part, Death::After);
        block_on(copy_session(&*from, &*dying, &session_id(), &mut unwatched)).unwrap_err();
        drop((to, dying));
        let to = there.open();
        assert_eq!(block_on(to.verify()).unwrap(), [""; 0], "part {part}");
        assert_eq!(block_on(to.sessions(None, 9)).unwrap().len(), usize::from(part == parts));
        block_on(copy_session(&*from, &to, &session_id(), &mut unwatched)).unwrap();
        assert_eq!(block_on(dump(&to, &session_id())), expected, "part {part}");
        assert!(block_on(to.remove_session(&session_id())).unwrap());
        assert_eq!(block_on(to.verify()).unwrap(), [""; 0], "part {part}");
        let left: i64 = there
            .meddle()
            .query_row("SELECT count(*) FROM contents", [], |row| row.get(0))
            .unwrap();
        assert_eq!(left, 0, "part {part}");
    }
}

// Killed at any part while an earlier state is brought forward, that state stands.
#[test]
fn an_earlier_state_stands_until_the_copy_is_whole() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let from = filled(&here, 8);
    let copy =
        |to: &dyn PageStorage| block_on(copy_session(&*from, to, &session_id(), &mut unwatched));
    let first = copy(&there.open()).unwrap();
    let before = block_on(dump(&there.open(), &session_id()));
    block_on(leaf(&block_on(reopen(from.clone())), "usr-0", "more"));
    let memory: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    block_on(copy_session(&there.open(), &*memory, &session_id(), &mut unwatched)).unwrap();
    let counting = WatchedStorage::new(memory);
    copy(&*counting).unwrap();
    let parts = u32::try_from(counting.count("import")).unwrap();
    for part in 1..=parts {
        let dying = WatchedStorage::new(Arc::new(there.open()));
        dying.die_at_write(part, if part == parts { Death::Before } else { Death::After });
        copy(&*dying).unwrap_err();
        drop(dying);
        let to = there.open();
        assert_eq!(block_on(dump(&to, &session_id())), before, "part {part}");
        assert_eq!(block_on(to.verify()).unwrap(), [""; 0], "part {part}");
    }
    let to = there.open();
    let copied = copy(&to).unwrap();
    assert_eq!(copied.outcome, CopyOutcome::BroughtForward(first.revision));
    assert_eq!(block_on(dump(&to, &session_id())), block_on(dump(&*from, &session_id())));
    assert_eq!(block_on(to.verify()).unwrap(), [""; 0]);
    assert_eq!(block_on(to.traces()).unwrap(), [], "nothing is left of the earlier state");
    assert!(block_on(to.remove_session(&session_id())).unwrap());
    let left = there.meddle().query_row("SELECT count(*) FROM contents", [], |row| row.get(0));
    assert_eq!(left, Ok(0_i64));
}

// Others write to the target while a session is taken over.
#[test]
fn others_write_meanwhile() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let (from, to) = (filled(&here, 7), there.open());
    init(&to, "other");
    let mut count = 0;
    let mut write = |_: contexture_core::storage::copy::Progress<'_>| {
        count += 1;
        let text = format!("text {count}");
        // On a thread of its own: this one waits already.
        std::thread::scope(|scope| {
            scope.spawn(|| commit(&to, "other", append("usr", &text)).unwrap());
        });
    };
    block_on(copy_session(&*from, &to, &session_id(), &mut write)).unwrap();
    assert!(count > 5);
    let info = block_on(to.session(&session("other"))).unwrap().unwrap();
    assert_eq!(info.revision.0, count + 1);
    assert_eq!(block_on(to.verify()).unwrap(), [""; 0]);
    let clock = TickingClock::new();
    block_on(ContextSystem::open(Arc::new(to), session_id(), clock)).unwrap();
}

#[test]
fn damage_in_the_source_is_reported_and_leaves_nothing() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let from: SqliteStorage = here.open();
    init(&from, "s");
    commit(&from, "s", append("usr", "some text")).unwrap();
    here.meddle().execute("UPDATE pages SET place = 77 WHERE number = 1", []).unwrap();
    let to = there.open();
    let error = block_on(copy_session(&from, &to, &session("s"), &mut unwatched)).unwrap_err();
    assert!(error.to_string().contains("page usr-1 of session 's' is corrupt"), "{error}");
    assert_eq!(error.advice(), Advice::CheckStore);
    assert_eq!(block_on(to.session(&session("s"))).unwrap(), None);
    let error = block_on(from.snapshot()).unwrap();
    let error = block_on(error.repair()).unwrap_err();
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
}
