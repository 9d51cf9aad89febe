//! Copies from one storage to another: the same session, or none.

use std::sync::Arc;

use contexture_core::{
    Advice, ContextSystem, Edit, Error, ErrorKind, MemoryStorage, PageStorage, SessionId, Usage,
    storage::{
        LedgerKey, LedgerQuery,
        copy::{CopyOutcome, CopyStep, Progress, SessionDigest, copy_all, copy_session},
    },
};
use contexture_testkit::{
    conformance::dump,
    fake::{Death, WatchedStorage},
    filled::filled,
    fixture::{TickingClock, agent, apply, leaf, new_leaf, session, session_id, valid},
};
use futures::executor::block_on;

pub(crate) fn memory() -> Arc<dyn PageStorage> {
    Arc::new(MemoryStorage::new())
}

pub(crate) fn unwatched(_: Progress<'_>) {}

/// Waits on a thread of its own: this one waits already.
pub(crate) fn aside<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| block_on(future)).join().unwrap())
}

async fn ledgers(storage: &dyn PageStorage, session: &SessionId) -> Vec<String> {
    let mut all = Vec::new();
    for key in storage.ledgers(session).await.unwrap() {
        let query = LedgerQuery { upto: None, limit: 1_000 };
        let LedgerKey { view, format } = &key;
        for sent in storage.ledger(session, &key, &query).await.unwrap() {
            all.push(format!("{view} {format} {sent:?}"));
        }
    }
    all
}

pub(crate) async fn assert_same(left: &dyn PageStorage, right: &dyn PageStorage) {
    let id = session_id();
    assert_eq!(dump(left, &id).await, dump(right, &id).await);
    let sent = ledgers(left, &id).await;
    assert!(!sent.is_empty());
    assert_eq!(sent, ledgers(right, &id).await);
}

// A copy holds everything the session holds, and is the same by every read.
#[test]
fn a_copy_is_the_same_session() {
    for seed in [3, 4, 5] {
        let (from, to) = (filled(seed), memory());
        let mut steps: Vec<CopyStep> = Vec::new();
        let mut watch = |progress: Progress<'_>| {
            assert!(progress.done <= progress.total, "{progress:?}");
            if steps.last() != Some(&progress.step) {
                steps.push(progress.step);
            }
        };
        let copied = block_on(copy_session(&*from, &*to, &session_id(), &mut watch)).unwrap();
        assert_eq!(copied.outcome, CopyOutcome::Copied);
        assert!(copied.digest.pages() > 20 && copied.digest.contents() > 20, "{copied:?}");
        assert!(copied.digest.windows() == 6 && copied.digest.entries() > 100, "{copied:?}");
        block_on(assert_same(&*from, &*to));
        assert!(steps.starts_with(&[CopyStep::Pages, CopyStep::History]), "{steps:?}");
        assert_eq!(steps.last(), Some(&CopyStep::Verifying));
        // The copy lives: it is edited and undone like any session.
        let clock = TickingClock::new();
        let system = block_on(ContextSystem::open(to.clone(), session_id(), clock)).unwrap();
        let made = block_on(apply(&system, new_leaf("usr-0", "after the copy")));
        block_on(apply(&system, Edit::Undo { revision: Some(made.revision) }));
        assert_eq!(block_on(to.verify()).unwrap(), [""; 0]);
    }
}

// What is there already is not copied again.
#[test]
fn what_is_there_already_is_left_alone() {
    block_on(async {
        let (from, to) = (filled(6), memory());
        let id = session_id();
        let first = copy_session(&*from, &*to, &id, &mut unwatched).await.unwrap();
        let second = copy_session(&*from, &*to, &id, &mut unwatched).await.unwrap();
        assert_eq!(second.outcome, CopyOutcome::AlreadyThere);
        assert_eq!(second.checksum(), first.checksum());
        let nobody = valid("nobody");
        let error = copy_session(&*from, &*to, &nobody, &mut unwatched).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}

// A copy that dies at any part shows nothing, and the next one succeeds.
#[test]
fn a_copy_that_dies_is_begun_again() {
    block_on(async {
        let (from, id) = (filled(7), session_id());
        let counting = WatchedStorage::new(memory());
        copy_session(&*from, &*counting, &id, &mut unwatched).await.unwrap();
        let parts = u32::try_from(counting.count("import")).unwrap();
        assert!(parts > 10, "{parts}");
        for death in [Death::Before, Death::After] {
            for part in 1..=parts {
                let to = memory();
                let dying = WatchedStorage::new(to.clone());
                dying.die_at_write(part, death);
                let error = copy_session(&*from, &*dying, &id, &mut unwatched).await.unwrap_err();
                assert!(matches!(error, Error::NotCopied { .. }), "{error}");
                let whole = part == parts && death == Death::After;
                assert_eq!(to.session(&id).await.unwrap().is_some(), whole, "part {part}");
                assert_eq!(to.verify().await.unwrap(), [""; 0], "part {part}");
                let again = copy_session(&*from, &*to, &id, &mut unwatched).await.unwrap();
                let there = again.outcome == CopyOutcome::AlreadyThere;
                assert_eq!(there, whole, "part {part}");
                assert_same(&*from, &*to).await;
            }
        }
    });
}

// The snapshot is what is copied, whatever is written meanwhile.
#[test]
fn what_comes_meanwhile_is_not_copied() {
    block_on(async {
        let (from, to) = (filled(8), memory());
        let clock = TickingClock::new();
        let system = ContextSystem::open(from.clone(), session_id(), clock).await.unwrap();
        let before = from.session(&session_id()).await.unwrap();
        let mut wrote = false;
        let mut write = |_: Progress<'_>| {
            if !std::mem::replace(&mut wrote, true) {
                aside(apply(&system, new_leaf("usr-0", "meanwhile")));
            }
        };
        copy_session(&*from, &*to, &session_id(), &mut write).await.unwrap();
        assert_eq!(to.session(&session_id()).await.unwrap(), before);
    });
}

// A content that is gone is damage and is not made up; one that was purged is none.
#[test]
fn a_missing_content_is_damage() {
    block_on(async {
        let from = memory();
        let system = session(from.clone()).await;
        let gone = leaf(&system, "usr-0", "purged").await;
        apply(&system, Edit::PurgePage(gone)).await;
        leaf(&system, "usr-0", "kept").await;
        let to = memory();
        copy_session(&*from, &*to, &session_id(), &mut unwatched).await.unwrap();
        // The only content is taken away behind everybody's back.
        let forgetful = WatchedStorage::new(from.clone());
        forgetful.lose_contents();
        let target = memory();
        let error = copy_session(&*forgetful, &*target, &session_id(), &mut unwatched).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains("assigns it, but it is missing"), "{error}");
        assert_eq!(error.advice(), Advice::CheckStore);
        assert_eq!(target.session(&session_id()).await.unwrap(), None);
    });
}

// A target that does not keep what it was given is found out, and its session removed.
#[test]
fn a_target_that_loses_something_is_found_out() {
    block_on(async {
        let (from, to) = (filled(9), memory());
        let forgetful = WatchedStorage::new(to.clone());
        forgetful.lose_contents();
        let error = copy_session(&*from, &*forgetful, &session_id(), &mut unwatched).await;
        let error = error.unwrap_err();
        assert!(matches!(error, Error::CopyDiffers { .. }), "{error}");
        assert_eq!(to.session(&session_id()).await.unwrap(), None);
    });
}

#[test]
fn a_whole_store_is_copied() {
    block_on(async {
        let (from, to) = (filled(10), memory());
        for name in ["a", "b"] {
            let clock = TickingClock::new();
            let made = ContextSystem::create(from.clone(), valid(name), "app", clock).await;
            made.unwrap();
        }
        let copied = copy_all(&*from, &*to, &mut unwatched).await.unwrap();
        let names: Vec<_> = copied.iter().map(|copied| copied.session.as_str()).collect();
        assert_eq!(names, ["a", "b", "test"]);
        let again = copy_all(&*from, &*to, &mut unwatched).await.unwrap();
        assert!(again.iter().all(|copied| copied.outcome == CopyOutcome::AlreadyThere));
        assert_same(&*from, &*to).await;
        assert_eq!(to.sessions(None, 9).await.unwrap(), from.sessions(None, 9).await.unwrap());
    });
}

// A difference anywhere is a difference: each kind of record makes its own.
#[test]
fn a_digest_tells_every_kind_of_record() {
    block_on(async {
        let storage = filled(11);
        let id = session_id();
        let clock = TickingClock::new();
        let system = ContextSystem::open(storage.clone(), id.clone(), clock).await.unwrap();
        let bot = agent(&system, "alpha");
        let mut last = SessionDigest::of(&*storage, &id).await.unwrap().unwrap();
        let mut said = Vec::new();
        for step in 0..5 {
            match step {
                0 => drop(apply(&system, new_leaf("usr-0", "x")).await),
                1 => drop(bot.focus_page("usr-0").await.unwrap()),
                2 => {
                    let custom = Edit::SetCustom { key: valid("k"), value: None };
                    let custom = Edit::Batch(vec![
                        Edit::SetCustom { key: valid("k"), value: Some("v".to_owned()) },
                        custom,
                    ]);
                    drop(apply(&system, custom).await);
                }
                3 => {
                    let run = storage.runs(&id, "run/1").await.unwrap().remove(0);
                    storage.keep_run(&id, &run.next("on", run.updated_at)).await.unwrap();
                }
                _ => {
                    let usage = Usage { input: 8, ..Default::default() };
                    system.as_system().report_usage(valid("openai"), 1, &usage).await.unwrap();
                }
            }
            let now = SessionDigest::of(&*storage, &id).await.unwrap().unwrap();
            said.push(last.difference(&now).unwrap_or_default());
            assert_ne!(last.checksum(), now.checksum());
            assert_eq!(now.difference(&now), None);
            last = now;
        }
        assert!(said.iter().all(|said| !said.is_empty()), "{said:?}");
        assert!(said[3].contains("run records") && said[4].contains("windows"), "{said:?}");
        let missing = SessionDigest::of(&*storage, &valid("nobody")).await.unwrap();
        assert_eq!(missing, None);
    });
}
