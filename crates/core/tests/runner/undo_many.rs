//! Undo of edits on many pages: what it needs is asked for together, not page by page.

use std::sync::Arc;

use contexture_core::{Edit, MemoryStorage, PageIndex, Permission, SegmentKind};
use contexture_testkit::{
    fake::WatchedStorage,
    fixture::{
        add_segment, apply, directory, new_directory, new_leaf, page, reopen, segment, session,
        user,
    },
    state::state,
};
use futures::executor::block_on;

const PAGES: usize = 300;

/// How often a storage may be asked for an edit on [`PAGES`] pages.
const QUESTIONS: u64 = 30;

/// Makes an edit, undoes it and undoes that, each by a process that has nothing in memory.
fn there_and_back(prepare: impl AsyncFn(&contexture_core::ContextSystem) -> Edit) {
    block_on(async {
        let storage = Arc::new(MemoryStorage::new());
        let system = session(storage.clone()).await;
        add_segment(&system, "oth", SegmentKind::Custom, Permission::ReadWrite).await;
        let edit = prepare(&system).await;
        let before = state(&system).await;
        let mut revision = apply(&system, edit).await.revision;
        let after = state(&system).await;
        for expected in [&before, &after, &before] {
            let watched = WatchedStorage::new(storage.clone());
            let system = reopen(watched.clone()).await;
            watched.reset();
            revision = apply(&system, Edit::Undo { revision: Some(revision) }).await.revision;
            let reads = ["pages", "children", "last_place", "next_turn_page", "levels", "history"];
            let asked: u64 = reads.iter().map(|method| watched.calls(method)).sum();
            assert!(asked <= QUESTIONS, "{asked} questions for {PAGES} pages");
            let found = state(&system).await.differences(expected);
            assert!(found.is_empty(), "{}", found.join("\n"));
        }
    });
}

fn leaves(parent: &PageIndex) -> Edit {
    let leaf = |at: usize| new_leaf(&parent.to_string(), &format!("leaf {at}"));
    Edit::Batch((0..PAGES).map(leaf).collect())
}

// A subtree moved to another segment.
#[test]
fn a_moved_subtree_is_asked_for_together() {
    there_and_back(async |system| {
        let top = directory(system, "usr-0", "top").await;
        apply(system, leaves(&top)).await;
        Edit::MovePage { page: top, to: page("oth-0") }
    });
}

// Pages adopted by a new directory.
#[test]
fn adopted_pages_are_asked_for_together() {
    there_and_back(async |system| {
        let made = apply(system, leaves(&page("usr-0"))).await.pages;
        let names: Vec<String> = made.iter().map(PageIndex::to_string).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        new_directory("usr-0", "adopted", &names)
    });
}

// Many turns in one edit, and what views said of them.
#[test]
fn turns_are_asked_for_together() {
    there_and_back(async |_| {
        let turn = |at: usize| Edit::AddTurn {
            segment: segment("usr"),
            messages: vec![user(&format!("request {at}"))],
        };
        Edit::Batch((0..PAGES).map(turn).collect())
    });
}

// Levels of many pages, which lie in several chunks.
#[test]
fn levels_are_asked_for_together() {
    there_and_back(async |system| {
        let made = apply(system, leaves(&page("usr-0"))).await.pages;
        Edit::Batch(made.into_iter().map(Edit::PinPage).collect())
    });
}
