//! Stores that are not there, not ours, not whole, or not to be written.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    process::Command,
};

use rusqlite::Connection;

use crate::support::{Sandbox, error};

#[test]
fn a_missing_store_is_not_made_by_looking() {
    let sandbox = Sandbox::empty();
    for args in [
        &["page", "list"][..],
        &["page", "create", "--parent", "usr-0", "--name", "x"],
        &["turn", "add", "--user", "x"],
        &["--as", "bee", "page", "tree"],
        &["segment", "list"],
        &["session", "list"],
        &["session", "remove", "x"],
        &["history"],
        &["undo"],
        &["export"],
        &["store", "check"],
    ] {
        assert_eq!(
            sandbox.refused(args),
            error("not-found", "there is no store at .contexture/contexture.db")
        );
    }
    assert_eq!(sandbox.files(), [""; 0]);
    let ran = sandbox.run(&["page", "list"]);
    assert!(ran.err.contains("run `contexture init` to create one"), "{}", ran.err);
    let ran = sandbox.run(&["--store", "sqlite:x/y.db", "page", "list"]);
    assert!(ran.err.contains("`contexture --store sqlite:x/y.db init`"), "{}", ran.err);
}

#[test]
fn what_is_no_store_is_invalid() {
    let sandbox = Sandbox::empty();
    for url in [
        "",
        "x.db",
        "files:",
        "postgres:x",
        "s3://",
        "files:x?mode=ro",
        "sqlite:",
        "mysql://x",
        "sqlite:x?durability=never",
    ] {
        assert_eq!(sandbox.refused(&["--store", url, "init"]).0, "invalid");
    }
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn the_store_can_be_named_by_flag_and_environment() {
    let sandbox = Sandbox::empty();
    sandbox.json(&["--store", "sqlite:a/b/flag.db?durability=process", "init"]);
    assert!(sandbox.path().join("a/b/flag.db").is_file());
    let mut command = sandbox.command(&["page", "list"]);
    command.env("CONTEXTURE_STORE", "sqlite:a/b/flag.db").assert().success();
    sandbox.json(&["page", "list", "--store", "sqlite:a/b/flag.db"]);
    sandbox.json(&["--store", "memory:", "init"]);
    let (kind, message) = sandbox.refused(&["--store", "memory:", "page", "list"]);
    assert_eq!((kind.as_str(), message.as_str()), ("not-found", "session 'default' not found"));
    assert_eq!(sandbox.files(), ["a"]);
}

#[test]
fn a_file_that_is_not_ours_is_left_alone() {
    let sandbox = Sandbox::empty();
    sandbox.write("letter.txt", "Dear Sir or Madam, ".repeat(100));
    let other = Connection::open(sandbox.path().join("other.db")).unwrap();
    other.execute_batch("CREATE TABLE bills (id INTEGER); INSERT INTO bills VALUES (1);").unwrap();
    drop(other);
    fs::create_dir(sandbox.path().join("folder")).unwrap();
    for name in ["letter.txt", "other.db", "folder"] {
        let path = sandbox.path().join(name);
        let before = fs::read(&path).unwrap_or_default();
        let store = format!("sqlite:{name}");
        for args in [&["init"][..], &["page", "list"], &["store", "check"]] {
            let (kind, message) = sandbox.refused(&[&["--store", &store], args].concat());
            assert_eq!(kind, "invalid", "{message}");
            assert!(message.contains("is not a Contexture store"), "{message}");
        }
        assert_eq!(fs::read(&path).unwrap_or_default(), before);
    }
    assert_eq!(sandbox.files(), ["folder", "letter.txt", "other.db"]);
}

#[test]
fn a_newer_store_is_left_alone() {
    let sandbox = Sandbox::with_pages();
    let database = sandbox.meddle();
    database.pragma_update(None, "user_version", 9_999).unwrap();
    drop(database);
    let before = fs::read(sandbox.database()).unwrap();
    for args in
        [&["init"][..], &["page", "list"], &["page", "remove", "usr-1"], &["store", "check"]]
    {
        let (kind, message) = sandbox.refused(args);
        assert_eq!(kind, "invalid");
        assert!(
            message
                .contains("has schema version 9999, but this program supports only versions up to"),
            "{message}"
        );
    }
    assert_eq!(fs::read(sandbox.database()).unwrap(), before);
}

#[test]
fn a_truncated_store_is_corrupt() {
    let sandbox = Sandbox::with_pages();
    for number in 0..40 {
        let detail = format!("{number} ").repeat(2_000);
        sandbox.json(&["page", "create", "--parent", "usr-0", "--name", "x", "--detail", &detail]);
    }
    let whole = fs::read(sandbox.database()).unwrap();
    for part in [whole.len() / 2, 4_096, 1_000] {
        fs::write(sandbox.database(), &whole[..part]).unwrap();
        for args in [&["page", "list"][..], &["page", "remove", "usr-1"]] {
            let (kind, message) = sandbox.refused(args);
            assert_eq!(kind, "corrupt", "{part} bytes, {args:?}: {message}");
        }
        let ran = sandbox.run(&["store", "check", "--json"]);
        assert_eq!(ran.code, 1, "{part} bytes: {ran:?}");
    }
}

#[test]
fn an_empty_file_stays_empty_until_init() {
    let sandbox = Sandbox::empty();
    sandbox.write("empty.db", "");
    assert_eq!(
        sandbox.refused(&["--store", "sqlite:empty.db", "page", "list"]),
        error("not-found", "there is no store at empty.db")
    );
    assert_eq!(fs::read(sandbox.path().join("empty.db")).unwrap(), b"");
    sandbox.json(&["--store", "sqlite:empty.db", "init"]);
    assert_eq!(sandbox.files(), ["empty.db"]);
}

#[test]
fn a_locked_store_is_unavailable() {
    let sandbox = Sandbox::with_pages();
    let state = sandbox.state();
    let database = sandbox.meddle();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (kind, message) = sandbox.refused(&["page", "remove", "usr-1"]);
    assert_eq!(kind, "unavailable", "{message}");
    sandbox.json(&["page", "list"]);
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!(sandbox.state(), state);
}

/// Root may write anything, so the program is run as nobody then.
#[test]
fn a_store_that_cannot_be_written_is_unavailable() {
    let sandbox = Sandbox::with_pages();
    let mode = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let folder = sandbox.database().parent().unwrap().to_owned();
    mode(sandbox.path(), 0o755);
    let program = sandbox.path().join("contexture");
    fs::copy(assert_cmd::cargo::cargo_bin!("contexture"), &program).unwrap();
    mode(&program, 0o755);
    let before = fs::read(sandbox.database()).unwrap();
    mode(&sandbox.database(), 0o444);
    mode(&folder, 0o555);
    for args in [["page", "remove", "usr-1"], ["page", "pin", "usr-1"]] {
        let mut command = Command::new(&program);
        command.env_clear().current_dir(sandbox.path()).args(args).arg("--json");
        if fs::metadata("/proc/self").unwrap().uid() == 0 {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains(r#""kind":"unavailable""#), "{error}");
        assert!(error.contains("writable"), "{error}");
    }
    mode(&folder, 0o755);
    mode(&sandbox.database(), 0o644);
    assert_eq!(fs::read(sandbox.database()).unwrap(), before);
}
