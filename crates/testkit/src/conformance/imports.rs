//! Taking over sessions part by part, and the lists a copy is made by.
//!
//! Nothing here rests on contents being shared between sessions.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, MemoryStorage, PageStorage, Principal, SessionId, Timestamp,
    storage::{
        ChunkKey, Commit, ImportPart, LedgerKey, NewSession, RunPut, StorageError,
        copy::{CopyOutcome, SessionDigest, copy_session},
    },
};

use super::{dump, ledgers::sent};
use crate::{
    edits::{Diet, Edits, beginning},
    fake::WatchedStorage,
    fixture::{
        BEGIN, TickingClock, agent, apply, directory, leaf, new_leaf, page, session, session_id,
        valid,
    },
    model::Model,
    property::make,
};

/// A session with one of everything, in memory.
async fn everything() -> Arc<dyn PageStorage> {
    let storage: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let clock = TickingClock::new();
    let create = ContextSystem::create(storage.clone(), session_id(), "copied", clock);
    let system = create.await.expect("a new session");
    let mut model = Model::new();
    let mut edits = Edits::new(31, Diet { purge: true });
    let mut script: Vec<_> =
        beginning().into_iter().map(|edit| (Principal::System, edit)).collect();
    script.reverse();
    for _ in 0..250 {
        let (caller, edit) = script.pop().unwrap_or_else(|| edits.next(&model));
        drop(model.apply(&caller, &edit));
        // Some are refused, as they must be.
        drop(make(&system, &caller, edit).await);
    }
    apply(&system, Edit::SetCustom { key: valid("key"), value: Some("value".to_owned()) }).await;
    for (view, format, count) in
        [("alpha", "openai", 3), ("alpha", "markdown", 1), ("beta", "gemini", 2)]
    {
        let key = LedgerKey { view: valid(view), format: valid(format) };
        for number in 1..=count {
            storage.record(&session_id(), &key, &sent(number)).await.expect("it is the next");
        }
    }
    for key in ["run/1", "run/2"] {
        let put = RunPut::first(valid(key), "state", Timestamp::from_millis(BEGIN));
        storage.keep_run(&session_id(), &put).await.expect("it is new");
    }
    storage
}

async fn copy(from: &dyn PageStorage, to: &dyn PageStorage) -> CopyOutcome {
    let copied = copy_session(from, to, &session_id(), &mut |_| {}).await;
    copied.unwrap_or_else(|error| panic!("{error}")).outcome
}

async fn assert_sound(storage: &dyn PageStorage) {
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn a_session_is_taken_over_whole(storage: Arc<dyn PageStorage>) {
    let from = everything().await;
    // Another session is in nobody's way.
    let at = Timestamp::from_millis(BEGIN);
    let new = NewSession { app: "other".to_owned(), at, mark: None };
    let create = Commit { create: Some(new), change: None };
    storage.commit(&valid("other"), create).await.expect("a new session");
    assert_eq!(copy(&*from, &*storage).await, CopyOutcome::Copied);
    assert_eq!(dump(&*storage, &session_id()).await, dump(&*from, &session_id()).await);
    assert_eq!(storage.sessions(None, 9).await.expect("lists").len(), 2);
    // And back again, where it is found to be the same.
    assert_eq!(copy(&*storage, &*from).await, CopyOutcome::AlreadyThere);
    let back: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    assert_eq!(copy(&*storage, &*back).await, CopyOutcome::Copied);
    assert_eq!(dump(&*back, &session_id()).await, dump(&*from, &session_id()).await);
}

pub(super) async fn a_session_taken_over_lives_on(storage: Arc<dyn PageStorage>) {
    let from: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let old = session(from.clone()).await;
    let first = leaf(&old, "usr-0", "first").await;
    copy(&*from, &*storage).await;
    let clock = TickingClock::new();
    let system =
        ContextSystem::open(storage.clone(), session_id(), clock).await.expect("it is there");
    // Numbers and revisions go on, and what was done there can be undone here.
    let second = leaf(&system, "usr-0", "second").await;
    assert_eq!(second, page("usr-2"));
    assert_eq!(system.info().await.expect("reads").revision.0, 4);
    assert_eq!(storage.child_count(&session_id(), &page("usr-0")).await.expect("counts"), 2);
    apply(&system, Edit::Undo { revision: Some(contexture_core::Revision(4)) }).await;
    let hash = storage.pages(&session_id(), std::slice::from_ref(&first)).await.expect("reads");
    let hash = hash[0].as_ref().and_then(|page| page.detail()).expect("it is a leaf").content;
    apply(&system, Edit::PurgePage(first)).await;
    let content = storage.contents(&session_id(), &[hash]).await.expect("reads");
    assert_eq!(content, [None], "its references were counted");
    assert_sound(&*storage).await;
    assert!(storage.remove_session(&session_id()).await.expect("it can be removed"));
    assert_sound(&*storage).await;
}

pub(super) async fn nothing_shows_before_the_last_part(storage: Arc<dyn PageStorage>) {
    let from = everything().await;
    let (id, other): (SessionId, SessionId) = (session_id(), valid("zzz"));
    let at = Timestamp::from_millis(BEGIN);
    let new = NewSession { app: "other".to_owned(), at, mark: None };
    storage
        .commit(&other, Commit { create: Some(new), change: None })
        .await
        .expect("a new session");
    let early = storage.import(&id, ImportPart::Views(Vec::new())).await.expect_err("not begun");
    assert!(matches!(early, StorageError::SessionMissing { .. }), "{early}");
    let parts = parts(&*from).await;
    let (last, most) = parts.split_last().expect("there are parts");
    // Begun twice: the first attempt leaves nothing.
    for part in most.iter().chain(most) {
        storage.import(&id, part.clone()).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(storage.session(&id).await.expect("reads"), None);
    }
    let listed = storage.sessions(None, 9).await.expect("lists");
    assert_eq!(listed.iter().map(|info| info.id.as_str()).collect::<Vec<_>>(), ["zzz"]);
    assert_eq!(storage.segments(&id).await.expect("reads"), []);
    assert_eq!(storage.level_keys(&id).await.expect("reads"), []);
    assert_eq!(storage.ledgers(&id).await.expect("reads"), []);
    assert_eq!(storage.runs(&id, "").await.expect("reads"), []);
    assert_sound(&*storage).await;
    storage.import(&id, last.clone()).await.expect("it appears");
    assert_eq!(dump(&*storage, &id).await, dump(&*from, &id).await);
    let again = storage.import(&id, ImportPart::Begin).await.expect_err("it is there");
    assert!(matches!(again, StorageError::SessionExists { .. }), "{again}");
    assert_eq!(dump(&*storage, &id).await, dump(&*from, &id).await);
}

pub(super) async fn what_was_begun_goes_with_its_session(storage: Arc<dyn PageStorage>) {
    let from = everything().await;
    let id = session_id();
    let parts = parts(&*from).await;
    for part in &parts[..parts.len() - 1] {
        storage.import(&id, part.clone()).await.expect("it is taken in");
    }
    assert!(!storage.remove_session(&id).await.expect("nothing shows yet"));
    let refused = storage.import(&id, parts[parts.len() - 1].clone()).await;
    let refused = refused.expect_err("what was begun is gone");
    assert!(matches!(refused, StorageError::SessionMissing { .. }), "{refused}");
    assert_sound(&*storage).await;
    // A session made meanwhile wins.
    storage.import(&id, ImportPart::Begin).await.expect("it begins");
    session(storage.clone()).await;
    let refused = storage.import(&id, parts[1].clone()).await.expect_err("it is there");
    assert!(matches!(refused, StorageError::SessionExists { .. }), "{refused}");
    assert!(storage.remove_session(&id).await.expect("it can be removed"));
    assert_sound(&*storage).await;
}

pub(super) async fn a_snapshot_takes_nothing_over(storage: Arc<dyn PageStorage>) {
    session(storage.clone()).await;
    let snapshot = storage.snapshot().await.expect("a snapshot");
    let refused = snapshot.import(&valid("new"), ImportPart::Begin).await;
    assert!(matches!(refused, Err(StorageError::ReadOnly { .. })), "{refused:?}");
    assert!(matches!(snapshot.repair().await, Err(StorageError::ReadOnly { .. })));
}

pub(super) async fn chunks_and_ledgers_are_listed_in_order(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let id = session_id();
    assert_eq!(storage.level_keys(&id).await.expect("reads"), []);
    let dir = directory(&system, "usr-0", "dir").await;
    for name in ["zoe", "bob"] {
        agent(&system, name).expand_details(&dir).await.expect("it is in view");
        agent(&system, name).pin_page("sys-0").await.ok();
    }
    apply(&system, Edit::ExpandDetails(dir.clone())).await;
    let keys = storage.level_keys(&id).await.expect("reads");
    let mut sorted = keys.clone();
    sorted.sort();
    assert_eq!(keys, sorted);
    for view in ["bob", "zoe", "system"] {
        assert!(keys.contains(&ChunkKey::of(&valid(view), &dir)), "{view}: {keys:?}");
    }
    for chunk in storage.levels(&id, &keys).await.expect("reads") {
        assert!(!chunk.is_empty());
    }
    // What has nothing left to say is not listed.
    let newest = system.info().await.expect("reads").revision;
    apply(&system, Edit::Undo { revision: Some(newest) }).await;
    let keys = storage.level_keys(&id).await.expect("reads");
    assert!(!keys.contains(&ChunkKey::of(&valid("system"), &dir)), "{keys:?}");
    let mut wanted = Vec::new();
    for (view, format) in [("zoe", "openai"), ("bob", "openai"), ("bob", "gemini")] {
        let key = LedgerKey { view: valid(view), format: valid(format) };
        storage.record(&id, &key, &sent(1)).await.expect("it is the next");
        wanted.push(key);
    }
    wanted.sort();
    assert_eq!(storage.ledgers(&id).await.expect("reads"), wanted);
    assert_eq!(storage.ledgers(&valid("nobody")).await.expect("reads"), []);
}

pub(super) async fn equal_sessions_have_equal_digests(storage: Arc<dyn PageStorage>) {
    let from = everything().await;
    copy(&*from, &*storage).await;
    let digest = |storage: Arc<dyn PageStorage>| async move {
        SessionDigest::of(&*storage, &session_id()).await.expect("reads").expect("it is there")
    };
    let (left, right) = (digest(from.clone()).await, digest(storage.clone()).await);
    assert_eq!((left.difference(&right), left.checksum()), (None, right.checksum()));
    let clock = TickingClock::new();
    let system = ContextSystem::open(storage.clone(), session_id(), clock).await.expect("opens");
    apply(&system, new_leaf("usr-0", "more")).await;
    assert!(left.difference(&digest(storage).await).is_some());
}

/// Returns the parts a session is copied in.
async fn parts(from: &dyn PageStorage) -> Vec<ImportPart> {
    let watched = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    copy(from, &*watched).await;
    watched.imported()
}
