//! Stores in the project folder are not reached as files, though nobody named them: they are known by
//! what they hold, whatever they are called and however a path leads there.

#![cfg(unix)]

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{confinement::snapshot, files::Project, right, wrong};

const SECRET: &str = "top secret";

const PAGE: &str = "sessions/default/pages/agent-bob-1.json";

fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A page as a store of files keeps it.
pub(super) fn record() -> String {
    let sum = "0f".repeat(16);
    format!(
        "{{\n  \"name\": \"Bob\",\n  \"detail\": \"{SECRET}\",\n  \"checksum\": \"{sum}\"\n}}\n"
    )
}

/// The beginning of a database, and words in it.
pub(super) fn database() -> Vec<u8> {
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(68, 1);
    bytes.extend(b"Ctxr");
    bytes.resize(100, 1);
    bytes.extend(SECRET.as_bytes());
    bytes
}

/// Makes a store of files.
pub(super) fn make_store(folder: &Path) {
    let identity = "{\n  \"format\": \"contexture-files\",\n  \"schemaVersion\": 2\n}\n";
    write(&folder.join("contexture.json"), identity);
    write(&folder.join(PAGE), record());
    write(&folder.join("sessions/default/session.json"), record());
    write(&folder.join(".local/index.db"), database());
}

/// Calls that would read, find, list, change or replace what a path leads to.
fn calls(path: &str) -> [(&'static str, Value); 5] {
    [
        ("read_file", json!({"path": path})),
        ("grep", json!({"pattern": "secret", "path": path})),
        ("list_files", json!({"path": path})),
        ("edit_file", json!({"path": path, "old_text": "secret", "new_text": "public"})),
        ("write_file", json!({"path": path, "content": "owned"})),
    ]
}

#[tokio::test]
async fn every_way_into_a_store_of_files_is_refused() {
    for at in ["ctx", "deep/er/store", ".contexture/second", "Ünder Store"] {
        let folder = TempDir::new().unwrap();
        let root = folder.path();
        make_store(&root.join(at));
        write(&root.join("src/main.rs"), "harmless");
        symlink(format!("../{at}"), root.join("src/link")).unwrap();
        symlink("src/link", root.join("link_to_link")).unwrap();
        symlink(format!("{at}/{PAGE}"), root.join("page_link")).unwrap();
        fs::hard_link(root.join(at).join(PAGE), root.join("src/twin.json")).unwrap();
        fs::hard_link(root.join(at).join(".local/index.db"), root.join("src/index")).unwrap();
        symlink("src/twin.json", root.join("twin_link")).unwrap();
        let project = Project::within(folder, "");
        let root = project.folder.path().canonicalize().unwrap();
        let before = snapshot(&root);
        let absolute = root.join(at).join(PAGE).to_string_lossy().into_owned();
        let below = |start: &str| format!("{start}/{PAGE}");
        for path in [
            below(at),
            format!("src/../{at}/./{PAGE}"),
            below("src/link"),
            below("link_to_link"),
            "page_link".to_owned(),
            "src/twin.json".to_owned(),
            "src/index".to_owned(),
            "twin_link".to_owned(),
            absolute,
            at.to_owned(),
            format!("{at}/sessions"),
            format!("{at}/.local/index.db"),
            format!("{at}/contexture.json"),
            "link_to_link".to_owned(),
        ] {
            for (tool, arguments) in calls(&path) {
                let text = wrong(project.call(tool, arguments).await);
                assert!(!text.contains(SECRET), "{tool} {path}: {text}");
                let why = [
                    "belongs to a context store",
                    "is a symlink",
                    "is not written: settings",
                    "is a folder",
                ];
                let fits = |why: &&str| text.contains(why);
                assert!(why.iter().any(fits), "{tool} {path}: {text}");
            }
        }
        for new in ["sessions/default/pages/agent-bob-2.json", "sessions/x/session.json", "new"] {
            let new = json!({"path": format!("{at}/{new}"), "content": "owned"});
            wrong(project.call("write_file", new).await);
        }
        // Neither is it walked into from above.
        let listed = right(project.call("list_files", json!({})).await);
        assert!(listed.contains("src/main.rs") && !listed.contains("agent-bob"), "{listed}");
        let found = right(project.call("grep", json!({"pattern": "secret|harmless"})).await);
        assert_eq!(found, "src/main.rs:1: harmless");
        assert_eq!(snapshot(&root), before, "{at}");
    }
}

#[tokio::test]
async fn a_project_inside_a_store_has_nothing_to_read_or_write() {
    let folder = TempDir::new().unwrap();
    make_store(&folder.path().join("ctx"));
    let project = Project::within(folder, "ctx/sessions/default");
    let before = snapshot(project.folder.path());
    for path in ["pages/agent-bob-1.json", "session.json", "pages"] {
        for (tool, arguments) in calls(path) {
            let text = wrong(project.call(tool, arguments).await);
            assert!(text.contains("belongs to a context store"), "{tool} {path}: {text}");
        }
    }
    wrong(project.call("list_files", json!({})).await);
    wrong(project.call("grep", json!({"pattern": "secret"})).await);
    assert_eq!(snapshot(project.folder.path()), before);
}

#[tokio::test]
async fn a_database_is_known_under_any_name() {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    for name in ["notes.txt", "data/old.sqlite"] {
        write(&root.join(name), database());
    }
    symlink("notes.txt", root.join("link")).unwrap();
    fs::hard_link(root.join("notes.txt"), root.join("data/twin.md")).unwrap();
    write(&root.join("data/old.sqlite-wal"), SECRET);
    write(&root.join("data/other-wal"), "harmless");
    let project = Project::within(folder, "");
    let before = snapshot(project.folder.path());
    for path in ["notes.txt", "data/old.sqlite", "data/twin.md", "data/old.sqlite-wal", "link"] {
        for (tool, arguments) in calls(path) {
            let text = wrong(project.call(tool, arguments).await);
            let fits = text.contains("belongs to a context store") || text.contains("is a symlink");
            assert!(fits, "{tool} {path}: {text}");
        }
    }
    for path in ["data/old.sqlite-shm", "data/old.sqlite-JOURNAL", "notes.txt-wal"] {
        let new = json!({"path": path, "content": "owned"});
        let text = wrong(project.call("write_file", new).await);
        assert!(text.contains("belongs to a context store"), "{path}: {text}");
    }
    let found = right(project.call("grep", json!({"pattern": "secret|harmless"})).await);
    assert_eq!(found, "data/other-wal:1: harmless");
    assert_eq!(snapshot(project.folder.path()), before);
}

// What somebody copied out of a store is theirs to show.
#[tokio::test]
async fn a_copied_page_is_only_a_file() {
    let project = Project::new();
    project.write("page.json", record());
    let text = right(project.call("read_file", json!({"path": "page.json"})).await);
    assert!(text.contains(SECRET), "{text}");
}

// Otherwise an agent could put every file of a folder out of everybody's reach.
#[tokio::test]
async fn an_agent_makes_no_store() {
    let project = Project::new();
    project.write("src/contexture.json", "{\"format\": \"mine\"}");
    let identity = "{\"format\": \"contexture-files\", \"schemaVersion\": 2}";
    for path in ["contexture.json", "src/Contexture.json", "new/contexture.json"] {
        let text =
            wrong(project.call("write_file", json!({"path": path, "content": identity})).await);
        assert!(text.contains("would make its folder a context store"), "{text}");
    }
    let edit =
        json!({"path": "src/contexture.json", "old_text": "mine", "new_text": "contexture-files"});
    wrong(project.call("edit_file", edit).await);
    let text = right(project.call("read_file", json!({"path": "src/contexture.json"})).await);
    assert!(text.contains("mine"), "{text}");
}
