//! Files that were cut short, changed or swapped: a clear error that names the file, nothing worse.

use std::{fs, os::unix::fs::symlink, path::Path};

use contexture_core::{PageStorage, storage::StorageError};
use contexture_storage::FilesStorage;
use contexture_testkit::fixture::{page, session_id};
use futures::executor::block_on;

use crate::{below, everything, fill, open, words};

const PAGE: &str = "sessions/test/pages/usr-2.json";

fn assert_corrupt(storage: &FilesStorage, names: &str, how: &str) {
    match words(storage, &page("usr-2")) {
        Err(StorageError::Corrupt { what, .. }) => assert!(what.contains(names), "{how}: {what}"),
        other => panic!("{how}: {other:?}"),
    }
}

/// Lets a test damage a folder, then brings it back and sees that nothing else was harmed.
fn with_damage(test: impl Fn(&FilesStorage, &Path)) {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let before = everything(&storage);
    test(&storage, dir.path());
    assert_eq!(everything(&storage), before);
}

#[test]
fn a_page_file_cut_short_at_any_byte() {
    with_damage(|storage, dir| {
        let whole = fs::read(dir.join(PAGE)).unwrap();
        for length in 0..whole.len() {
            fs::write(dir.join(PAGE), &whole[..length]).unwrap();
            assert_corrupt(storage, PAGE, &format!("{length} bytes"));
        }
        fs::write(dir.join(PAGE), &whole).unwrap();
    });
}

#[test]
fn a_page_file_with_a_flipped_bit_anywhere() {
    with_damage(|storage, dir| {
        let whole = fs::read(dir.join(PAGE)).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << (at % 8);
            fs::write(dir.join(PAGE), &flipped).unwrap();
            assert_corrupt(storage, PAGE, &format!("byte {at}"));
        }
        fs::write(dir.join(PAGE), &whole).unwrap();
    });
}

// The file of another page, of another session, a symlink, a pipe's place, a folder.
#[test]
fn a_page_file_swapped_for_something_else() {
    with_damage(|storage, dir| {
        let path = dir.join(PAGE);
        let whole = fs::read(&path).unwrap();
        let other = dir.join("sessions/test/pages/usr-3.json");
        fs::copy(&other, &path).unwrap();
        assert_corrupt(storage, PAGE, "another page's file");
        fs::remove_file(&path).unwrap();
        assert_corrupt(storage, PAGE, "missing");
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("page.json"), &whole).unwrap();
        symlink(elsewhere.path().join("page.json"), &path).unwrap();
        assert_corrupt(storage, PAGE, "a symlink");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_corrupt(storage, PAGE, "a folder");
        fs::remove_dir(&path).unwrap();
        fs::File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
        let Err(StorageError::Corrupt { reason, .. }) = words(storage, &page("usr-2")) else {
            panic!("it was read")
        };
        assert!(reason.starts_with("it is larger than "), "{reason}");
        fs::write(&path, &whole).unwrap();
    });
}

#[test]
fn folders_swapped_for_something_else() {
    with_damage(|storage, dir| {
        let aside = tempfile::tempdir().unwrap();
        for folder in ["sessions/test/pages", "sessions/test"] {
            let (path, kept) = (dir.join(folder), aside.path().join("kept"));
            fs::rename(&path, &kept).unwrap();
            symlink(&kept, &path).unwrap();
            assert_corrupt(storage, "sessions/test", "a symlink to a folder");
            fs::remove_file(&path).unwrap();
            fs::write(&path, "a file").unwrap();
            assert_corrupt(storage, "sessions/test", "a file for a folder");
            fs::remove_file(&path).unwrap();
            fs::rename(&kept, &path).unwrap();
        }
    });
}

#[test]
fn damaged_files_of_every_kind_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    drop(storage);
    let files = [
        "session.json",
        "segments/usr.json",
        "pages/usr-0.json",
        "history/00000001.json",
        "views/bot/view.json",
        "views/bot/usr.0.json",
    ];
    for file in files {
        let storage = open(dir.path());
        let path = dir.path().join("sessions/test").join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let problems = block_on(storage.verify()).unwrap();
        assert!(problems.iter().any(|line| line.contains(file)), "{file}: {problems:?}");
        fs::write(&path, &whole).unwrap();
        // Whole again, only written anew: nothing is wrong once it was looked at.
        everything(&storage);
    }
    assert_eq!(block_on(open(dir.path()).verify()).unwrap(), [""; 0]);
}

// A commit that would have to read what is damaged is refused, and changes nothing.
#[test]
fn a_commit_on_damage_is_refused() {
    with_damage(|storage, dir| {
        let whole = fs::read(dir.join(PAGE)).unwrap();
        let mut flipped = whole.clone();
        flipped[40] ^= 1;
        let system = block_on(contexture_testkit::fixture::reopen(std::sync::Arc::new(
            FilesStorage::open(dir, Default::default()).unwrap(),
        )));
        block_on(system.as_system().reader().page(&page("usr-2"))).unwrap();
        fs::write(dir.join(PAGE), &flipped).unwrap();
        let mut update = contexture_core::PageUpdate::of(page("usr-2"));
        update.detail = Some("new".to_owned());
        let refused = block_on(system.as_system().apply(contexture_core::Edit::UpdatePage(update)));
        assert_eq!(refused.unwrap_err().kind(), contexture_core::ErrorKind::Corrupt);
        assert_corrupt(storage, PAGE, "still damaged");
        fs::write(dir.join(PAGE), &whole).unwrap();
    });
}

#[test]
fn repair_moves_what_cannot_be_read_aside_and_deletes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let damaged = &fs::read(dir.path().join(PAGE)).unwrap()[..100];
    fs::write(dir.path().join(PAGE), damaged).unwrap();
    fs::remove_file(dir.path().join(".local/index.db")).unwrap();
    assert_corrupt(&storage, "", "damaged");
    let told = block_on(storage.repair()).unwrap();
    assert!(told.iter().any(|line| line.contains(PAGE)), "{told:?}");
    let quarantine = dir.path().join(".local/quarantine");
    let name = PAGE.replace('/', "__");
    assert_eq!(fs::read(quarantine.join(&name)).unwrap(), damaged);
    let note = fs::read_to_string(quarantine.join(format!("{name}.note"))).unwrap();
    assert!(note.contains("checksum"), "{note}");
    // The rest can be read; what is gone is told.
    let pages = [page("usr-2"), page("usr-3")];
    let read = block_on(storage.pages(&session_id(), &pages)).unwrap();
    assert!(read[0].is_none() && read[1].is_some());
    let problems = block_on(storage.verify()).unwrap();
    assert!(problems.iter().any(|line| line.contains("usr-2")), "{problems:?}");
}

#[test]
fn repair_makes_a_lost_head_again() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let before = block_on(storage.session(&session_id())).unwrap().unwrap();
    fs::write(dir.path().join("sessions/test/session.json"), "{").unwrap();
    let refused = block_on(storage.session(&session_id())).unwrap_err();
    assert!(refused.to_string().contains("sessions/test/session.json"), "{refused}");
    block_on(storage.repair()).unwrap();
    let after = block_on(storage.session(&session_id())).unwrap().unwrap();
    assert_eq!((after.revision, after.updated_at), (before.revision, before.updated_at));
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

// A content that only history refers to is gone: history forgets it, and all is well again.
#[test]
fn repair_lets_history_forget_a_lost_content() {
    let dir = tempfile::tempdir().unwrap();
    let storage = open(dir.path());
    drop(fill(&storage));
    let contents = below(&dir.path().join("sessions/test/contents"));
    let lost = contents.iter().find(|path| path.is_file()).unwrap();
    fs::remove_file(lost).unwrap();
    let problems = block_on(storage.verify()).unwrap();
    assert!(problems.iter().any(|line| line.contains("history refers to it")), "{problems:?}");
    let told = block_on(storage.repair()).unwrap();
    assert!(told.iter().any(|line| line.contains("lost content")), "{told:?}");
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    assert_eq!(block_on(storage.repair()).unwrap(), [""; 0]);
    let kept = below(&dir.path().join(".local/quarantine"));
    assert!(kept.iter().any(|path| path.to_str().unwrap().contains("__history__")), "{kept:?}");
}
