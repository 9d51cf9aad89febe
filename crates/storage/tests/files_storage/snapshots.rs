//! A snapshot finds the words it was taken with, wherever they lie by now.

use contexture_core::{Edit, PageStorage};
use contexture_testkit::fixture::{apply, page};
use futures::executor::block_on;

use crate::{everything, fill, open, words, write};

#[test]
fn a_snapshot_keeps_its_words() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    let system = fill(&storage);
    let before = words(&*storage, &page("usr-2")).unwrap();
    let snapshot = block_on(storage.snapshot()).unwrap();
    let edit = write(&system, "usr-2", "other");
    assert_eq!(words(&*snapshot, &page("usr-2")).unwrap(), before);
    assert_ne!(words(&*storage, &page("usr-2")).unwrap(), before);
    let other = block_on(storage.snapshot()).unwrap();
    block_on(apply(&system, Edit::Undo { revision: Some(edit) }));
    assert_eq!(words(&*snapshot, &page("usr-2")).unwrap(), before);
    assert_ne!(words(&*other, &page("usr-2")).unwrap(), before);
    block_on(apply(&system, Edit::RemovePage(page("usr-2"))));
    assert_eq!(words(&*snapshot, &page("usr-2")).unwrap(), before);
    // What is purged is gone, whoever looks.
    block_on(apply(&system, Edit::PurgePage(page("usr-2"))));
    assert_eq!(words(&*snapshot, &page("usr-2")).unwrap_or_default(), None);
    drop((snapshot, other));
    everything(&storage);
}
