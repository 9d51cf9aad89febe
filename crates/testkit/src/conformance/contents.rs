//! Contents: stored once by hash, freed with their last reference.

use std::sync::Arc;

use contexture_core::{
    ContextSystem, Edit, ErrorKind, PageIndex, PageStorage, PageUpdate, SessionId,
    storage::ContentHash,
};

use super::{dump, stored};
use crate::fixture::{
    TickingClock, apply, directory, new_directory, new_leaf, page, session, session_id, user, valid,
};

/// Adds a turn of one message with a fixed time, so that equal texts are equal contents.
async fn say(system: &ContextSystem, text: &str) -> PageIndex {
    let mut message = user(text);
    message.at = Some(contexture_core::Timestamp::from_millis(0));
    let segment = crate::fixture::segment("usr");
    apply(system, Edit::AddTurn { segment, messages: vec![message] }).await.pages.remove(0)
}

async fn content_of(storage: &dyn PageStorage, index: &PageIndex) -> ContentHash {
    let page = stored(storage, &session_id(), &index.to_string()).await;
    page.detail().expect("it is a leaf").content
}

async fn is_stored(storage: &dyn PageStorage, hash: ContentHash) -> bool {
    is_stored_for(storage, &session_id(), hash).await
}

async fn is_stored_for(storage: &dyn PageStorage, session: &SessionId, hash: ContentHash) -> bool {
    let read = storage.contents(session, &[hash]).await.expect("it can be asked for").remove(0);
    if let Some(content) = &read {
        assert_eq!(content.hash(), hash);
        assert_eq!(ContentHash::of(content.bytes()), hash);
    }
    read.is_some()
}

async fn assert_sound(storage: &dyn PageStorage) {
    let problems = storage.verify().await.expect("it can be verified");
    assert!(problems.is_empty(), "{problems:?}");
}

pub(super) async fn equal_contents_are_stored_once(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let (one, two) = (say(&system, "the same").await, say(&system, "the same").await);
    let big = "all work and no play ".repeat(5_000);
    let three = say(&system, &big).await;
    let hash = content_of(&*storage, &one).await;
    assert_eq!(hash, content_of(&*storage, &two).await);
    let large = content_of(&*storage, &three).await;
    let read = storage
        .contents(&session_id(), &[large, ContentHash::of(b"nothing"), hash])
        .await
        .expect("reads");
    let texts: Vec<Option<String>> = read
        .iter()
        .map(|content| {
            let messages = content.as_ref()?.messages().expect("it can be read");
            Some(messages[0].plain_text())
        })
        .collect();
    assert_eq!(texts, [Some(big), None, Some("the same".to_owned())]);
    assert_sound(&*storage).await;
    // One of two goes: the other keeps it. Both go: it is gone.
    apply(&system, Edit::PurgePage(one)).await;
    assert!(is_stored(&*storage, hash).await);
    assert_sound(&*storage).await;
    apply(&system, Edit::PurgePage(two)).await;
    assert!(!is_stored(&*storage, hash).await);
    assert_sound(&*storage).await;
}

pub(super) async fn purge_scrubs_history_and_frees_contents(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let dir = directory(&system, "usr-0", "secret dir").await;
    let index = say(&system, "secret first").await;
    let first = content_of(&*storage, &index).await;
    let mut update = PageUpdate::of(index.clone());
    update.name = Some(valid("secret name"));
    update.detail = Some("secret second".to_owned());
    let updated = apply(&system, Edit::UpdatePage(update)).await;
    let second = content_of(&*storage, &index).await;
    let undone = apply(&system, Edit::Undo { revision: Some(updated.revision) }).await;
    apply(&system, Edit::Undo { revision: Some(undone.revision) }).await;
    let unmade = say(&system, "secret third").await;
    let newest = system.info().await.expect("it can be read").revision;
    let gone = apply(&system, Edit::Undo { revision: Some(newest) }).await;
    apply(&system, Edit::Undo { revision: Some(gone.revision) }).await;
    for page in [&index, &unmade] {
        apply(&system, Edit::MovePage { page: page.clone(), to: dir.clone() }).await;
    }
    let moved = apply(&system, Edit::MovePage { page: dir, to: page("sys-0") }).await;
    assert_eq!(moved.moved.len(), 3);
    assert!(is_stored(&*storage, first).await && is_stored(&*storage, second).await);
    assert_sound(&*storage).await;
    let purged = apply(&system, Edit::PurgePage(moved.pages[0].clone())).await;
    assert_eq!(purged.pages.len(), 6, "copies and originals");
    assert!(!is_stored(&*storage, first).await && !is_stored(&*storage, second).await);
    let left = format!("{:?}", dump(&*storage, &session_id()).await);
    assert!(!left.contains("secret"), "{left}");
    assert_sound(&*storage).await;
}

/// Makes a page under a directory and takes it back: only history knows of it then.
async fn unmade(
    system: &ContextSystem,
    parent: &PageIndex,
    name: &str,
) -> (PageIndex, ContentHash) {
    let made = apply(system, new_leaf(&parent.to_string(), name)).await;
    let content = content_of(&*system.storage(), &made.pages[0]).await;
    apply(system, Edit::Undo { revision: Some(made.revision) }).await;
    (made.pages[0].clone(), content)
}

pub(super) async fn purge_reaches_undone_creations(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let top = directory(&system, "usr-0", "top").await;
    let inner = apply(&system, new_directory(&top.to_string(), "secret inner", &[])).await;
    let (below, words) = unmade(&system, &inner.pages[0], "secret below").await;
    apply(&system, Edit::Undo { revision: Some(inner.revision) }).await;
    let (beside, _) = unmade(&system, &top, "secret beside").await;
    let (alone, _) = unmade(&system, &page("usr-0"), "secret alone").await;
    let redo = system.info().await.expect("it can be read").revision;
    let (kept, kept_words) = unmade(&system, &page("usr-0"), "kept").await;
    let stored = format!("{:?}", dump(&*storage, &session_id()).await);
    assert!(stored.contains("secret alone") && stored.contains("secret below"), "{stored}");
    // By its number, though it is nowhere but in history.
    let purged = apply(&system, Edit::PurgePage(alone.clone())).await;
    assert_eq!(purged.pages, std::slice::from_ref(&alone));
    let again = system.as_system().apply(Edit::PurgePage(alone)).await.expect_err("it is gone");
    assert_eq!(again.kind(), ErrorKind::NotFound);
    let undo = Edit::Undo { revision: Some(redo) };
    let redone = system.as_system().apply(undo).await.expect_err("it was purged");
    assert_eq!(redone.kind(), ErrorKind::Conflict, "{redone}");
    assert_sound(&*storage).await;
    // Along with the page it stood under, however deep.
    apply(&system, Edit::RemovePage(top.clone())).await;
    let purged = apply(&system, Edit::PurgePage(top.clone())).await;
    let mut along = vec![top, inner.pages[0].clone(), below, beside];
    along.sort();
    assert_eq!(purged.pages, along);
    let left = format!("{:?}", dump(&*storage, &session_id()).await);
    assert!(!left.contains("secret") && left.contains("kept"), "{left}");
    assert!(!is_stored(&*storage, words).await);
    assert!(is_stored(&*storage, kept_words).await, "a redo can still bring it back");
    apply(&system, Edit::PurgePage(kept)).await;
    assert!(!is_stored(&*storage, kept_words).await);
    assert_sound(&*storage).await;
}

pub(super) async fn purge_reaches_undone_moves(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let dir = directory(&system, "usr-0", "secret dir").await;
    let inner = apply(&system, new_leaf(&dir.to_string(), "secret leaf")).await.pages[0].clone();
    let words = content_of(&*storage, &inner).await;
    let moved = apply(&system, Edit::MovePage { page: dir.clone(), to: page("sys-0") }).await;
    apply(&system, Edit::Undo { revision: Some(moved.revision) }).await;
    let purged = apply(&system, Edit::PurgePage(dir.clone())).await;
    let copies = moved.moved.iter().map(|(_, copy)| copy.clone());
    let mut along: Vec<PageIndex> = copies.chain([dir, inner]).collect();
    along.sort();
    assert_eq!(purged.pages, along, "what it was moved to lives on in history only");
    let left = format!("{:?}", dump(&*storage, &session_id()).await);
    assert!(!left.contains("secret"), "{left}");
    assert!(!is_stored(&*storage, words).await);
    assert_sound(&*storage).await;
}

pub(super) async fn contents_go_with_their_last_session(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let hash = content_of(&*storage, &say(&system, "shared").await).await;
    let other: SessionId = valid("other");
    let clock = TickingClock::new();
    let second = ContextSystem::create(storage.clone(), other.clone(), "testkit", clock).await;
    let second = second.expect("a new session");
    let new = contexture_core::NewSegment::new(
        crate::fixture::segment("usr"),
        contexture_core::SegmentKind::User,
    );
    apply(&second, Edit::AddSegment(new)).await;
    say(&second, "shared").await;
    assert_sound(&*storage).await;
    assert!(storage.remove_session(&session_id()).await.expect("it can be removed"));
    // Whether the session that is gone still finds it is the storage's own business.
    assert!(is_stored_for(&*storage, &other, hash).await, "another session refers to it");
    assert_sound(&*storage).await;
    assert!(storage.remove_session(&other).await.expect("it can be removed"));
    for session in [&session_id(), &other] {
        assert!(!is_stored_for(&*storage, session, hash).await, "nobody refers to it");
    }
    assert_sound(&*storage).await;
}
