//! Many threads on one session.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use contexture_core::{
    ContextSystem, Edit, ListQuery, MemoryStorage, NewSegment, PageUpdate, Permission, SegmentKind,
    Visibility,
};
use contexture_testkit::{
    concurrency,
    fake::WatchedStorage,
    fixture::{agent, apply, leaf, memory, page, segment, session, valid},
};
use futures::executor::block_on;

/// Polls a future once: as far as it goes by itself.
fn begin<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

// A-41, B-55: 64 threads on one session, mixed edits: no lost update, numbers dense and
// unique,
// the check clean.
#[test]
fn sixty_four_threads_lose_nothing() {
    let system = block_on(memory());
    concurrency::run(|_| system.clone(), 64, 8);
}

// Segments added side by side are all there, also for those who look through this context
// system.
#[test]
fn segments_added_at_once_are_all_seen() {
    for _ in 0..20 {
        let system = block_on(memory());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let system = &system;
                scope.spawn(move || {
                    let id = segment(&format!("s{number}"));
                    let new = NewSegment::new(id, SegmentKind::Custom);
                    block_on(apply(system, Edit::AddSegment(new)));
                });
            }
        });
        assert_eq!(system.as_system().reader().segments().len(), 10);
        block_on(leaf(&system, "s0-0", "x"));
        block_on(leaf(&system, "s7-0", "x"));
    }
}

/// A session on a storage whose commits can be held back.
async fn watched() -> (Arc<WatchedStorage>, ContextSystem) {
    let storage = WatchedStorage::new(Arc::new(MemoryStorage::new()));
    let system = session(storage.clone()).await;
    leaf(&system, "usr-0", "note").await;
    (storage, system)
}

fn rename(name: &str) -> Edit {
    Edit::UpdatePage(PageUpdate { name: Some(valid(name)), ..PageUpdate::of(page("usr-1")) })
}

// An answer that comes late does not put back what a later edit took away.
#[test]
fn a_late_answer_does_not_bring_back_the_past() {
    let (storage, system) = block_on(watched());
    let release = storage.hold_next_commit();
    let session = system.as_system();
    let mut made = pin!(session.apply(Edit::CreateDetailPage(
        contexture_core::NewDetailPage::new(page("usr-0"), valid("late"), "text"),
    )));
    assert!(begin(made.as_mut()).is_pending());
    // It is committed, though not answered: others see it in the storage, and undo it.
    let newest =
        block_on(system.as_system().reader().history(None, 1)).unwrap().items.remove(0).revision;
    block_on(apply(&system, Edit::Undo { revision: Some(newest) }));
    release.send(()).unwrap();
    let outcome = block_on(made).unwrap();
    assert_eq!(outcome.pages, [page("usr-2")]);
    let gone = block_on(system.as_system().reader().page(&page("usr-2")));
    assert_eq!(gone.unwrap_err().to_string(), "page usr-2 not found");
}

// An edit whose basis moved decides again on fresh state.
#[test]
fn a_lost_race_is_decided_again() {
    let (storage, system) = block_on(watched());
    // Another context system on the same storage: what it commits is not known to this one.
    let other = block_on(contexture_testkit::fixture::reopen(storage.clone()));
    block_on(system.as_system().reader().page(&page("usr-1"))).unwrap();
    block_on(apply(&other, rename("by the other")));
    storage.reset();
    let update = PageUpdate { description: Some(valid("mine")), ..PageUpdate::of(page("usr-1")) };
    block_on(apply(&system, Edit::UpdatePage(update)));
    assert_eq!(storage.count("commit"), 2, "the first attempt must have lost");
    let page = block_on(system.as_system().reader().page(&page("usr-1"))).unwrap().page;
    assert_eq!((page.name.as_str(), page.description.as_str()), ("by the other", "mine"));
}

// B-28, B-37: a failed commit leaves memory, storage and counters as they were.
#[test]
fn a_failed_commit_changes_nothing() {
    let (storage, system) = block_on(watched());
    let before = block_on(contexture_testkit::state::state(&system));
    storage.fail_commits(true);
    for edit in [
        rename("x"),
        contexture_testkit::fixture::new_leaf("usr-0", "x"),
        Edit::HideDetails(page("usr-1")),
        Edit::RemovePage(page("usr-1")),
        Edit::MovePage { page: page("usr-1"), to: page("usr-0") },
        Edit::SetPermission { segment: segment("usr"), permission: Permission::ReadOnly },
    ] {
        let failed = block_on(system.as_system().apply(edit)).unwrap_err();
        assert_eq!(failed.kind(), contexture_core::ErrorKind::Unavailable);
    }
    storage.fail_commits(false);
    assert_eq!(block_on(contexture_testkit::state::state(&system)), before);
    let seen = block_on(agent(&system, "helper").get_page("usr-1")).unwrap();
    assert_eq!(seen.page.name.as_str(), "note");
    // Nor in memory.
    assert_eq!(seen.visibility, Visibility::Expanded);
    let usr = system.get_segment(&segment("usr")).unwrap();
    assert_eq!(usr.permission, Permission::ReadWrite);
    let children = block_on(system.get_children(&page("usr-0"))).unwrap();
    assert_eq!(children.iter().map(|it| &it.page.index).collect::<Vec<_>>(), [&page("usr-1")]);
    assert_eq!(block_on(leaf(&system, "usr-0", "next")), page("usr-2"));
}

// An edit whose future is dropped before its answer came was made all the same: readers of this
// context system see it, be it renaming, adding or changing a segment.
#[test]
fn an_edit_nobody_waits_for_is_seen() {
    let (storage, system) = block_on(watched());
    let name = || {
        block_on(system.as_system().reader().page(&page("usr-1"))).unwrap().page.name.to_string()
    };
    assert_eq!(name(), "note");
    let drop_midway = |edit: Edit| {
        let _never = storage.hold_next_commit();
        let session = system.as_system();
        let mut lost = pin!(session.apply(edit));
        assert!(begin(lost.as_mut()).is_pending());
    };
    drop_midway(rename("lost"));
    assert_eq!(name(), "lost");
    drop_midway(rename("again"));
    let seen = block_on(
        agent(&system, "helper").list_pages(&ListQuery { limit: 10, ..ListQuery::default() }),
    );
    assert!(seen.unwrap().items.iter().any(|seen| seen.page.name.as_str() == "again"));
    drop_midway(contexture_testkit::fixture::new_leaf("usr-0", "new"));
    let window = contexture_testkit::window::options(contexture_core::Format::Markdown);
    assert!(block_on(system.as_system().reader().window(&window)).unwrap().body.contains("new"));
    // Once an edit has been answered, nothing is asked beforehand any more.
    block_on(leaf(&system, "usr-0", "heard"));
    storage.reset();
    assert_eq!(name(), "again");
    assert_eq!(storage.count("session") + storage.count("pages"), 0);
    let checked = contexture_core::storage::check::check_session(&*storage, system.session());
    assert_eq!(block_on(checked).unwrap().len(), 0);
}

// An edit that was made though the storage answered with an error is seen by later readers.
#[test]
fn an_edit_that_failed_to_be_told_is_seen() {
    let (storage, system) = block_on(watched());
    block_on(system.as_system().reader().page(&page("usr-1"))).unwrap();
    storage.die_at_write(1, contexture_testkit::fake::Death::After);
    block_on(system.as_system().apply(rename("made"))).unwrap_err();
    let seen = block_on(system.as_system().reader().page(&page("usr-1"))).unwrap();
    assert_eq!(seen.page.name.as_str(), "made");
}

// B-33: a page created under a directory that is being removed does not become an orphan.
#[test]
fn creating_under_what_is_removed_is_refused_or_first() {
    for _ in 0..50 {
        let system = block_on(memory());
        block_on(contexture_testkit::fixture::directory(&system, "usr-0", "dir"));
        let created = std::thread::scope(|scope| {
            let creating = scope.spawn(|| {
                let new = contexture_testkit::fixture::new_leaf("usr-1", "child");
                block_on(system.as_system().apply(new)).is_ok()
            });
            scope.spawn(|| {
                let to = page("sys-0");
                block_on(apply(&system, Edit::MovePage { page: page("usr-1"), to }));
            });
            creating.join().unwrap()
        });
        let moved = block_on(system.as_system().reader().child_count(&page("sys-1"))).unwrap();
        assert_eq!(moved, u64::from(created), "the child goes along or is refused");
    }
}
