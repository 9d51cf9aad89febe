//! Run records: kept by version, outside history, atomic with a commit.

use std::sync::Arc;

use contexture_core::{
    Edit, ErrorKind, PageStorage, SessionId, Timestamp, Usage,
    storage::{
        Basis, Change, Commit, Keep, LedgerQuery, NewSession, RunPut, RunRecord, StorageError,
        StorageResult, UsageReport, Version,
    },
};

use super::{
    change, commit, dump,
    ledgers::{key, sent},
    renaming, stored,
};
use crate::fixture::{BEGIN, apply, leaf, page, reopen, session, session_id, valid};

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(BEGIN + millis)
}

fn first(key: &str) -> RunPut {
    RunPut::first(valid(key), format!("{{\"step\":\"{key}\"}}"), at(1))
}

async fn keep(storage: &dyn PageStorage, put: &RunPut) -> StorageResult<()> {
    storage.keep_run(&session_id(), put).await
}

async fn record(storage: &dyn PageStorage, key: &str) -> Option<RunRecord> {
    let records = storage.runs(&session_id(), key).await.expect("run records can be read");
    records.into_iter().find(|record| record.key.as_str() == key)
}

async fn keys(storage: &dyn PageStorage, prefix: &str) -> Vec<String> {
    let records = storage.runs(&session_id(), prefix).await.expect("run records can be read");
    records.iter().map(|record| record.key.to_string()).collect()
}

#[track_caller]
fn assert_moved<T: std::fmt::Debug>(answer: StorageResult<T>, key: &str) {
    match answer {
        Err(StorageError::RunMoved { key: moved }) => assert_eq!(moved.as_str(), key),
        other => panic!("{other:?}"),
    }
}

pub(super) async fn run_records_are_kept_by_version(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let before = dump(&*storage, &session_id()).await;
    let key = "run/alpha/1";
    keep(&*storage, &first(key)).await.expect("there is none");
    let one = record(&*storage, key).await.expect("it was kept");
    let expected = RunRecord {
        key: valid(key),
        version: Version(1),
        value: "{\"step\":\"run/alpha/1\"}".to_owned(),
        updated_at: at(1),
    };
    assert_eq!(one, expected);
    let long = "原 \"quoted\" \n".repeat(10_000);
    keep(&*storage, &one.next(long.clone(), at(2))).await.expect("it is at 1");
    let two = record(&*storage, key).await.expect("it was kept");
    assert_eq!((two.version, two.updated_at, &two.value), (Version(2), at(2), &long));

    // Neither what was, nor what may be, nor what never was: each changes nothing.
    let expecting = |expect| RunPut { expect, ..one.next("other", at(3)) };
    for expect in
        [None, Some(Version(0)), Some(Version(1)), Some(Version(3)), Some(Version(u64::MAX))]
    {
        assert_moved(keep(&*storage, &expecting(expect)).await, key);
        let removal = RunPut { value: None, ..expecting(expect) };
        assert_moved(keep(&*storage, &removal).await, key);
    }
    let missing = RunPut { key: valid("run/beta"), ..expecting(Some(Version(1))) };
    assert_moved(keep(&*storage, &missing).await, "run/beta");
    assert_eq!(storage.runs(&session_id(), "").await.expect("reads"), std::slice::from_ref(&two));

    keep(&*storage, &two.removal(at(4))).await.expect("it is at 2");
    assert_eq!(record(&*storage, key).await, None);
    assert_moved(keep(&*storage, &two.removal(at(5))).await, key);
    // Nothing of it is an edit.
    assert_eq!(dump(&*storage, &session_id()).await, before);
    keep(&*storage, &first(key)).await.expect("there is none again");
    assert_eq!(record(&*storage, key).await.expect("it was kept").version, Version(1));
}

pub(super) async fn run_records_are_listed_by_prefix(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    for key in ["b", "a/10", "ä/1", "a", "a/2", "A/1", "a.x", "a/1", "\u{10ffff}", "a0"] {
        keep(&*storage, &first(key)).await.expect("there is none");
    }
    let all = ["A/1", "a", "a.x", "a/1", "a/10", "a/2", "a0", "b", "ä/1", "\u{10ffff}"];
    assert_eq!(keys(&*storage, "").await, all);
    assert_eq!(keys(&*storage, "a/").await, ["a/1", "a/10", "a/2"]);
    assert_eq!(keys(&*storage, "a/1").await, ["a/1", "a/10"]);
    assert_eq!(keys(&*storage, "a/10").await, ["a/10"]);
    assert_eq!(keys(&*storage, "ä").await, ["ä/1"]);
    assert_eq!(keys(&*storage, "\u{10ffff}").await, ["\u{10ffff}"]);
    for nothing in ["a/3", "c", "a/%", "a_x", "a\u{0}", "\u{10ffff}\u{10ffff}"] {
        assert_eq!(keys(&*storage, nothing).await, [""; 0], "{nothing:?}");
    }
}

pub(super) async fn run_records_and_reports_are_kept_together(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let (id, bot) = (session_id(), key("bot", "openai"));
    storage.record(&id, &bot, &sent(1)).await.expect("it is the next");
    keep(&*storage, &first("a")).await.expect("there is none");
    let a = record(&*storage, "a").await.expect("it was kept");
    let report = |number| {
        let usage = Usage { input: number, ..Usage::default() };
        Some(UsageReport { ledger: bot.clone(), number, usage })
    };
    let usage = async || {
        let newest = LedgerQuery { upto: None, limit: 1 };
        storage.ledger(&id, &bot, &newest).await.expect("reads")[0].usage.clone()
    };

    // One record that was moved on: nothing of it is kept, wherever it stands.
    for moved in [[first("a"), first("b")], [first("b"), first("a")]] {
        let all = Keep { runs: moved.to_vec(), report: report(1) };
        assert_moved(storage.keep(&id, &all).await, "a");
        assert_eq!((keys(&*storage, "").await, usage().await), (vec!["a".to_owned()], None));
    }
    let runs = vec![a.removal(at(2)), first("b"), first("c")];
    let all = Keep { runs, report: report(1) };
    assert!(storage.keep(&id, &all).await.expect("all stands"));
    assert_eq!(keys(&*storage, "").await, ["b", "c"]);
    assert_eq!(usage().await.map(|usage| usage.input), Some(1));

    // Without the window that is reported on, the records are kept all the same.
    let unknown = Keep { runs: vec![first("d")], report: report(2) };
    assert!(!storage.keep(&id, &unknown).await.expect("there is no d"));
    assert_eq!(keys(&*storage, "").await, ["b", "c", "d"]);
    let nothing = Keep { runs: Vec::new(), report: None };
    assert!(storage.keep(&id, &nothing).await.expect("nothing is asked for"));
    let missing = storage.keep(&valid("other"), &unknown).await;
    assert!(matches!(missing, Err(StorageError::SessionMissing { .. })), "{missing:?}");
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn run_records_move_with_a_commit(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "one").await;
    let id = session_id();
    keep(&*storage, &first("a")).await.expect("there is none");
    let a = record(&*storage, "a").await.expect("it was kept");
    let one = stored(&*storage, &id, "usr-1").await;
    let moving = |name: &str, runs: Vec<RunPut>| Change { runs, ..renaming(&one, name) };

    let runs = vec![a.next("two", at(2)), first("b")];
    let committed = commit(&*storage, &id, moving("both", runs)).await.expect("all stands");
    let both = dump(&*storage, &id).await;
    let two = record(&*storage, "a").await.expect("it was kept");
    assert_eq!((two.version, two.value.as_str(), two.updated_at), (Version(2), "two", at(2)));
    assert_eq!(keys(&*storage, "").await, ["a", "b"]);
    assert_eq!(stored(&*storage, &id, "usr-1").await.name.as_str(), "both");

    // One record that was moved on: neither the page nor the other record changes.
    let runs = vec![two.next("three", at(3)), first("b")];
    assert_moved(commit(&*storage, &id, moving("never", runs)).await, "b");
    assert_eq!(dump(&*storage, &id).await, both);

    // A page that was changed: the record stays. Deciding again may help.
    let mut late = moving("never", vec![two.next("three", at(3))]);
    late.basis = Basis { pages: vec![(page("usr-1"), Some(one.version))], ..Basis::default() };
    let refused = commit(&*storage, &id, late.clone()).await;
    assert!(matches!(refused, Err(StorageError::Conflict { .. })), "{refused:?}");
    assert_eq!(dump(&*storage, &id).await, both);
    // With both moved, deciding again would not help.
    late.runs = vec![a.next("three", at(3))];
    assert_moved(commit(&*storage, &id, late).await, "a");
    assert_eq!(dump(&*storage, &id).await, both);

    // A commit may remove one; and no undo brings it back.
    let removing = Change { runs: vec![two.removal(at(4))], ..change() };
    let removed = commit(&*storage, &id, removing).await.expect("it is at 2").revision;
    assert_eq!(keys(&*storage, "").await, ["b"]);
    let runs_before = storage.runs(&id, "").await.expect("reads");
    let system = reopen(storage.clone()).await;
    for revision in [removed, committed.revision] {
        apply(&system, Edit::Undo { revision: Some(revision) }).await;
    }
    assert_eq!(stored(&*storage, &id, "usr-1").await.name.as_str(), "one");
    assert_eq!(storage.runs(&id, "").await.expect("reads"), runs_before);
}

pub(super) async fn run_records_go_with_their_session(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let other: SessionId = valid("other");
    assert_eq!(storage.runs(&other, "").await.expect("a missing session reads as empty"), []);
    let missing = storage.keep_run(&other, &first("a")).await;
    assert!(matches!(missing, Err(StorageError::SessionMissing { .. })), "{missing:?}");

    // A session may be made with a record.
    let create = Some(NewSession { app: "testkit".to_owned(), at: at(0), mark: None });
    let runs = vec![RunPut { expect: Some(Version(1)), ..first("a") }];
    let made = Commit { create: create.clone(), change: Some(Change { runs, ..change() }) };
    assert_moved(storage.commit(&other, made).await, "a");
    assert_eq!(storage.session(&other).await.expect("reads"), None);
    let made = Commit { create, change: Some(Change { runs: vec![first("a")], ..change() }) };
    storage.commit(&other, made).await.expect("neither exists");
    // Sessions are apart.
    assert_eq!(keys(&*storage, "").await, [""; 0]);
    keep(&*storage, &first("a")).await.expect("there is none");
    keep(&*storage, &first("b")).await.expect("there is none");
    assert!(storage.remove_session(&session_id()).await.expect("it can be removed"));
    assert_eq!(keys(&*storage, "").await, [""; 0]);
    session(storage.clone()).await;
    assert_eq!(keys(&*storage, "").await, [""; 0]);
    assert_eq!(storage.runs(&other, "").await.expect("reads").len(), 1);
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn a_snapshot_keeps_run_records_as_they_were(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    keep(&*storage, &first("a")).await.expect("there is none");
    let a = record(&*storage, "a").await.expect("it was kept");
    let snapshot = storage.snapshot().await.expect("it can be taken");
    keep(&*storage, &a.next("two", at(2))).await.expect("it is at 1");
    keep(&*storage, &first("b")).await.expect("there is none");
    assert_eq!(snapshot.runs(&session_id(), "").await.expect("reads"), std::slice::from_ref(&a));
    let refused = keep(&*snapshot, &a.next("two", at(3))).await.expect_err("it is for reading");
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert_eq!(keys(&*storage, "").await, ["a", "b"]);
}

pub(super) async fn a_purge_leaves_run_records(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "one").await;
    keep(&*storage, &first("a")).await.expect("there is none");
    let before = storage.runs(&session_id(), "").await.expect("reads");
    apply(&system, Edit::RemovePage(page("usr-1"))).await;
    apply(&system, Edit::PurgePage(page("usr-1"))).await;
    assert_eq!(storage.runs(&session_id(), "").await.expect("reads"), before);
}
