//! Which edit last changed a view, and the pages of a segment.

use std::{collections::BTreeMap, sync::Arc};

use contexture_core::{Edit, PageStorage, PageUpdate, SegmentUpdate, storage::PageStanding};

use crate::fixture::{agent, apply, leaf, page, segment, session, session_id, valid};

async fn views(storage: &dyn PageStorage) -> BTreeMap<String, u64> {
    let heads = storage.views(&session_id()).await.expect("reads");
    heads.into_iter().map(|head| (head.view.to_string(), head.touched.0)).collect()
}

async fn segments(storage: &dyn PageStorage) -> BTreeMap<String, u64> {
    let segments = storage.segments(&session_id()).await.expect("reads");
    segments.into_iter().map(|segment| (segment.id.to_string(), segment.touched.0)).collect()
}

fn map<const N: usize>(entries: [(&str, u64); N]) -> BTreeMap<String, u64> {
    entries.map(|(name, revision)| (name.to_owned(), revision)).into()
}

pub(super) async fn a_view_knows_the_edit_that_changed_it(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await; // 1, 2
    let note = leaf(&system, "usr-0", "note").await; // 3
    assert_eq!(views(&*storage).await, map([]), "pages are nobody's view");
    let bot = agent(&system, "bot");
    bot.expand_details(&note).await.expect("it may"); // 4
    assert_eq!(views(&*storage).await, map([("bot", 4)]));
    apply(&system, Edit::HideDetails(note.clone())).await; // 5
    agent(&system, "eve").focus_page(&note).await.expect("it may"); // 6
    assert_eq!(views(&*storage).await, map([("bot", 4), ("eve", 6), ("system", 5)]));
    bot.update_page(&note, "another name", "").await.expect("it may"); // 7
    bot.focus_page(&note).await.expect("it may"); // 8
    assert_eq!(views(&*storage).await, map([("bot", 8), ("eve", 6), ("system", 5)]));
    // An undo changes the view it takes something back in.
    let undo = |revision| Edit::Undo { revision: Some(contexture_core::Revision(revision)) };
    apply(&system, undo(6)).await; // 9
    assert_eq!(views(&*storage).await, map([("bot", 8), ("eve", 9), ("system", 5)]));
    // A page that moves to another segment takes along what every view says of it.
    apply(&system, Edit::MovePage { page: note, to: page("sys-0") }).await; // 10
    assert_eq!(views(&*storage).await, map([("bot", 10), ("eve", 9), ("system", 10)]));
}

pub(super) async fn custom_state_is_the_system_sides(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await; // 1, 2
    let set = |value: Option<&str>| Edit::SetCustom {
        key: valid("goal"),
        value: value.map(str::to_owned),
    };
    apply(&system, set(Some("win"))).await; // 3
    assert_eq!(views(&*storage).await, map([("system", 3)]));
    apply(&system, set(None)).await; // 4
    assert_eq!(views(&*storage).await, map([("system", 4)]));
    assert_eq!(storage.views(&session_id()).await.expect("reads")[0].focus, None);
}

pub(super) async fn a_segment_knows_the_edit_that_changed_its_pages(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await; // 1, 2
    assert_eq!(segments(&*storage).await, map([("sys", 1), ("usr", 2)]));
    let note = leaf(&system, "usr-0", "note").await; // 3
    assert_eq!(segments(&*storage).await, map([("sys", 1), ("usr", 3)]));
    // What is said of a page, or of the segment itself, is not a change of its pages.
    apply(&system, Edit::PinPage(note.clone())).await; // 4
    let mut update = SegmentUpdate::of(segment("usr"));
    update.name = Some(valid("renamed"));
    apply(&system, Edit::UpdateSegment(update)).await; // 5
    assert_eq!(segments(&*storage).await, map([("sys", 1), ("usr", 3)]));
    let mut update = PageUpdate::of(note.clone());
    update.name = Some(valid("renamed"));
    apply(&system, Edit::UpdatePage(update)).await; // 6
    assert_eq!(segments(&*storage).await, map([("sys", 1), ("usr", 6)]));
    let undo = |revision| Edit::Undo { revision: Some(contexture_core::Revision(revision)) };
    // The segment gets its name back and keeps what it knows of its pages.
    apply(&system, undo(5)).await; // 7
    assert_eq!(segments(&*storage).await, map([("sys", 1), ("usr", 6)]));
    let moved = apply(&system, Edit::MovePage { page: note, to: page("sys-0") }).await; // 8
    assert_eq!(segments(&*storage).await, map([("sys", 8), ("usr", 8)]));
    apply(&system, Edit::PurgePage(moved.pages[0].clone())).await; // 9, with its original
    assert_eq!(segments(&*storage).await, map([("sys", 9), ("usr", 9)]));
    let remove = Edit::RemoveSegment { segment: segment("usr"), cascade: true, force: false };
    apply(&system, remove).await; // 10
    assert_eq!(segments(&*storage).await, map([("sys", 9), ("usr", 10)]));
    let root = storage.pages(&session_id(), &[page("usr-0")]).await.expect("reads").remove(0);
    assert_eq!(root.map(|root| root.standing), Some(PageStanding::ColdArchived));
}
