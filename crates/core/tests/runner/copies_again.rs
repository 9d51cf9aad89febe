//! Copies that are repeated: an earlier state is brought forward, one that has gone its own way is not.

use std::sync::Arc;

use contexture_core::{
    Advice, ContextSystem, Edit, Error, PageStorage, Revision, Timestamp, Usage,
    storage::{
        ImportPart, LedgerKey, LedgerQuery, RunPut, StorageError,
        copy::{CopyOutcome, Progress, copy_session},
    },
};
use contexture_testkit::{
    conformance::dump,
    fake::{Death, WatchedStorage},
    filled::filled,
    fixture::{apply, leaf, new_leaf, reopen, session, session_id, valid},
};
use futures::executor::block_on;

use crate::copies::{aside, assert_same, memory, unwatched};

async fn copy(from: &Arc<dyn PageStorage>, to: &Arc<dyn PageStorage>) -> CopyOutcome {
    let copied = copy_session(&**from, &**to, &session_id(), &mut unwatched).await;
    copied.unwrap_or_else(|error| panic!("{error}")).outcome
}

/// Tries a copy that must be refused and change nothing; returns what is said.
async fn refused(from: &Arc<dyn PageStorage>, to: &Arc<dyn PageStorage>) -> String {
    let before = dump(&**to, &session_id()).await;
    let error = copy_session(&**from, &**to, &session_id(), &mut unwatched).await.unwrap_err();
    assert!(matches!(error, Error::OtherSession { .. }), "{error}");
    assert!(matches!(error.advice(), Advice::CopyElsewhere { .. }), "{error}");
    assert_eq!(dump(&**to, &session_id()).await, before);
    error.to_string()
}

/// A session with everything and a copy of it, both of the same revision.
async fn twins(seed: u64) -> (Arc<dyn PageStorage>, Arc<dyn PageStorage>, Revision) {
    let (from, to) = (filled(seed), memory());
    assert_eq!(copy(&from, &to).await, CopyOutcome::Copied);
    let revision = from.session(&session_id()).await.unwrap().unwrap().revision;
    (from, to, revision)
}

fn run(key: &str, value: &str, at: i64) -> RunPut {
    RunPut::first(valid(key), value, Timestamp::from_millis(at))
}

// A backup is repeated.
#[test]
fn an_earlier_state_is_brought_forward() {
    block_on(async {
        let (from, to, revision) = twins(6).await;
        let system = reopen(from.clone()).await;
        let made = apply(&system, new_leaf("usr-0", "more")).await;
        assert_eq!(copy(&from, &to).await, CopyOutcome::BroughtForward(revision));
        assert_same(&*from, &*to).await;
        // Undoing marks an entry that is there already, purging empties some.
        apply(&system, Edit::Undo { revision: Some(made.revision) }).await;
        let gone = leaf(&system, "usr-0", "to be purged").await;
        copy(&from, &to).await;
        apply(&system, Edit::PurgePage(gone)).await;
        assert!(matches!(copy(&from, &to).await, CopyOutcome::BroughtForward(_)));
        assert_same(&*from, &*to).await;
        assert_eq!(copy(&from, &to).await, CopyOutcome::AlreadyThere);
        assert_eq!(to.verify().await.unwrap(), [""; 0]);
        // No reference is left behind.
        assert!(to.remove_session(&session_id()).await.unwrap());
        assert_eq!(to.verify().await.unwrap(), [""; 0]);
    });
}

// Run records and windows sent are no edits.
#[test]
fn what_is_written_beside_edits_is_brought_forward_too() {
    block_on(async {
        let (from, to, revision) = twins(7).await;
        let id = session_id();
        from.keep_run(&id, &run("new", "x", 1)).await.unwrap();
        assert_eq!(copy(&from, &to).await, CopyOutcome::BroughtForward(revision));
        let ended = from.runs(&id, "new").await.unwrap().remove(0);
        from.keep_run(&id, &ended.removal(Timestamp::from_millis(2))).await.unwrap();
        assert_eq!(copy(&from, &to).await, CopyOutcome::BroughtForward(revision));
        assert_eq!(to.runs(&id, "new").await.unwrap(), []);
        let key = from.ledgers(&id).await.unwrap().remove(0);
        assert!(from.report(&id, &key, 1, &Usage::default()).await.unwrap());
        assert_eq!(copy(&from, &to).await, CopyOutcome::BroughtForward(revision));
        assert_same(&*from, &*to).await;
    });
}

#[test]
fn a_target_that_was_edited_is_refused_and_says_why() {
    block_on(async {
        let (from, to, revision) = twins(8).await;
        let there: ContextSystem = reopen(to.clone()).await;
        leaf(&there, "usr-0", "theirs").await;
        let said = refused(&from, &to).await;
        assert!(said.contains("it is ahead by 1 edit"), "{said}");
        // Now both have an edit of that number.
        let here = reopen(from.clone()).await;
        let other = Edit::SetCustom { key: valid("k"), value: Some("v".to_owned()) };
        apply(&here, other).await;
        leaf(&here, "usr-0", "ours").await;
        let said = refused(&from, &to).await;
        let number = revision.next();
        assert!(said.contains(&format!("revision {number} is a different edit")), "{said}");
    });
}

// The same edits at the same time, but for what was written.
#[test]
fn another_text_in_the_same_edit_is_another_edit() {
    block_on(async {
        let (from, to) = (memory(), memory());
        for (storage, text) in [(&from, "mine"), (&to, "theirs")] {
            leaf(&session(storage.clone()).await, "usr-0", text).await;
        }
        let said = refused(&from, &to).await;
        assert!(said.contains("differ"), "{said}");
        leaf(&reopen(from.clone()).await, "usr-0", "more").await;
        let said = refused(&from, &to).await;
        assert!(said.contains("revision 3 is a different edit"), "{said}");
    });
}

#[test]
fn runs_and_windows_of_the_target_are_not_thrown_away() {
    block_on(async {
        let id = session_id();
        let (from, to, _) = twins(9).await;
        let moved = to.runs(&id, "run/1").await.unwrap().remove(0);
        let later = Timestamp::from_millis(moved.updated_at.as_millis() + 1);
        to.keep_run(&id, &moved.next("on", later)).await.unwrap();
        let said = refused(&from, &to).await;
        assert!(said.contains("run record run/1 is newer there"), "{said}");
        let (from, to, _) = twins(9).await;
        let key: LedgerKey = to.ledgers(&id).await.unwrap().remove(0);
        let newest = LedgerQuery { upto: None, limit: 1 };
        let mut sent = to.ledger(&id, &key, &newest).await.unwrap().remove(0);
        sent.number += 1;
        to.record(&id, &key, &sent).await.unwrap();
        let said = refused(&from, &to).await;
        assert!(said.contains("it records windows sent in"), "{said}");
    });
}

// It dies at any part: the earlier state stands until the new one takes its place.
#[test]
fn bringing_forward_can_die_anywhere_and_begin_again() {
    block_on(async {
        let (from, id) = (filled(10), session_id());
        let earlier = memory();
        copy(&from, &earlier).await;
        let before = dump(&*earlier, &id).await;
        leaf(&reopen(from.clone()).await, "usr-0", "more").await;
        let parts = {
            let to = memory();
            copy(&earlier, &to).await;
            let counting = WatchedStorage::new(to);
            copy_session(&*from, &*counting, &id, &mut unwatched).await.unwrap();
            u32::try_from(counting.count("import")).unwrap()
        };
        assert!(parts > 10, "{parts}");
        for death in [Death::Before, Death::After] {
            for part in 1..=parts {
                let to = memory();
                copy(&earlier, &to).await;
                let dying = WatchedStorage::new(to.clone());
                dying.die_at_write(part, death);
                copy_session(&*from, &*dying, &id, &mut unwatched).await.unwrap_err();
                let whole = part == parts && death == Death::After;
                assert_eq!(dump(&*to, &id).await == before, !whole, "part {part}");
                assert_eq!(to.verify().await.unwrap(), [""; 0], "part {part}");
                let again = copy(&from, &to).await;
                assert_eq!(again == CopyOutcome::AlreadyThere, whole, "part {part}");
                assert_same(&*from, &*to).await;
            }
        }
    });
}

// Somebody edits the target, or works there, between the comparison and the end.
#[test]
fn a_write_to_the_target_meanwhile_is_not_thrown_away() {
    block_on(async {
        for edits in [true, false] {
            let (from, to, _) = twins(11).await;
            leaf(&reopen(from.clone()).await, "usr-0", "more").await;
            let there = reopen(to.clone()).await;
            let mut wrote = false;
            let mut write = |_: Progress<'_>| {
                if std::mem::replace(&mut wrote, true) {
                } else if edits {
                    aside(leaf(&there, "usr-0", "theirs"));
                } else {
                    aside(to.keep_run(&session_id(), &run("theirs", "x", 1))).unwrap();
                }
            };
            let error = copy_session(&*from, &*to, &session_id(), &mut write).await.unwrap_err();
            match error {
                Error::NotCopied { error: StorageError::Conflict { .. }, .. } if edits => {}
                Error::OtherSession { what, .. } if !edits => {
                    assert!(what.contains("during the copy"), "{what}");
                }
                error => panic!("{error}"),
            }
            let kept = to.runs(&session_id(), "theirs").await.unwrap();
            assert_eq!(kept.len(), usize::from(!edits));
            let info = to.session(&session_id()).await.unwrap().unwrap();
            assert_eq!(info, there.info().await.unwrap());
        }
    });
}

#[test]
fn an_import_begins_over_the_very_state_that_was_seen() {
    block_on(async {
        let (_, to, _) = twins(12).await;
        let seen = to.session(&session_id()).await.unwrap().unwrap();
        let missing = memory().import(&session_id(), ImportPart::BeginOver(seen.clone())).await;
        assert!(matches!(missing, Err(StorageError::Conflict { .. })), "{missing:?}");
        leaf(&reopen(to.clone()).await, "usr-0", "more").await;
        let moved = to.import(&session_id(), ImportPart::BeginOver(seen)).await;
        assert!(matches!(moved, Err(StorageError::Conflict { .. })), "{moved:?}");
    });
}
