//! The stores of the process are not reached, whatever they hold and whether they are there yet.

#![cfg(unix)]

use std::{fs, os::unix::fs::symlink};

use contexture_agents::tools::workspace::Protected;
use serde_json::json;
use tempfile::TempDir;

use super::{files::Project, right, wrong};

const SECRET: &str = "top secret";

#[tokio::test]
async fn a_database_is_neither_read_nor_written_with_what_lies_beside_it() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("data")).unwrap();
    // It may be damaged, or not begun: what it holds does not count.
    fs::write(root.join("data/ctx.sqlite"), SECRET).unwrap();
    fs::write(root.join("data/ctx.sqlite-shm"), SECRET).unwrap();
    fs::write(root.join("notes.txt"), "harmless").unwrap();
    symlink("data/ctx.sqlite", root.join("link")).unwrap();
    fs::hard_link(root.join("data/ctx.sqlite"), root.join("twin")).unwrap();
    fs::hard_link(root.join("data/ctx.sqlite-shm"), root.join("twin-of-shm")).unwrap();
    symlink("link", root.join("used.sqlite")).unwrap();
    // The store is used through two links.
    let protected = Protected::default().database("used.sqlite");
    let project = Project::protecting(folder, "", protected);
    for path in [
        "data/ctx.sqlite",
        "data/../data/ctx.sqlite",
        "data/CTX.sqlite",
        "data/ctx.sqlite-wal",
        "data/ctx.sqlite-JOURNAL",
        "used.sqlite-wal",
        "twin",
        "twin-wal",
        "twin-of-shm",
    ] {
        let text = wrong(project.call("write_file", json!({"path": path, "content": "x"})).await);
        assert!(text.starts_with("permission denied: "), "{path}: {text}");
        assert!(text.contains("belongs to a context store"), "{path}: {text}");
    }
    for path in ["data/ctx.sqlite", "link", "used.sqlite", "twin", "twin-of-shm"] {
        let edit = json!({"path": path, "old_text": "top", "new_text": "no"});
        wrong(project.call("edit_file", edit).await);
        let text = wrong(project.call("read_file", json!({"path": path})).await);
        assert!(text.contains("belongs to a context store"), "{path}: {text}");
        wrong(project.call("grep", json!({"pattern": "secret", "path": path})).await);
    }
    let found = right(project.call("grep", json!({"pattern": "secret|harmless"})).await);
    assert_eq!(found, "notes.txt:1: harmless");
    assert_eq!(project.content("data/ctx.sqlite"), SECRET);
    assert!(!project.folder.path().join("data/ctx.sqlite-wal").exists());
}

#[tokio::test]
async fn a_store_of_files_is_not_reached_though_it_is_damaged() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("real/sessions/default")).unwrap();
    fs::write(root.join("real/sessions/default/page.json"), SECRET).unwrap();
    symlink("real", root.join("ctx")).unwrap();
    fs::hard_link(root.join("real/sessions/default/page.json"), root.join("twin.json")).unwrap();
    let project = Project::protecting(folder, "", Protected::default().store("ctx"));
    for path in ["real/sessions/default/page.json", "ctx/sessions/default/page.json", "twin.json"] {
        let text = wrong(project.call("read_file", json!({"path": path})).await);
        assert!(text.contains("belongs to a context store"), "{path}: {text}");
        let edit = json!({"path": path, "old_text": "top", "new_text": "no"});
        wrong(project.call("edit_file", edit).await);
    }
    let found = right(project.call("grep", json!({"pattern": "secret"})).await);
    assert_eq!(found, "no line matches");
    // What comes into the store later is as much a part of it.
    let root = project.folder.path();
    fs::write(root.join("real/sessions/default/late.json"), SECRET).unwrap();
    fs::hard_link(root.join("real/sessions/default/late.json"), root.join("late.json")).unwrap();
    let text = wrong(project.call("read_file", json!({"path": "late.json"})).await);
    assert!(text.contains("belongs to a context store"), "{text}");
}

#[tokio::test]
async fn a_store_that_is_not_there_yet_is_not_made() {
    let protected = Protected::default().store("later/ctx").database("later/x.db");
    let project = Project::protecting(TempDir::new().unwrap(), "", protected);
    let write =
        async |path: &str| project.call("write_file", json!({"path": path, "content": "x"})).await;
    for path in ["later/ctx/contexture.json", "Later/CTX/x", "later/ctx", "later/x.db"] {
        let text = wrong(write(path).await);
        assert!(text.contains("belongs to a context store"), "{path}: {text}");
    }
    assert!(!project.folder.path().join("later").exists());
    right(write("later/notes.txt").await);
    for path in ["later/ctx/x", "later/x.db-wal"] {
        assert!(wrong(write(path).await).contains("belongs to a context store"), "{path}");
    }
}
