//! Conflicts: a commit is refused when anything it was based on has moved, and then changes nothing.

use contexture_core::{
    Operation, PageStorage, Revision, Visibility,
    storage::{
        Basis, Change, Commit, CustomDelta, FocusDelta, LevelDelta, LevelEntry, Place,
        StorageError, UndoneMark, Version, ViewId,
    },
};
use futures::executor::block_on;

use crate::build::{
    Sandbox, add_segment, append, assert_sound, change, commit, index, init, new_session, page,
    segment_id, session,
};

fn view() -> ViewId {
    "bot".parse().unwrap()
}

/// A storage where everything a basis can name has moved once.
fn moved(sandbox: &Sandbox) -> contexture_storage::SqliteStorage {
    let storage = sandbox.open();
    init(&storage, "s");
    commit(&storage, "s", append("usr", "text")).unwrap();
    let hidden = LevelEntry::shown(Visibility::Hidden);
    let change = Change {
        levels: vec![LevelDelta {
            view: view(),
            page: index("usr-1"),
            before: LevelEntry::default(),
            after: hidden,
        }],
        focus: vec![FocusDelta { view: view(), before: None, after: Some(index("usr-1")) }],
        custom: vec![CustomDelta {
            key: "key".parse().unwrap(),
            before: None,
            after: Some("value".to_owned()),
        }],
        ..change(Operation::Batch)
    };
    commit(&storage, "s", change).unwrap();
    storage
}

fn refused(basis: Basis, subject: &str) {
    let sandbox = Sandbox::new();
    let storage = moved(&sandbox);
    let change = Change { basis, ..append("usr", "never") };
    refuses(&storage, change, subject);
}

fn refuses(storage: &dyn PageStorage, change: Change, subject: &str) {
    let before = block_on(storage.session(&session("s"))).unwrap();
    match commit(storage, "s", change) {
        Err(StorageError::Conflict { subject: found }) => assert_eq!(found, subject),
        other => panic!("{other:?}"),
    }
    assert_eq!(block_on(storage.session(&session("s"))).unwrap(), before);
    assert_eq!(block_on(storage.pages(&session("s"), &[index("usr-2")])).unwrap(), [None]);
    assert_sound(storage);
}

#[test]
fn pages_conflict_by_version() {
    refused(
        Basis { pages: vec![(index("usr-1"), Some(Version(7)))], ..Basis::default() },
        "page usr-1",
    );
    refused(Basis { pages: vec![(index("usr-1"), None)], ..Basis::default() }, "page usr-1");
    refused(
        Basis { pages: vec![(index("usr-99"), Some(Version(1)))], ..Basis::default() },
        "page usr-99",
    );
}

#[test]
fn pages_conflict_by_where_they_stand() {
    for (page, parent) in [("usr-1", None), ("usr-1", Some("usr-1")), ("usr-0", Some("usr-0"))] {
        let standing = vec![(index(page), parent.map(index))];
        refused(Basis { standing, ..Basis::default() }, &format!("the place of page {page}"));
    }
    let standing = vec![(index("usr-99"), None)];
    refused(Basis { standing, ..Basis::default() }, "the place of page usr-99");
}

#[test]
fn segments_conflict_by_version() {
    let basis = Basis { segments: vec![(segment_id("usr"), None)], ..Basis::default() };
    refused(basis, "segment usr");
    let basis = Basis { segments: vec![(segment_id("sys"), Some(Version(1)))], ..Basis::default() };
    refused(basis, "segment sys");
}

#[test]
fn lists_conflict_by_last_place() {
    let subject = "the list of pages in usr-0";
    refused(Basis { lists: vec![(index("usr-0"), None)], ..Basis::default() }, subject);
    refused(Basis { lists: vec![(index("usr-0"), Some(Place(9)))], ..Basis::default() }, subject);
}

#[test]
fn levels_conflict_by_entry() {
    let levels = vec![(view(), index("usr-1"), LevelEntry::default())];
    refused(Basis { levels, ..Basis::default() }, "the level of usr-1 in view bot");
}

#[test]
fn focus_and_custom_state_conflict_by_value() {
    refused(Basis { focus: vec![(view(), None)], ..Basis::default() }, "the focus of view bot");
    let custom = vec![("key".parse().unwrap(), Some("other".to_owned()))];
    refused(Basis { custom, ..Basis::default() }, "custom state 'key'");
}

#[test]
fn marks_conflict_by_what_they_were() {
    let sandbox = Sandbox::new();
    let storage = moved(&sandbox);
    let mark = |before| UndoneMark { revision: Revision(2), before, undone: true };
    let undo = |before| Change { marks: vec![mark(before)], ..change(Operation::Undo) };
    refuses(&storage, undo(Some(Revision(1))), "revision 2");
    commit(&storage, "s", undo(None)).unwrap();
    refuses(&storage, undo(None), "revision 2");
}

#[test]
fn a_basis_that_stands_does_not_conflict() {
    let sandbox = Sandbox::new();
    let storage = moved(&sandbox);
    let hidden = LevelEntry::shown(Visibility::Hidden);
    let basis = Basis {
        pages: vec![(index("usr-1"), Some(Version(1))), (index("usr-2"), None)],
        standing: vec![(index("usr-0"), None), (index("usr-1"), Some(index("usr-0")))],
        segments: vec![(segment_id("usr"), Some(Version(1))), (segment_id("sys"), None)],
        lists: vec![(index("usr-0"), Some(Place(2))), (index("usr-1"), None)],
        levels: vec![(view(), index("usr-1"), hidden)],
        focus: vec![(view(), Some(index("usr-1")))],
        custom: vec![("key".parse().unwrap(), Some("value".to_owned()))],
    };
    commit(&storage, "s", Change { basis, ..append("usr", "new") }).unwrap();
    assert_sound(&storage);
}

#[test]
fn sessions_are_made_once_and_must_exist() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    let error = commit(&storage, "s", add_segment("usr", 1)).unwrap_err();
    assert!(matches!(error, StorageError::SessionMissing { .. }), "{error}");
    init(&storage, "s");
    let again = Commit { create: Some(new_session()), change: Some(add_segment("sys", 1)) };
    let error = block_on(storage.commit(&session("s"), again)).unwrap_err();
    assert!(matches!(error, StorageError::SessionExists { .. }), "{error}");
    // A change that does not fit the new session makes no session either.
    let basis = Basis { pages: vec![(index("usr-0"), Some(Version(1)))], ..Basis::default() };
    let change = Some(Change { basis, ..add_segment("usr", 1) });
    let error =
        block_on(storage.commit(&session("t"), Commit { create: Some(new_session()), change }));
    assert!(matches!(error, Err(StorageError::Conflict { .. })), "{error:?}");
    assert_eq!(block_on(storage.session(&session("t"))).unwrap(), None);
}

// Two appends decided from the same state get numbers and places of their own.
#[test]
fn appends_decided_from_the_same_state_are_settled_apart() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    let first = commit(&storage, "s", append("usr", "first")).unwrap();
    let second = commit(&storage, "s", append("usr", "second")).unwrap();
    let settled = second.change.unwrap();
    assert_eq!(first.change.unwrap().subjects, [index("usr-1")]);
    assert_eq!(settled.subjects, [index("usr-2")]);
    assert_eq!(settled.numbers[0].first, 2);
    let page = page(&storage, "s", "usr-2");
    assert_eq!((page.place, page.revision), (Place(3), Revision(3)));
    let segments = block_on(storage.segments(&session("s"))).unwrap();
    assert_eq!(segments[0].next_number, 3);
}
