//! A running context system goes on in another storage.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Waker},
};

use contexture_core::{
    ContextSystem, Edit, Error, ErrorKind, MemoryStorage, PageStorage, Timestamp, WindowOptions,
    storage::{
        RunPut,
        check::check_session,
        copy::{CopyOutcome, Progress, copy_session},
    },
};
use contexture_testkit::{
    conformance::dump,
    fake::{Death, WatchedStorage},
    fixture::{agent, apply, leaf, new_leaf, page, reopen, session, session_id, valid},
    window::FourBytes,
};
use futures::executor::block_on;

use contexture_testkit::filled::filled;

use crate::copies::aside;

fn memory() -> Arc<dyn PageStorage> {
    Arc::new(MemoryStorage::new())
}

fn unwatched(_: Progress<'_>) {}

fn is(left: &Arc<dyn PageStorage>, right: &Arc<dyn PageStorage>) -> bool {
    Arc::ptr_eq(left, right)
}

// B-15, B-39: after the switch every write of every clone goes to the new storage, and only there.
#[test]
fn later_writes_go_to_the_new_storage() {
    block_on(async {
        let (old, new) = (memory(), memory());
        let system = session(old.clone()).await;
        let clone = system.clone();
        leaf(&system, "usr-0", "before").await;
        assert!(is(&system.storage(), &old));
        let copied = system.switch_storage(new.clone(), &mut unwatched).await.unwrap();
        assert_eq!(copied.outcome, CopyOutcome::Copied);
        assert!(is(&system.storage(), &new) && is(&clone.storage(), &new));
        let left = dump(&*old, &session_id()).await;
        assert_eq!(left, dump(&*new, &session_id()).await);
        // Edits, undo, run records, windows and reports.
        leaf(&system, "usr-0", "after").await;
        let made = apply(&clone, new_leaf("usr-0", "undone")).await;
        apply(&system, Edit::Undo { revision: Some(made.revision) }).await;
        let put = RunPut::first("run".parse().unwrap(), "x", Timestamp::from_millis(1));
        clone.keep_run(&put).await.unwrap();
        let bot = agent(&clone, "bot");
        let sent = bot.send(&WindowOptions::new(valid("openai"), Arc::new(FourBytes))).await;
        let number = sent.unwrap().record.number;
        bot.report_usage(valid("openai"), number, &Default::default()).await.unwrap();
        assert_eq!(dump(&*old, &session_id()).await, left);
        assert_eq!(old.ledgers(&session_id()).await.unwrap(), []);
        assert_eq!(new.ledgers(&session_id()).await.unwrap().len(), 1);
        assert_eq!(new.runs(&session_id(), "").await.unwrap().len(), 1);
        let again = reopen(new.clone()).await;
        assert_eq!(again.info().await.unwrap().revision, system.info().await.unwrap().revision);
        assert!(again.as_system().reader().page(&page("usr-2")).await.is_ok());
    });
}

// B-40: MigrateToDisk is a copy and a switch. The first failure ends it with the part it failed at,
// and the system stays where it is.
#[test]
fn a_migration_that_fails_names_the_part_and_switches_nothing() {
    block_on(async {
        let old = filled(21);
        let system = reopen(old.clone()).await;
        let counting = WatchedStorage::new(memory());
        copy_session(&*old, &*counting, &session_id(), &mut unwatched).await.unwrap();
        let parts = u32::try_from(counting.count("import")).unwrap();
        let before = dump(&*old, &session_id()).await;
        let mut named = Vec::new();
        for part in 1..=parts {
            let target = memory();
            let disk = WatchedStorage::new(target.clone());
            disk.die_at_write(part, Death::Before);
            let error = system.switch_storage(disk, &mut unwatched).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            let Error::NotCopied { what, .. } = error else { panic!("{error}") };
            named.push(what);
            assert!(is(&system.storage(), &old), "part {part}");
            assert_eq!(target.session(&session_id()).await.unwrap(), None, "part {part}");
        }
        assert!(named.iter().any(|what| what.starts_with("pages usr-0 to usr-")), "{named:?}");
        assert_eq!(dump(&*old, &session_id()).await, before);
        // It works on, and moves when the disk is well.
        apply(&system, new_leaf("usr-0", "still here")).await;
        let disk = memory();
        system.switch_storage(disk.clone(), &mut unwatched).await.unwrap();
        assert_eq!(dump(&*disk, &session_id()).await, dump(&*old, &session_id()).await);
    });
}

// A switch that would leave pages behind, or mix two sessions, is refused.
#[test]
fn a_target_with_another_session_is_refused() {
    block_on(async {
        let (old, new) = (memory(), memory());
        let system = session(old.clone()).await;
        leaf(&system, "usr-0", "mine").await;
        let other = session(new.clone()).await;
        leaf(&other, "usr-0", "theirs").await;
        let before = dump(&*new, &session_id()).await;
        let error = system.switch_storage(new.clone(), &mut unwatched).await.unwrap_err();
        assert!(matches!(error, Error::OtherSession { .. }), "{error}");
        assert!(is(&system.storage(), &old));
        assert_eq!(dump(&*new, &session_id()).await, before);
    });
}

// What is written while the copy is under way is carried over.
#[test]
fn edits_during_the_copy_are_carried_over() {
    block_on(async {
        let (old, new) = (memory(), memory());
        let system = session(old.clone()).await;
        leaf(&system, "usr-0", "before").await;
        let mut wrote = 0;
        let mut write = |_: Progress<'_>| {
            if wrote < 3 {
                wrote += 1;
                aside(apply(&system, new_leaf("usr-0", "meanwhile")));
            }
        };
        system.switch_storage(new.clone(), &mut write).await.unwrap();
        assert!(is(&system.storage(), &new));
        let listed = system.as_system().reader().page(&page("usr-4")).await;
        assert!(listed.is_ok());
        assert_eq!(dump(&*new, &session_id()).await, dump(&*old, &session_id()).await);
    });
}

// A switch that is given up opens the way for those who wait.
#[test]
fn a_switch_given_up_holds_nobody() {
    block_on(async {
        let storage = WatchedStorage::new(memory());
        let system = session(storage.clone()).await;
        let release = storage.hold_next_commit();
        let session = system.as_system();
        let mut slow = pin!(session.apply(new_leaf("usr-0", "slow")));
        let mut context = Context::from_waker(Waker::noop());
        assert!(slow.as_mut().poll(&mut context).is_pending());
        let mut unheard = unwatched;
        {
            let mut switch = pin!(system.switch_storage(memory(), &mut unheard));
            // It waits for the commit under way; an edit that comes now waits for it.
            assert!(switch.as_mut().poll(&mut context).is_pending());
            let mut late = pin!(session.apply(new_leaf("usr-0", "late")));
            assert!(late.as_mut().poll(&mut context).is_pending());
            assert!(late.as_mut().poll(&mut context).is_pending());
        }
        release.send(()).unwrap();
        slow.await.unwrap();
        leaf(&system, "usr-0", "after").await;
        assert_eq!(storage.count("commit"), 5);
    });
}

// B-39: 16 threads write while the storage is switched, there and back: nothing is lost, and
// nothing that came after a switch is in the storage before it.
#[test]
fn sixteen_writing_threads_lose_nothing() {
    let storages: Vec<Arc<dyn PageStorage>> = (0..4).map(|_| memory()).collect();
    let system: ContextSystem = block_on(session(storages[0].clone()));
    let (done, made) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut frozen = Vec::new();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (system, done, made) = (&system, &done, &made);
            scope.spawn(move || {
                let mut count = 0;
                while !done.load(Ordering::Relaxed) || count < 5 {
                    block_on(leaf(system, "usr-0", &format!("{thread}.{count}")));
                    made.fetch_add(1, Ordering::Relaxed);
                    count += 1;
                }
            });
        }
        for next in &storages[1..] {
            let old = system.storage();
            while made.load(Ordering::Relaxed) < 50 {
                std::thread::yield_now();
            }
            let copied = block_on(system.switch_storage(next.clone(), &mut unwatched)).unwrap();
            // Nothing is written to the old one any more.
            frozen.push((old, copied.revision));
        }
        done.store(true, Ordering::Relaxed);
    });
    for (old, revision) in frozen {
        let info = block_on(old.session(&session_id())).unwrap().unwrap();
        assert_eq!(info.revision, revision);
    }
    let last = &storages[3];
    let made = made.into_inner();
    let root = page("usr-0");
    assert_eq!(block_on(last.child_count(&session_id(), &root)).unwrap(), made);
    let info = block_on(last.session(&session_id())).unwrap().unwrap();
    assert_eq!(info.revision.0, made + 2);
    assert_eq!(block_on(check_session(&**last, &session_id())).unwrap(), [""; 0]);
    assert_eq!(block_on(last.verify()).unwrap(), [""; 0]);
}
