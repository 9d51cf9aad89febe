//! Sessions: made, listed, removed, missing.

use std::sync::Arc;

use contexture_core::{
    Edit, ErrorKind, HistoryEntry, PageStorage, SessionId, Timestamp,
    storage::{
        Change, ChildQuery, ChunkKey, Commit, HistoryQuery, LevelChunk, Mark, NewSession, Order,
        ScanQuery, SessionTimes, StandingFilter, StorageError, ViewId,
    },
};

use super::{change, commit, dump, ledgers};
use crate::fixture::{BEGIN, apply, leaf, page, reopen, segment, session, session_id, valid};

fn new(app: &str) -> Commit {
    let at = Timestamp::from_millis(BEGIN);
    Commit { create: Some(NewSession { app: app.to_owned(), at, mark: None }), change: None }
}

pub(super) async fn sessions_are_made_listed_and_removed(storage: Arc<dyn PageStorage>) {
    let names: Vec<SessionId> = ["b", "a", "c-2", "c.10"].map(valid).to_vec();
    for name in &names {
        let made = storage.commit(name, new("app")).await.expect("a new session");
        assert_eq!((made.revision.0, made.change.is_none()), (0, true));
    }
    let again = storage.commit(&names[0], new("app")).await.expect_err("it exists");
    assert!(matches!(again, StorageError::SessionExists { .. }), "{again}");
    let mut sorted = names.clone();
    sorted.sort();
    let mut listed: Vec<SessionId> = Vec::new();
    loop {
        let piece = storage.sessions(listed.last(), 3).await.expect("sessions can be listed");
        assert!(piece.len() <= 3, "a limit was not honoured");
        listed.extend(piece.iter().map(|info| info.id.clone()));
        if piece.len() < 3 {
            break;
        }
    }
    assert_eq!(listed, sorted);
    let info = storage.session(&names[1]).await.expect("it can be read").expect("it exists");
    assert_eq!((info.app.as_str(), info.revision.0, info.next_place.0), ("app", 0, 1));
    assert_eq!(info.created_at, Timestamp::from_millis(BEGIN));
    assert!(storage.remove_session(&names[1]).await.expect("it can be removed"));
    assert!(!storage.remove_session(&names[1]).await.expect("it is gone"));
    assert_eq!(storage.session(&names[1]).await.expect("it can be asked for"), None);
    assert_eq!(storage.sessions(None, 10).await.expect("sessions can be listed").len(), 3);
}

pub(super) async fn a_missing_session_reads_as_empty(storage: Arc<dyn PageStorage>) {
    let nil = session_id();
    let (root, id) = (page("usr-0"), segment("usr"));
    assert_eq!(storage.session(&nil).await.expect("reads"), None);
    assert_eq!(storage.segments(&nil).await.expect("reads"), []);
    assert_eq!(storage.pages(&nil, std::slice::from_ref(&root)).await.expect("reads"), [None]);
    let query = ChildQuery {
        parent: root.clone(),
        standing: StandingFilter::Any,
        order: Order::Forward,
        after: None,
        limit: 9,
    };
    assert_eq!(storage.children(&nil, &query).await.expect("reads"), []);
    assert_eq!(storage.child_count(&nil, &root).await.expect("reads"), 0);
    assert_eq!(storage.last_place(&nil, &root).await.expect("reads"), None);
    let scan =
        ScanQuery { segment: id.clone(), standing: StandingFilter::Any, after: None, limit: 9 };
    assert_eq!(storage.scan(&nil, &scan).await.expect("reads"), []);
    let system = contexture_core::Actor::System;
    assert_eq!(storage.last_turn_page(&nil, &id, &system).await.expect("reads"), None);
    let key = ChunkKey::of(&ViewId::SYSTEM, &root);
    assert_eq!(storage.levels(&nil, &[key]).await.expect("reads"), [LevelChunk::default()]);
    assert_eq!(storage.views(&nil).await.expect("reads"), []);
    assert_eq!(storage.custom(&nil).await.expect("reads"), []);
    ledgers::a_missing_session_has_none(&*storage, &nil).await;
    let query = HistoryQuery { limit: 9, ..HistoryQuery::default() };
    let none: Vec<HistoryEntry> = Vec::new();
    assert_eq!(storage.history(&nil, &query).await.expect("reads"), none);
    let refused = commit(&*storage, &nil, change()).await.expect_err("there is no session");
    assert!(matches!(refused, StorageError::SessionMissing { .. }), "{refused}");
    assert_eq!(storage.session(&nil).await.expect("reads"), None);
    // A session and its first change come together or not at all.
    let mut based = change();
    based.basis.segments.push((id, Some(contexture_core::storage::Version(1))));
    let both = Commit { change: Some(based), ..new("app") };
    let refused = storage.commit(&nil, both).await.expect_err("the basis does not hold");
    assert!(matches!(refused, StorageError::Conflict { .. }), "{refused}");
    assert_eq!(storage.session(&nil).await.expect("reads"), None);
}

pub(super) async fn sessions_share_nothing_but_contents(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "note").await;
    let before = dump(&*storage, &session_id()).await;
    let other: SessionId = valid("other");
    storage.commit(&other, new("app")).await.expect("a new session");
    assert_eq!(storage.segments(&other).await.expect("reads"), []);
    assert_eq!(storage.pages(&other, &[page("usr-1")]).await.expect("reads"), [None]);
    let custom = contexture_core::storage::CustomDelta {
        key: valid("goal"),
        before: None,
        after: Some("theirs".to_owned()),
    };
    let theirs = contexture_core::storage::Change { custom: vec![custom], ..change() };
    commit(&*storage, &other, theirs).await.expect("it is their own");
    assert_eq!(dump(&*storage, &session_id()).await, before);
    storage.remove_session(&other).await.expect("it can be removed");
    assert_eq!(dump(&*storage, &session_id()).await, before);
}

pub(super) async fn a_snapshot_stands_still(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "before").await;
    let snapshot = storage.snapshot().await.expect("it can be taken");
    let then = dump(&*snapshot, &session_id()).await;
    leaf(&system, "usr-0", "after").await;
    apply(&system, Edit::RemovePage(page("usr-1"))).await;
    assert_eq!(dump(&*snapshot, &session_id()).await, then);
    assert_ne!(dump(&*storage, &session_id()).await, then);
    assert_eq!(snapshot.verify().await.expect("it can be verified"), [""; 0]);
    let frozen = reopen(snapshot.clone()).await;
    let refused = frozen.as_system().apply(Edit::RemovePage(page("usr-1"))).await;
    assert_eq!(refused.expect_err("it is only for reading").kind(), ErrorKind::Unavailable);
    assert!(snapshot.remove_session(&session_id()).await.is_err());
}

pub(super) async fn a_session_has_a_mark(storage: Arc<dyn PageStorage>) {
    let mark = |id: &SessionId| {
        let (storage, id) = (storage.clone(), id.clone());
        async move { storage.session(&id).await.expect("reads").expect("it exists").mark }
    };
    let given = Mark::from_seed(b"given");
    let at = Timestamp::from_millis(BEGIN);
    let marked = NewSession { app: "app".to_owned(), at, mark: Some(given.clone()) };
    let (one, other): (SessionId, SessionId) = (valid("one"), valid("other"));
    let create = Commit { create: Some(marked), change: None };
    storage.commit(&one, create).await.expect("a new session");
    storage.commit(&other, new("app")).await.expect("a new session");
    assert_eq!(mark(&one).await, given);
    let made = mark(&other).await;
    assert_ne!(made, given);
    // What happens to the session leaves its mark alone.
    for id in [&one, &other] {
        commit(&*storage, id, change()).await.expect("it holds");
    }
    assert_eq!((mark(&one).await, mark(&other).await), (given, made.clone()));
    let listed = storage.sessions(None, 10).await.expect("reads");
    assert_eq!(listed.iter().find(|info| info.id == other).map(|info| &info.mark), Some(&made));
    // Made again at the same time under the same name, it has another mark, where marks are secret.
    storage.remove_session(&other).await.expect("it can be removed");
    storage.commit(&other, new("app")).await.expect("a new session");
    assert_eq!(mark(&other).await != made, storage.capabilities().durable);
}

pub(super) async fn a_change_may_bring_the_sessions_times(storage: Arc<dyn PageStorage>) {
    let id = session_id();
    let at = Timestamp::from_millis;
    let times = SessionTimes { created_at: at(1_000), updated_at: at(2_000) };
    storage.commit(&id, new("app")).await.expect("a new session");
    let committed = commit(&*storage, &id, Change { times: Some(times), ..change() }).await;
    committed.expect("it holds");
    let info = storage.session(&id).await.expect("reads").expect("it exists");
    assert_eq!((info.created_at, info.updated_at), (at(1_000), at(2_000)));
    // What comes after it has its own time again.
    commit(&*storage, &id, change()).await.expect("it holds");
    let info = storage.session(&id).await.expect("reads").expect("it exists");
    assert_eq!((info.created_at, info.updated_at), (at(1_000), at(BEGIN)));
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}
