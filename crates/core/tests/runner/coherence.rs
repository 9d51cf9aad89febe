//! Coherence: two context systems on one shared store, each as if it were a process of its own.

use std::sync::Arc;

use contexture_core::{ContextSystem, Edit, MemoryStorage, PageUpdate};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{apply, new_leaf, page, reopen, session},
};
use futures::{executor::block_on, future::BoxFuture, poll};

async fn renames(system: &ContextSystem, name: &str) {
    let mut update = PageUpdate::of(page("usr-1"));
    update.name = Some(name.parse().unwrap());
    apply(system, Edit::UpdatePage(update)).await;
}

async fn name(system: &ContextSystem) -> String {
    system.as_system().reader().page(&page("usr-1")).await.unwrap().page.name.to_string()
}

/// Makes a store with a page `usr-1` that is resident in the first of two systems on it.
async fn two_systems() -> (Arc<WatchedStorage>, ContextSystem, ContextSystem) {
    let storage = WatchedStorage::shared(Arc::new(MemoryStorage::new()));
    let first = session(storage.clone()).await;
    apply(&first, new_leaf("usr-0", "plan")).await;
    assert_eq!(name(&first).await, "plan");
    let second = reopen(storage.clone()).await;
    (storage, first, second)
}

/// Begins an edit whose commit is made at once and answered only when the sender fires.
async fn held_edit<'a>(
    storage: &WatchedStorage,
    system: &'a ContextSystem,
) -> (futures::channel::oneshot::Sender<()>, BoxFuture<'a, ()>) {
    let held = storage.hold_next_commit();
    let mut edit: BoxFuture<'a, ()> = Box::pin(async move {
        apply(system, new_leaf("usr-0", "more")).await;
    });
    assert!(poll!(edit.as_mut()).is_pending());
    (held, edit)
}

// A commit of the first system is in the air at every moment, so it never finds itself idle.
#[test]
fn overlapping_commits_do_not_hide_what_another_process_wrote() {
    block_on(async {
        let (storage, first, second) = two_systems().await;
        let (mut held, mut in_the_air) = held_edit(&storage, &first).await;
        renames(&second, "changed elsewhere").await;
        for _ in 0..3 {
            let next = held_edit(&storage, &first).await;
            held.send(()).unwrap();
            in_the_air.await;
            (held, in_the_air) = next;
        }
        assert_eq!(name(&first).await, "changed elsewhere");
        held.send(()).unwrap();
        in_the_air.await;
    });
}

// One commit that is never answered does not keep the system stale, nor does its memory grow.
#[test]
fn a_commit_that_hangs_does_not_hide_what_another_process_wrote() {
    block_on(async {
        let (storage, first, second) = two_systems().await;
        let (held, in_the_air) = held_edit(&storage, &first).await;
        renames(&second, "changed elsewhere").await;
        for _ in 0..300 {
            apply(&first, new_leaf("usr-0", "more")).await;
        }
        assert_eq!(name(&first).await, "changed elsewhere");
        // What comes back at last is older than what is known, and replaces nothing.
        renames(&second, "changed again").await;
        apply(&first, new_leaf("usr-0", "more")).await;
        held.send(()).unwrap();
        in_the_air.await;
        assert_eq!(name(&first).await, "changed again");
    });
}
