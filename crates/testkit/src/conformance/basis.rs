//! What a commit is based on, and what it assigns.

use std::sync::Arc;

use contexture_core::{
    Edit, NewSegment, Page, PageIndex, PageStorage, Revision, SegmentKind, Visibility,
    storage::{
        Change, CustomKey, FocusDelta, Fold, LevelDelta, LevelEntry, NumberClaim, PageDelta,
        PageRunForm, PageStanding, Place, PlaceClaim, StorageError, UndoneMark, Version, ViewId,
    },
};

use super::{
    PROVISIONAL, change, commit, dump,
    folds::{fold, run_over, without},
    renaming, stored,
};
use crate::fixture::{
    add_segment, apply, directory, leaf, page, segment, session, session_id, valid,
};

/// `usr-1` is a directory with `usr-2` and the archived `usr-3`; the system side has levels, a focus
/// and custom state.
async fn prepare(storage: &Arc<dyn PageStorage>) -> contexture_core::ContextSystem {
    let system = session(storage.clone()).await;
    directory(&system, "usr-0", "dir").await;
    leaf(&system, "usr-1", "one").await;
    leaf(&system, "usr-1", "two").await;
    let set = Edit::SetCustom { key: valid("goal"), value: Some("win".to_owned()) };
    for edit in [
        Edit::RemovePage(page("usr-3")),
        Edit::HideDetails(page("usr-2")),
        Edit::FocusPage(page("usr-2")),
        set,
    ] {
        apply(&system, edit).await;
    }
    system
}

pub(super) async fn every_basis_is_checked(storage: Arc<dyn PageStorage>) {
    let system = prepare(&storage).await;
    let id = session_id();
    let two = stored(&*storage, &id, "usr-2").await;
    let last = storage.last_place(&id, &page("usr-1")).await.expect("it can be read");
    let hidden = LevelEntry::shown(Visibility::Hidden);
    let in_line = run_over(&[&two], PageRunForm::Line);
    let apart = without(&in_line, &two.index);
    let fold = fold(&[(page("usr-1"), LevelEntry::default(), in_line.clone())]);
    apply(&system, fold).await;
    let info = storage.session(&id).await.expect("it can be read").expect("it exists");
    let usr = storage.segments(&id).await.expect("they can be read").remove(1);
    let (view, none) = (ViewId::SYSTEM, LevelEntry::default());
    let newest = info.revision;
    // Each with what holds, then what does not.
    let cases: Vec<(&str, Vec<Put>, Vec<Put>)> = vec![
        (
            "pages",
            vec![on_page("usr-2", Some(two.version)), on_page("usr-99", None)],
            vec![
                on_page("usr-2", Some(two.version.next())),
                on_page("usr-2", None),
                on_page("usr-99", Some(Version(1))),
            ],
        ),
        (
            "standing",
            vec![on_standing("usr-2", Some("usr-1")), on_standing("usr-0", None)],
            vec![
                on_standing("usr-2", Some("usr-0")),
                on_standing("usr-2", None),
                on_standing("usr-3", Some("usr-1")),
                on_standing("usr-99", Some("usr-0")),
                on_standing("usr-99", None),
            ],
        ),
        (
            "segments",
            vec![on_segment("usr", Some(usr.version)), on_segment("nil", None)],
            vec![
                on_segment("usr", Some(usr.version.next())),
                on_segment("usr", None),
                on_segment("nil", Some(Version(1))),
            ],
        ),
        (
            "lists",
            vec![on_list("usr-1", last), on_list("usr-2", None)],
            vec![
                on_list("usr-1", last.map(|last| Place(last.0 - 1))),
                on_list("usr-1", None),
                on_list("usr-2", last),
            ],
        ),
        (
            "levels",
            vec![
                on_level(&view, "usr-2", hidden.clone()),
                on_level(&view, "usr-1", in_line.clone()),
                on_level(&view, "usr-3", none.clone()),
            ],
            vec![
                on_level(&view, "usr-2", none.clone()),
                on_level(&view, "usr-2", LevelEntry { pinned: Some(true), ..hidden.clone() }),
                on_level(&view, "usr-2", LevelEntry { fold: Some(Fold::Gist), ..hidden.clone() }),
                on_level(&view, "usr-1", none),
                on_level(&view, "usr-1", LevelEntry { runs: Arc::default(), ..in_line.clone() }),
                on_level(&view, "usr-1", apart),
                on_level(&view, "usr-1", LevelEntry { fold: Some(Fold::Summary), ..in_line }),
                on_level(&view, "usr-3", hidden.clone()),
                on_level(&valid("other"), "usr-2", hidden),
            ],
        ),
        (
            "focus",
            vec![on_focus(&view, Some("usr-2")), on_focus(&valid("other"), None)],
            vec![on_focus(&view, None), on_focus(&valid("other"), Some("usr-2"))],
        ),
        (
            "custom",
            vec![on_custom("goal", Some("win")), on_custom("nil", None)],
            vec![
                on_custom("goal", Some("lose")),
                on_custom("goal", None),
                on_custom("nil", Some("x")),
            ],
        ),
        ("marks", vec![], vec![on_mark(newest, Some(Revision(1)))]),
    ];
    for (what, holding, moved) in cases {
        let before = dump(&*storage, &id).await;
        for (at, put) in moved.iter().enumerate() {
            let mut based = renaming(&stored(&*storage, &id, "usr-1").await, "never");
            based.places.count = 2;
            put(&mut based);
            let refused = commit(&*storage, &id, based).await.expect_err(what);
            assert!(matches!(refused, StorageError::Conflict { .. }), "{what} {at}: {refused}");
            assert_eq!(
                dump(&*storage, &id).await,
                before,
                "{what} {at}: refused but did something"
            );
        }
        for (at, put) in holding.iter().enumerate() {
            let mut based = renaming(&stored(&*storage, &id, "usr-1").await, "based well");
            put(&mut based);
            let committed = commit(&*storage, &id, based).await;
            assert!(committed.is_ok(), "{what} {at}: {committed:?}");
        }
    }
}

type Put = Box<dyn Fn(&mut Change) + Send + Sync>;

fn on_page(index: &str, version: Option<Version>) -> Put {
    let index = page(index);
    Box::new(move |change| change.basis.pages.push((index.clone(), version)))
}

fn on_standing(index: &str, parent: Option<&str>) -> Put {
    let (index, parent) = (page(index), parent.map(page));
    Box::new(move |change| change.basis.standing.push((index.clone(), parent.clone())))
}

fn on_segment(id: &str, version: Option<Version>) -> Put {
    let id = segment(id);
    Box::new(move |change| change.basis.segments.push((id.clone(), version)))
}

fn on_list(parent: &str, last: Option<Place>) -> Put {
    let parent = page(parent);
    Box::new(move |change| change.basis.lists.push((parent.clone(), last)))
}

fn on_level(view: &ViewId, index: &str, entry: LevelEntry) -> Put {
    let (view, index) = (view.clone(), page(index));
    Box::new(move |change| {
        change.basis.levels.push((view.clone(), index.clone(), entry.clone()));
    })
}

fn on_focus(view: &ViewId, focus: Option<&str>) -> Put {
    let (view, focus) = (view.clone(), focus.map(page));
    Box::new(move |change| change.basis.focus.push((view.clone(), focus.clone())))
}

fn on_custom(key: &str, value: Option<&str>) -> Put {
    let (key, value): (CustomKey, _) = (valid(key), value.map(str::to_owned));
    Box::new(move |change| change.basis.custom.push((key.clone(), value.clone())))
}

fn on_mark(revision: Revision, before: Option<Revision>) -> Put {
    Box::new(move |change| change.marks.push(UndoneMark { revision, before, undone: true }))
}

pub(super) async fn a_refused_commit_changes_nothing(storage: Arc<dyn PageStorage>) {
    let system = prepare(&storage).await;
    let id = session_id();
    let before = dump(&*storage, &id).await;
    // Everything a change can hold, on a basis that does not.
    let mut all = appending(&stored(&*storage, &id, "usr-2").await, 3);
    let text = contexture_core::storage::Content::encode(&[crate::fixture::user("never stored")]);
    all.contents = vec![text.clone()];
    all.segments = vec![contexture_core::storage::SegmentDelta {
        before: None,
        after: storage.segments(&id).await.expect("they can be read").remove(0),
        restores: None,
    }];
    all.levels = vec![LevelDelta {
        view: valid("helper"),
        page: page("usr-2"),
        before: LevelEntry::default(),
        after: LevelEntry { pinned: Some(true), ..LevelEntry::default() },
    }];
    all.focus =
        vec![FocusDelta { view: valid("helper"), before: None, after: Some(page("usr-2")) }];
    all.floors = vec![(segment("usr"), 500)];
    all.basis.custom = vec![(valid("goal"), None)];
    let refused = commit(&*storage, &id, all).await.expect_err("the basis does not hold");
    assert!(matches!(refused, StorageError::Conflict { .. }), "{refused}");
    assert_eq!(dump(&*storage, &id).await, before);
    assert_eq!(storage.contents(&id, &[text.hash()]).await.expect("it can be asked for"), [None]);
    assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-4"), "a counter moved");
}

/// A change that appends copies of a leaf under `usr-0`.
fn appending(leaf: &Page, count: u64) -> Change {
    let mut appending = change();
    appending.numbers = vec![NumberClaim { segment: segment("usr"), first: PROVISIONAL, count }];
    appending.places = PlaceClaim { first: Place(PROVISIONAL), count };
    for at in 0..count {
        let index = PageIndex::new(segment("usr"), PROVISIONAL + at);
        let copy = Page {
            index: index.clone(),
            parent: Some(page("usr-0")),
            place: Place(PROVISIONAL + at),
            standing: PageStanding::InTree,
            version: Version(1),
            revision: Revision(0),
            sources: vec![PageIndex::new(segment("usr"), PROVISIONAL)],
            ..leaf.clone()
        };
        appending.subjects.push(index.clone());
        let (before, previous, restores) = (None, None, None);
        appending.pages.push(PageDelta { index, before, after: Some(copy), previous, restores });
    }
    appending
}

pub(super) async fn appends_do_not_conflict(storage: Arc<dyn PageStorage>) {
    prepare(&storage).await;
    let id = session_id();
    let one = stored(&*storage, &id, "usr-2").await;
    // Both decided on the same state: that the directory stands in the tree.
    let mut first = appending(&one, 1);
    first.basis.standing = vec![(page("usr-0"), None)];
    let second = first.clone();
    let first = commit(&*storage, &id, first).await.expect("nothing moved");
    let rename = renaming(&stored(&*storage, &id, "usr-0").await, "renamed meanwhile");
    commit(&*storage, &id, rename).await.expect("nothing moved");
    let second = commit(&*storage, &id, second).await.expect("an append does not read a list");
    let subjects = |committed: contexture_core::storage::Committed| {
        committed.change.expect("it was a change").subjects
    };
    assert_eq!(subjects(first), [page("usr-4")]);
    assert_eq!(subjects(second), [page("usr-5")]);
}

pub(super) async fn numbers_and_places_are_dense_and_never_reused(storage: Arc<dyn PageStorage>) {
    let system = prepare(&storage).await;
    let id = session_id();
    let one = stored(&*storage, &id, "usr-2").await;
    let before = storage.session(&id).await.expect("it can be read").expect("it exists");
    let committed = commit(&*storage, &id, appending(&one, 3)).await.expect("it holds");
    let settled = committed.change.expect("it was a change");
    assert_eq!(settled.subjects, ["usr-4", "usr-5", "usr-6"].map(page));
    assert_eq!(committed.revision, before.revision.next());
    let mut places = Vec::new();
    for index in &settled.subjects {
        let page = stored(&*storage, &id, &index.to_string()).await;
        assert_eq!(page.revision, committed.revision, "pages carry the edit that made them");
        assert_eq!(page.sources, [crate::fixture::page("usr-4")], "references are settled as well");
        places.push(page.place);
    }
    let first = before.next_place.0;
    assert_eq!(places, [Place(first), Place(first + 1), Place(first + 2)]);
    // What goes leaves its number behind.
    apply(&system, Edit::PurgePage(page("usr-6"))).await;
    assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-7"));
    let remove = Edit::RemoveSegment { segment: segment("usr"), cascade: true, force: false };
    apply(&system, remove).await;
    add_segment(&system, "usr", SegmentKind::User, contexture_core::Permission::ReadWrite).await;
    assert_eq!(leaf(&system, "usr-0", "next").await, page("usr-8"));
}

pub(super) async fn a_segment_added_in_the_same_change_can_be_claimed_on(
    storage: Arc<dyn PageStorage>,
) {
    let system = session(storage.clone()).await;
    let new = Edit::AddSegment(NewSegment::new(segment("new"), SegmentKind::Tool));
    let both =
        vec![new, crate::fixture::new_leaf("new-0", "a"), crate::fixture::new_leaf("new-0", "b")];
    let made = apply(&system, Edit::Batch(both)).await;
    assert_eq!(made.pages, ["new-0", "new-1", "new-2"].map(page));
    let segments = storage.segments(&session_id()).await.expect("they can be read");
    let counter = segments.iter().find(|segment| segment.id.as_str() == "new");
    assert_eq!(counter.map(|segment| segment.next_number), Some(3));
}

pub(super) async fn floors_raise_counters(storage: Arc<dyn PageStorage>) {
    let system = session(storage.clone()).await;
    let floor = |number| Change { floors: vec![(segment("usr"), number)], ..change() };
    commit(&*storage, &session_id(), floor(41)).await.expect("it holds");
    commit(&*storage, &session_id(), floor(7)).await.expect("it holds");
    assert_eq!(leaf(&system, "usr-0", "note").await, page("usr-41"));
    assert_eq!(leaf(&system, "usr-0", "note").await, page("usr-42"));
}
