//! What lies at the path: made, opened again, or left alone with a clear word.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command, thread};

use contexture_core::{
    PageStorage,
    storage::{Change, RunPut, StorageError},
};
use contexture_storage::{CreateMode, Durability, SqliteOptions, SqliteStorage};
use futures::executor::block_on;

use crate::build::{Sandbox, append, assert_sound, commit, init, page, session};

fn open(path: &Path) -> Result<SqliteStorage, StorageError> {
    SqliteStorage::open(path, SqliteOptions::default())
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    let sandbox = Sandbox::new();
    for durability in [Durability::PowerCut, Durability::Process] {
        let options = SqliteOptions { durability, ..SqliteOptions::default() };
        let path = sandbox.folder().join(format!("{durability:?}.db"));
        let storage = SqliteStorage::open(&path, options).unwrap();
        init(&storage, "s");
        commit(&storage, "s", append("usr", "text")).unwrap();
        let before = page(&storage, "s", "usr-1");
        let run = RunPut::first("run".parse().unwrap(), "{}", before.created_at);
        block_on(storage.keep_run(&session("s"), &run)).unwrap();
        drop(storage);
        let options = SqliteOptions { create: CreateMode::MustExist, ..options };
        let storage = SqliteStorage::open(&path, options).unwrap();
        assert_eq!(page(&storage, "s", "usr-1"), before);
        let record = run.record().unwrap();
        assert_eq!(
            block_on(storage.runs(&session("s"), "")).unwrap(),
            std::slice::from_ref(&record)
        );
        let more =
            Change { runs: vec![record.next("[]", before.created_at)], ..append("usr", "more") };
        commit(&storage, "s", more).unwrap();
        drop(storage);
        let storage = SqliteStorage::open(&path, options).unwrap();
        let kept = block_on(storage.runs(&session("s"), "")).unwrap();
        assert_eq!((kept[0].version.0, kept[0].value.as_str()), (2, "[]"));
        assert_sound(&storage);
    }
}

#[test]
fn a_missing_file_is_made_with_its_folders_or_not_at_all() {
    let sandbox = Sandbox::new();
    let path = sandbox.folder().join("a/b #?%41/contexture.db");
    let must = SqliteOptions { create: CreateMode::MustExist, ..SqliteOptions::default() };
    let error = SqliteStorage::open(&path, must).unwrap_err();
    assert!(matches!(error, StorageError::Unavailable { .. }), "{error}");
    assert_eq!(fs::read_dir(sandbox.folder()).unwrap().count(), 0);
    drop(open(&path).unwrap());
    assert!(path.is_file());
    open(&path).unwrap();
}

#[test]
fn an_empty_file_is_made_ours() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.file(), "").unwrap();
    init(&sandbox.open(), "s");
    assert_sound(&sandbox.open());
}

#[test]
fn many_may_make_the_file_at_once() {
    for _ in 0..20 {
        let sandbox = Sandbox::new();
        thread::scope(|scope| {
            for at in 0..6 {
                let sandbox = &sandbox;
                scope.spawn(move || init(&sandbox.open(), &format!("s{at}")));
            }
        });
        assert_eq!(block_on(sandbox.open().sessions(None, 10)).unwrap().len(), 6);
    }
}

/// Opens something that must be refused, and makes sure that nothing in its folder changed.
fn refused(sandbox: &Sandbox) -> StorageError {
    let listing = || {
        let entries = fs::read_dir(sandbox.folder()).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> =
            entries.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect();
        files.sort();
        files
    };
    let before = listing();
    let error = open(&sandbox.file()).unwrap_err();
    assert!(listing() == before, "something changed: {error}");
    error
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.file(), "dear diary, today I was not a database ".repeat(100)).unwrap();
    let error = refused(&sandbox);
    assert!(matches!(error, StorageError::Foreign { .. }), "{error}");

    for mode in ["DELETE", "WAL"] {
        let sandbox = Sandbox::new();
        let foreign = sandbox.meddle();
        foreign.pragma_update(None, "journal_mode", mode).unwrap();
        foreign
            .execute_batch("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')")
            .unwrap();
        foreign.close().unwrap();
        let error = refused(&sandbox);
        assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains("application id 0"), "{error}");
    }

    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.file()).unwrap();
    let error = refused(&sandbox);
    assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
}

#[test]
fn what_a_later_program_wrote_is_left_alone() {
    let sandbox = Sandbox::new();
    init(&sandbox.open(), "s");
    sandbox.meddle().pragma_update(None, "user_version", 99).unwrap();
    match refused(&sandbox) {
        StorageError::Newer { found: 99, known: 5, .. } => {}
        error => panic!("{error}"),
    }
}

// A program that was running when a later one changed the tables stops writing to them.
#[test]
fn a_later_program_at_work_stops_the_writer() {
    let sandbox = Sandbox::new();
    let storage = sandbox.open();
    init(&storage, "s");
    sandbox.meddle().pragma_update(None, "user_version", 99).unwrap();
    let error = commit(&storage, "s", append("usr", "text")).unwrap_err();
    assert!(matches!(error, StorageError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_file_below_a_file_cannot_be_written() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.file(), "").unwrap();
    let error = open(&sandbox.file().join("contexture.db")).unwrap_err();
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
}

#[test]
fn what_may_not_be_written_is_read_only() {
    if may_ignore_permissions() {
        return again_without_privileges("files::what_may_not_be_written_is_read_only");
    }
    let allow =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let sandbox = Sandbox::new();
    init(&sandbox.open(), "s");
    allow(&sandbox.file(), 0o444);
    let error = refused(&sandbox);
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
    allow(&sandbox.file(), 0o644);
    allow(sandbox.folder(), 0o555);
    let error = refused(&sandbox);
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
    let error = open(&sandbox.folder().join("new.db")).unwrap_err();
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
    let error = open(&sandbox.folder().join("new/new.db")).unwrap_err();
    assert!(matches!(error, StorageError::ReadOnly { .. }), "{error}");
    allow(sandbox.folder(), 0o755);
    assert_sound(&sandbox.open());
}

/// Root may write whatever the permission bits say.
fn may_ignore_permissions() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o444)).unwrap();
    fs::OpenOptions::new().write(true).open(file.path()).is_ok()
}

/// Runs one test of this binary in a namespace in which nobody is root.
fn again_without_privileges(test: &str) {
    let status = Command::new("unshare")
        .args(["--user", "--map-user=1000", "--map-group=1000"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .status();
    assert!(status.unwrap().success());
}

// Whatever the user's mask says. What was there before is left as it is.
#[test]
fn a_new_file_and_its_folders_are_for_their_owner_alone() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let sandbox = Sandbox::new();
    let folder = sandbox.folder().join("a");
    let file = folder.join("b").join("contexture.db");
    let storage = SqliteStorage::open(&file, SqliteOptions::default()).unwrap();
    init(&storage, "s");
    assert_eq!((mode(&folder), mode(&folder.join("b"))), (0o700, 0o700));
    for entry in fs::read_dir(folder.join("b")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(storage);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    drop(SqliteStorage::open(&file, SqliteOptions::default()).unwrap());
    assert_eq!(mode(&file), 0o640);
}
