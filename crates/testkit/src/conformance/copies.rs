//! Copies that are repeated: an earlier state gives way to a later one, whole and in one step.

use std::sync::Arc;

use contexture_core::{
    Edit, Error, MemoryStorage, PageStorage, Timestamp,
    storage::{
        ImportPart, RunPut, StorageError,
        check::check_session,
        copy::{CopyOutcome, copy_session},
    },
};

use super::dump;
use crate::{
    fake::WatchedStorage,
    fixture::{BEGIN, agent, apply, leaf, reopen, session, session_id, user, valid},
};

async fn copy(from: &dyn PageStorage, to: &dyn PageStorage) -> CopyOutcome {
    let copied = copy_session(from, to, &session_id(), &mut |_| {}).await;
    copied.unwrap_or_else(|error| panic!("{error}")).outcome
}

/// A session in memory, and its copy in the storage.
async fn twins(storage: &Arc<dyn PageStorage>) -> Arc<dyn PageStorage> {
    let from: Arc<dyn PageStorage> = Arc::new(MemoryStorage::new());
    let system = session(from.clone()).await;
    leaf(&system, "usr-0", "to be purged").await;
    leaf(&system, "usr-0", "to be undone").await;
    let put = RunPut::first(valid("run"), "begun", Timestamp::from_millis(BEGIN));
    from.keep_run(&session_id(), &put).await.expect("it is new");
    assert_eq!(copy(&*from, &**storage).await, CopyOutcome::Copied);
    from
}

/// Takes the session further: a turn, an undo that marks an entry, a purge that empties one, a run.
async fn go_on(from: &Arc<dyn PageStorage>) {
    let system = reopen(from.clone()).await;
    let bot = agent(&system, "bot");
    bot.add_turn(vec![user("what now?")]).await.expect("a turn");
    bot.pin_page("usr-3").await.expect("it is in view");
    apply(&system, Edit::Undo { revision: Some(contexture_core::Revision(4)) }).await;
    apply(&system, Edit::PurgePage(valid("usr-1"))).await;
    let run = from.runs(&session_id(), "run").await.expect("reads").remove(0);
    let put = run.next("done", Timestamp::from_millis(BEGIN + 1));
    from.keep_run(&session_id(), &put).await.expect("it is the next");
}

async fn assert_sound(storage: &dyn PageStorage) {
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
    let problems = check_session(storage, &session_id()).await.expect("it can be checked");
    assert_eq!(problems, [""; 0]);
}

pub(super) async fn an_earlier_state_is_brought_forward(storage: Arc<dyn PageStorage>) {
    let (id, from) = (session_id(), twins(&storage).await);
    let earlier = from.session(&id).await.expect("reads").expect("it is there").revision;
    go_on(&from).await;
    assert_eq!(copy(&*from, &*storage).await, CopyOutcome::BroughtForward(earlier));
    assert_eq!(dump(&*storage, &id).await, dump(&*from, &id).await);
    assert_eq!(storage.sessions(None, 9).await.expect("lists").len(), 1);
    assert_eq!(copy(&*from, &*storage).await, CopyOutcome::AlreadyThere);
    assert_sound(&*storage).await;
    // It lives on there, and is copied back to where it came from.
    let system = reopen(storage.clone()).await;
    leaf(&system, "usr-0", "more").await;
    assert!(matches!(copy(&*storage, &*from).await, CopyOutcome::BroughtForward(_)));
    assert_eq!(dump(&*storage, &id).await, dump(&*from, &id).await);
    assert!(storage.remove_session(&id).await.expect("it can be removed"));
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}

pub(super) async fn a_session_that_went_its_own_way_is_left_alone(storage: Arc<dyn PageStorage>) {
    let (id, from) = (session_id(), twins(&storage).await);
    leaf(&reopen(storage.clone()).await, "usr-0", "theirs").await;
    let before = dump(&*storage, &id).await;
    // Ahead of the source first, then behind it with another edit of the same number.
    for goes_on in [true, false] {
        let refused = copy_session(&*from, &*storage, &id, &mut |_| {}).await;
        assert!(matches!(refused, Err(Error::OtherSession { .. })), "{refused:?}");
        assert_eq!(dump(&*storage, &id).await, before);
        if goes_on {
            go_on(&from).await;
        }
    }
    assert_sound(&*storage).await;
}

pub(super) async fn an_earlier_state_stands_until_the_last_part(storage: Arc<dyn PageStorage>) {
    let (id, from) = (session_id(), twins(&storage).await);
    let earlier = dump(&*storage, &id).await;
    let watched = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    copy(&*from, &*watched).await;
    let first = watched.imported().len();
    go_on(&from).await;
    copy(&*from, &*watched).await;
    let parts = watched.imported().split_off(first);
    assert!(matches!(parts[0], ImportPart::BeginOver(_)), "{:?}", parts[0]);
    let (last, most) = parts.split_last().expect("there are parts");
    // Begun twice: the first attempt leaves nothing.
    for part in most.iter().chain(most) {
        storage.import(&id, part.clone()).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(dump(&*storage, &id).await, earlier);
    }
    assert_eq!(storage.sessions(None, 9).await.expect("lists").len(), 1);
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
    storage.import(&id, last.clone()).await.expect("it takes its place");
    assert_eq!(dump(&*storage, &id).await, dump(&*from, &id).await);
    assert_sound(&*storage).await;
    // What was begun over another state is refused from its first part on.
    let refused = storage.import(&id, parts[0].clone()).await;
    assert!(matches!(refused, Err(StorageError::Conflict { .. })), "{refused:?}");
}

pub(super) async fn an_edit_meanwhile_wins_over_a_later_state(storage: Arc<dyn PageStorage>) {
    let (id, from) = (session_id(), twins(&storage).await);
    let over = storage.session(&id).await.expect("reads").expect("it is there");
    storage.import(&id, ImportPart::BeginOver(over)).await.expect("it begins");
    let segments = from.segments(&id).await.expect("reads");
    storage.import(&id, ImportPart::Segments(segments)).await.expect("it is taken in");
    leaf(&reopen(storage.clone()).await, "usr-0", "theirs").await;
    let before = dump(&*storage, &id).await;
    let later = from.session(&id).await.expect("reads").expect("it is there");
    let refused = storage.import(&id, ImportPart::Finish(later)).await;
    assert!(matches!(refused, Err(StorageError::Conflict { .. })), "{refused:?}");
    assert_eq!(dump(&*storage, &id).await, before);
    // What was begun goes with the session.
    assert!(storage.remove_session(&id).await.expect("it can be removed"));
    assert_eq!(storage.verify().await.expect("it can be verified"), [""; 0]);
}
