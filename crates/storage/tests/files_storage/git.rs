//! A folder in git: an edit touches few files, reading touches none, and another commit checked out is
//! simply another state.

use std::{path::Path, process::Command};

use contexture_core::{Edit, PageStorage};
use contexture_testkit::fixture::{apply, leaf, page, reopen, session_id};
use futures::executor::block_on;

use crate::{
    everything, fill,
    missing::{fill_all, write_beside},
    open, write,
};

fn git(dir: &Path, arguments: &[&str]) -> String {
    let out = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.autocrlf=true"])
        .args(arguments)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn commit(dir: &Path, what: &str) {
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-qm", what]);
}

#[test]
fn an_edit_touches_few_files_and_shows_what_was_said() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let storage = open(dir.path());
    let system = fill(&storage);
    commit(dir.path(), "first");
    // Reading, opening and counting change nothing that git sees.
    everything(&storage);
    drop(open(dir.path()));
    assert_eq!(git(dir.path(), &["status", "--porcelain"]), "");

    write(&system, "usr-2", "first line\nanother line\nthird line");
    git(dir.path(), &["add", "-A"]);
    let touched = git(dir.path(), &["diff", "--cached", "--name-status"]);
    let lines: Vec<&str> = touched.lines().collect();
    assert_eq!(lines.len(), 5, "{touched}");
    for line in [
        "M\tsessions/test/pages/usr-2.json",
        "M\tsessions/test/segments/usr.json",
        "M\tsessions/test/session.json",
    ] {
        assert!(lines.contains(&line), "{touched}");
    }
    let added =
        |folder: &str| lines.iter().any(|line| line.starts_with('A') && line.contains(folder));
    assert!(added("/history/") && added("/contents/"), "{touched}");
    let diff = git(dir.path(), &["diff", "--cached", "-U0", "--", "sessions/test/pages"]);
    assert!(diff.contains("\"second line\"") && diff.contains("+"), "{diff}");
    let changed: Vec<&str> = diff.lines().filter(|line| line.contains(" line\"")).collect();
    assert_eq!(changed.len(), 2, "only the line that changed: {diff}");
}

// After a checkout the storage simply works, whether it was open meanwhile or not.
#[test]
fn another_commit_checked_out_is_another_state() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let storage = open(dir.path());
    let system = fill_all(&storage);
    commit(dir.path(), "first");
    let first = everything(&storage);
    write(&system, "usr-2", "later text");
    write_beside(&storage, &system, 2);
    block_on(async {
        leaf(&system, "usr-0", "later page").await;
        apply(&system, Edit::MovePage { page: page("usr-3"), to: page("usr-0") }).await;
        apply(&system, Edit::PurgePage(page("usr-4"))).await;
    });
    commit(dir.path(), "second");
    let second = everything(&storage);
    assert_ne!(first, second);
    drop(system);

    for _ in 0..2 {
        for (commit, state) in [("HEAD~1", &first), ("main", &second)] {
            git(dir.path(), &["checkout", "-q", commit]);
            assert_eq!(everything(&storage), *state);
            assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
            assert_eq!(everything(&open(dir.path())), *state);
        }
    }
    // Work goes on from there.
    git(dir.path(), &["checkout", "-q", "HEAD~1"]);
    let system = block_on(reopen(storage.clone()));
    write(&system, "usr-2", "a branch");
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
    commit(dir.path(), "branch");
    drop((system, storage));
    git(dir.path(), &["checkout", "-q", "main"]);
    assert_eq!(everything(&open(dir.path())), second);
}

// What git does not know stays where it is when another commit is checked out: files of two states are
// none, until the others are cleaned away.
#[test]
fn what_a_checkout_leaves_behind_is_named() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let storage = open(dir.path());
    let system = fill(&storage);
    commit(dir.path(), "first");
    let first = everything(&storage);
    write_beside(&storage, &system, 1);
    drop(system);
    git(dir.path(), &["stash", "-q"]);
    let refused = block_on(storage.session(&session_id())).unwrap_err();
    assert!(refused.to_string().contains("sessions/test/history"), "{refused}");
    let problems = block_on(storage.verify()).unwrap();
    for place in ["history", "custom.json", "runs", "ledger"] {
        let place = format!("sessions/test/{place}: ");
        assert!(problems.iter().any(|line| line.starts_with(&place)), "{problems:?}");
    }
    git(dir.path(), &["clean", "-d", "-f", "-q"]);
    assert_eq!(everything(&storage), first);
    assert_eq!(block_on(storage.verify()).unwrap(), [""; 0]);
}

// A clone has no local folder; everything in it is made again.
#[test]
fn a_clone_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (origin, clone) = (dir.path().join("origin"), dir.path().join("clone"));
    let storage = open(&origin);
    drop(fill(&storage));
    git(&origin, &["init", "-q"]);
    commit(&origin, "all");
    git(dir.path(), &["clone", "-q", "origin", "clone"]);
    assert!(!clone.join(".local").exists());
    assert_eq!(everything(&open(&clone)), everything(&storage));
    // A session that appears or goes by git's hand is listed or not.
    let cloned = open(&clone);
    std::fs::rename(clone.join("sessions/test"), dir.path().join("away")).unwrap();
    assert_eq!(block_on(cloned.sessions(None, 9)).unwrap(), []);
    std::fs::rename(dir.path().join("away"), clone.join("sessions/test")).unwrap();
    assert_eq!(block_on(cloned.sessions(None, 9)).unwrap().len(), 1);
}
