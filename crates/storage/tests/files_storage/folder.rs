//! The folder itself: whose it is, what is in it, unusual names, what a purge leaves.

use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

use contexture_core::{
    ContextSystem, Edit, NewSegment, PageStorage, SegmentKind, SessionId, Timestamp,
    storage::{RunPut, StorageError},
};
use contexture_storage::{CreateMode, FilesOptions, FilesStorage};
use contexture_testkit::{
    conformance::dump,
    fixture::{TickingClock, apply, leaf, page, valid},
};
use futures::executor::block_on;

use crate::{below, everything, fill, open, write};

#[test]
fn what_is_not_ours_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let options = FilesOptions::default();
    fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let foreign = FilesStorage::open(dir.path(), options).unwrap_err();
    assert!(matches!(foreign, StorageError::Foreign { .. }), "{foreign}");
    let file = FilesStorage::open(&dir.path().join("letter.txt"), options).unwrap_err();
    assert!(matches!(file, StorageError::Foreign { .. }), "{file}");
    fs::remove_file(dir.path().join("letter.txt")).unwrap();
    let identity = dir.path().join("contexture.json");
    let newer = r#"{"format":"contexture-files","schemaVersion":99}"#;
    for (text, expected) in [
        (newer, "has schema version 99"),
        (r#"{"format":"contexture-files","schemaVersion":1}"#, "this program reads version 2"),
        (r#"{"format":"other","schemaVersion":1}"#, "is not a Contexture store"),
        ("{", "contexture.json is corrupt"),
        ("", "contexture.json is corrupt"),
    ] {
        fs::write(&identity, text).unwrap();
        let refused = FilesStorage::open(dir.path(), options).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
        assert_eq!(below(dir.path()), std::slice::from_ref(&identity), "something was written");
    }
    fs::remove_file(&identity).unwrap();
    let existing = FilesOptions { create: CreateMode::MustExist, ..options };
    for path in [dir.path().join("missing"), dir.path().to_owned()] {
        let missing = FilesStorage::open(&path, existing).unwrap_err();
        assert!(matches!(missing, StorageError::Missing { .. }), "{missing}");
    }
    assert!(below(dir.path()).is_empty());
}

// Folders 0700, files 0600, whatever the process's mask.
#[test]
fn files_are_for_their_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(&dir.path().join("made/here"));
    drop(fill(&storage));
    for path in below(&dir.path().join("made")) {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, expected, "{}: {mode:o}", path.display());
    }
}

// B-03: one file per page, named by its index; its base folder is made when it is missing.
// B-06, B-07: a removed file's page is gone, and the names of the files are the pages.
#[test]
fn every_page_has_a_file_of_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(&dir.path().join("new"));
    let system = fill(&storage);
    let names = || {
        let files = below(&dir.path().join("new/sessions/test/pages"));
        let mut names: Vec<String> = files
            .iter()
            .map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["sys-0", "usr-0", "usr-1", "usr-2", "usr-3", "usr-4"]);
    let file = fs::read_to_string(dir.path().join("new/sessions/test/pages/usr-2.json")).unwrap();
    assert!(
        file.contains("\"type\": \"DetailPage\"") && file.contains("\"second line\""),
        "{file}"
    );
    block_on(apply(&system, Edit::PurgePage(page("usr-2"))));
    assert_eq!(names(), ["sys-0", "usr-0", "usr-1", "usr-3", "usr-4"]);
}

// Names that no file system takes as they are, or that differ only by case.
#[test]
fn unusual_names() {
    let dir = tempfile::tempdir().unwrap();
    let long = "X".repeat(128);
    let names = ["demo", "Demo", "CON", "a.", "0", "x-_.y", &long];
    let mut dumps = Vec::new();
    for name in names {
        let storage = open(dir.path());
        let session: SessionId = valid(name);
        let clock = TickingClock::new();
        let system = block_on(async {
            let made = ContextSystem::create(storage.clone(), session.clone(), "t", clock).await;
            let system = made.unwrap();
            for id in ["usr", "USR", "Usr", "nul"] {
                let new = NewSegment::new(valid(id), SegmentKind::User);
                apply(&system, Edit::AddSegment(new)).await;
                leaf(&system, &format!("{id}-0"), "page").await;
            }
            for key in ["run/1", "Run/1", "../../../escape", "ünïcode", &"界".repeat(200)] {
                let put = RunPut::first(valid(key), "{\"a\": 1}", Timestamp::from_millis(1));
                storage.keep_run(&session, &put).await.unwrap();
            }
            system
        });
        write(&system, "Usr-1", "other");
        dumps.push(block_on(dump(&*storage, &session)));
    }
    fs::remove_file(dir.path().join(".local/index.db")).unwrap();
    let storage = open(dir.path());
    for (name, expected) in names.iter().zip(dumps) {
        assert_eq!(block_on(dump(&*storage, &valid(name))), expected);
    }
    let listed = block_on(storage.sessions(None, 100)).unwrap();
    assert_eq!(listed.len(), names.len());
    let mut lower: Vec<String> = below(&dir.path().join("sessions"))
        .iter()
        .map(|path| path.to_str().unwrap().to_lowercase())
        .collect();
    let count = lower.len();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), count, "names differ only by case");
    for name in names {
        assert!(block_on(storage.remove_session(&valid(name))).unwrap());
    }
    assert!(below(&dir.path().join("sessions")).is_empty());
}

#[test]
fn purged_text_is_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    let system = fill(&storage);
    write(&system, "usr-2", "SECRET-FIRST");
    write(&system, "usr-2", "SECRET-SECOND");
    block_on(apply(&system, Edit::PurgePage(page("usr-2"))));
    for path in below(dir.path()).into_iter().filter(|path| path.is_file()) {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("SECRET") && !text.contains("second line"), "{}", path.display());
    }
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

#[test]
fn what_was_committed_is_there_when_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let storage: Arc<FilesStorage> =
        Arc::new(FilesStorage::open(dir.path(), FilesOptions::default()).unwrap());
    drop(fill(&storage));
    let before = everything(&storage);
    drop(storage);
    assert_eq!(fs::read(dir.path().join(".local/journal")).unwrap(), b"", "it was closed well");
    assert_eq!(everything(&open(dir.path())), before);
}
