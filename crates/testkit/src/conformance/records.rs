//! Levels, focus, custom state and history.

use std::sync::Arc;

use contexture_core::{
    Actor, Edit, PageStorage, Revision, Visibility,
    storage::{ChunkKey, HistoryQuery, LevelChunk, LevelEntry, ViewHead, ViewId},
};

use super::{change, commit, dump};
use crate::fixture::{agent, apply, leaf, page, segment, session, session_id, valid};

pub(super) async fn levels_focus_and_views(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let first = leaf(&system, "usr-0", "note").await;
    let floor =
        contexture_core::storage::Change { floors: vec![(segment("usr"), 5_000)], ..change() };
    commit(&*storage, &session_id(), floor).await.expect("it holds");
    let far = leaf(&system, "usr-0", "far").await;
    let helper = agent(&system, "helper");
    assert_eq!(storage.views(&session_id()).await.expect("reads"), []);
    helper.expand_details(&first).await.expect("it may");
    let pinned = helper.pin_page(&far).await.expect("it may");
    let focused = agent(&system, "focused").focus_page(&far).await.expect("it may");
    apply(&system, Edit::HideDetails(first.clone())).await;
    let heads = storage.views(&session_id()).await.expect("reads");
    let focus = |head: &ViewHead| (head.view.to_string(), head.focus.clone());
    let mut views: Vec<_> = heads.iter().map(focus).collect();
    views.sort();
    let names = ["focused", "helper", "system"].map(str::to_owned);
    let expected: Vec<_> = names.into_iter().zip([Some(far.clone()), None, None]).collect();
    assert_eq!(views, expected);
    assert!(heads.is_sorted_by_key(|head| head.view.clone()), "views come by name: {heads:?}");
    let (view, nobody): (ViewId, ViewId) = (valid("helper"), valid("nobody"));
    let keys = [
        ChunkKey::of(&view, &far),
        ChunkKey::of(&nobody, &far),
        ChunkKey::of(&ViewId::SYSTEM, &first),
        ChunkKey::of(&view, &first),
    ];
    let read = storage.levels(&session_id(), &keys).await.expect("reads");
    let entry = |shown, pinned| {
        let held = (shown == Some(Visibility::Expanded)).then_some(0);
        LevelEntry { shown, pinned, held, ..LevelEntry::default() }
    };
    assert_eq!(read[0].entry(far.number()), entry(None, Some(true)));
    assert_eq!(read[1], LevelChunk::default());
    assert_eq!(read[2].entry(first.number()), entry(Some(Visibility::Hidden), None));
    assert_eq!(read[3].entry(first.number()), entry(Some(Visibility::Expanded), None));
    // A view that says nothing any more stays listed.
    for revision in [focused.revision, pinned.revision] {
        apply(&system, Edit::Undo { revision: Some(revision) }).await;
    }
    let views = storage.views(&session_id()).await.expect("reads");
    assert_eq!(
        (views.len(), views.iter().all(|head| head.focus.is_none())),
        (3, true),
        "{views:?}"
    );
    let read = storage.levels(&session_id(), &keys).await.expect("reads");
    assert_eq!(read[0], LevelChunk::default());
}

pub(super) async fn custom_state(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let set = |key: &str, value: Option<&str>| Edit::SetCustom {
        key: valid(key),
        value: value.map(str::to_owned),
    };
    for (key, value) in [("b", "1"), ("a", "2"), ("阶段", "三"), ("b", "")] {
        apply(&system, set(key, Some(value))).await;
    }
    apply(&system, set("a", None)).await;
    let custom = storage.custom(&session_id()).await.expect("reads");
    let custom: Vec<_> = custom.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(custom, [("b", ""), ("阶段", "三")]);
}

async fn revisions(storage: &dyn PageStorage, query: HistoryQuery) -> Vec<u64> {
    let entries = storage.history(&session_id(), &query).await.expect("reads");
    entries.iter().map(|entry| entry.revision.0).collect()
}

pub(super) async fn history_is_asked_in_many_ways(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await; // 1, 2
    leaf(&system, "usr-0", "note").await; // 3
    let helper = agent(&system, "helper");
    helper.update_page("usr-1", "a", "").await.expect("it may"); // 4
    helper.expand_details("usr-1").await.expect("it may"); // 5
    apply(&system, Edit::PinPage(page("usr-1"))).await; // 6
    helper.undo(None).await.expect("it may"); // 7 undoes 5
    let storage = &*storage;
    let all = HistoryQuery { limit: 100, ..HistoryQuery::default() };
    let ask = |query| revisions(storage, query);
    assert_eq!(ask(all.clone()).await, [7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(ask(HistoryQuery { limit: 2, ..all.clone() }).await, [7, 6]);
    assert_eq!(ask(HistoryQuery { limit: 0, ..all.clone() }).await, [0; 0]);
    let before = Some(Revision(4));
    assert_eq!(ask(HistoryQuery { before, limit: 2, ..all.clone() }).await, [3, 2]);
    let after = Some(Revision(4));
    assert_eq!(ask(HistoryQuery { after, ..all.clone() }).await, [7, 6, 5]);
    let between = HistoryQuery { after: Some(Revision(2)), before, ..all.clone() };
    assert_eq!(ask(between).await, [3]);
    let actor: Option<Actor> = Some(valid("helper"));
    assert_eq!(ask(HistoryQuery { actor: actor.clone(), ..all.clone() }).await, [7, 5, 4]);
    let own = HistoryQuery { actor, undoable: true, limit: 1, ..all.clone() };
    assert_eq!(ask(own).await, [4]);
    assert_eq!(ask(HistoryQuery { undoable: true, ..all.clone() }).await, [6, 4, 3, 2, 1]);
    let newest = storage.history(&session_id(), &all).await.expect("reads").remove(0);
    assert_eq!((newest.undoes, newest.view.to_string()), (Some(Revision(5)), "helper".to_owned()));
    assert_eq!(newest.pages, [page("usr-1")]);
    assert_eq!(newest.operation, contexture_core::Operation::Undo);
}

pub(super) async fn undo_marks_history(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await; // 1, 2
    leaf(&system, "usr-0", "note").await; // 3
    let undo = |revision| Edit::Undo { revision: Some(Revision(revision)) };
    let marks = || async {
        let all = HistoryQuery { limit: 100, ..HistoryQuery::default() };
        let entries = storage.history(&session_id(), &all).await.expect("reads");
        let mut marks: Vec<_> = entries
            .iter()
            .map(|entry| (entry.undone_by.map(|by| by.0), entry.redone_by.map(|by| by.0)))
            .collect();
        marks.reverse();
        marks.split_off(2)
    };
    assert_eq!(marks().await, [(None, None)]);
    apply(&system, undo(3)).await; // 4
    assert_eq!(marks().await, [(Some(4), None), (None, None)]);
    apply(&system, undo(4)).await; // 5
    assert_eq!(marks().await, [(None, Some(5)), (Some(5), None), (None, None)]);
    apply(&system, undo(3)).await; // 6
    assert_eq!(marks().await[0], (Some(6), None));
    // Reading again what was marked gives the same.
    assert_eq!(dump(&*storage, &session_id()).await, dump(&*storage, &session_id()).await);
}
