//! A model that tries to get at a store in the project through its tools on files: real runs.

#![cfg(unix)]

use std::{collections::BTreeMap, fs, os::unix::fs::symlink, path::Path};

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::agent_support::Stage;

const SECRET: &str = "plover-egg";

const BOB: &str =
    "---\nkind: agent\nname: bob\ntitle: Bob\ncontextMode: isolated\n---\nRemember.\n";

const MALLORY: &str =
    "---\nkind: agent\nname: mallory\ntitle: Mallory\ncontextMode: isolated\n---\nLook around.\n";

const PAGE: &str = "ctx/sessions/default/pages/agent-bob-1.json";

/// What a model might call to read or change another agent's page, with an id for each.
fn attempts() -> Vec<(&'static str, &'static str, Value)> {
    let edit = |path: &str| json!({"path": path, "old_text": "the password is", "new_text": "x"});
    let write = |path: &str| json!({"path": path, "content": "{\"owned\": true}"});
    vec![
        ("read", "read_file", json!({"path": PAGE})),
        ("read-around", "read_file", json!({"path": format!("src/../{PAGE}")})),
        ("read-link", "read_file", json!({"path": PAGE.replace("ctx", "src/link")})),
        ("read-twin", "read_file", json!({"path": "src/twin.json"})),
        ("read-index", "read_file", json!({"path": "ctx/.local/index.db"})),
        ("grep", "grep", json!({"pattern": "plover", "path": "ctx"})),
        ("grep-page", "grep", json!({"pattern": "plover", "path": PAGE})),
        ("grep-link", "grep", json!({"pattern": "plover", "path": "src/link"})),
        ("list", "list_files", json!({"path": "ctx"})),
        ("list-below", "list_files", json!({"path": "ctx/sessions/default/pages"})),
        ("edit", "edit_file", edit(PAGE)),
        ("edit-twin", "edit_file", edit("src/twin.json")),
        ("write", "write_file", write(PAGE)),
        ("write-new", "write_file", write("ctx/sessions/default/pages/agent-bob-9.json")),
        ("write-session", "write_file", write("ctx/sessions/other/session.json")),
        ("write-twin", "write_file", write("src/twin.json")),
    ]
}

/// Everything below a folder, byte for byte.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.to_string_lossy().into_owned(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// Lets an agent tell a secret to a store of files, then another reach for it while `store` is used.
fn attack(store: &[&str], environment: Option<(&str, &str)>) -> Stage {
    let mut calls = Reply::empty();
    for (id, tool, arguments) in attempts() {
        calls = calls.tool_call(id, tool, &arguments.to_string());
    }
    let calls = calls.tool_call("list-all", "list_files", "{}").tool_call(
        "grep-all",
        "grep",
        r#"{"pattern":"plover|main"}"#,
    );
    let stage = Stage::openai([Reply::text("noted"), calls, Reply::text("nothing found")]);
    stage.agent("bob", BOB);
    stage.agent("mallory", MALLORY);
    stage.text(&["--store", "files:ctx", "init"]);
    let told = format!("the password is {SECRET}");
    stage.text(&["--store", "files:ctx", "agents", "run", "bob", &told]);
    let root = stage.sandbox.path();
    assert!(fs::read_to_string(root.join(PAGE)).unwrap().contains(SECRET));
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    symlink("../ctx", root.join("src/link")).unwrap();
    fs::hard_link(root.join(PAGE), root.join("src/twin.json")).unwrap();

    let before = files(&root.join("ctx"));
    let mut command = stage.command(&[store, &["agents", "run", "mallory", "look"]].concat());
    if let Some((name, value)) = environment {
        command.env(name, value);
    }
    let ran = crate::support::Ran::of(&mut command);
    assert_eq!((ran.code, ran.out.as_str()), (0, "nothing found\n"), "{}", ran.err);

    let answers = stage.answers();
    for (id, ..) in attempts() {
        assert!(answers[id].contains("belongs to a context store"), "{id}: {}", answers[id]);
    }
    let listed: Vec<&str> = answers["list-all"].lines().collect();
    assert!(listed.contains(&"src/main.rs"), "{listed:?}");
    assert!(!listed.iter().any(|line| line.starts_with("ctx/")), "{listed:?}");
    assert_eq!(answers["grep-all"], "src/main.rs:1: fn main() {}");
    assert!(!stage.last_request().contains(SECRET));

    let after = files(&root.join("ctx"));
    let used = store == ["--store", "files:ctx"];
    for (path, bytes) in &before {
        // The run is kept in the store it uses: its head, its counters and what is local change.
        let own =
            used && !["/pages/", "/contents/", "/history/"].iter().any(|it| path.contains(it));
        assert!(own || after.get(path) == Some(bytes), "{path} changed");
    }
    assert!(used || after.len() == before.len(), "files were added");
    assert!(!root.join("ctx/sessions/default/pages/agent-bob-9.json").exists());
    assert_eq!(stage.run(&["--store", "files:ctx", "store", "check"]).code, 0);
    stage
}

#[test]
fn the_store_in_use_is_out_of_reach() {
    attack(&["--store", "files:ctx"], None);
}

#[test]
fn a_store_that_is_not_in_use_is_out_of_reach() {
    attack(&[], None);
}

// The one that the environment names, though the call names another.
#[test]
fn the_environments_store_is_out_of_reach() {
    attack(
        &["--store", "sqlite:.contexture/contexture.db"],
        Some(("CONTEXTURE_STORE", "files:ctx")),
    );
}

// A database under a name that says nothing.
#[test]
fn a_database_in_the_project_is_out_of_reach() {
    let read = |id: &str, path: &str| (id.to_owned(), "read_file", json!({"path": path}));
    let write =
        |id: &str, path: &str| (id.to_owned(), "write_file", json!({"path": path, "content": "x"}));
    let attempts = [
        read("1", "notes.txt"),
        read("2", "old.txt"),
        write("3", "notes.txt"),
        write("4", "notes.txt-wal"),
        write("5", "old.txt"),
        write("6", "old.txt-journal"),
        write("7", "twin.txt"),
    ];
    let mut calls = Reply::empty();
    for (id, tool, arguments) in &attempts {
        calls = calls.tool_call(id, tool, &arguments.to_string());
    }
    let stage = Stage::openai([calls, Reply::text("nothing found")]);
    stage.agent("mallory", MALLORY);
    for store in ["sqlite:notes.txt", "sqlite:old.txt"] {
        stage.text(&["--store", store, "init"]);
    }
    let root = stage.sandbox.path();
    fs::hard_link(root.join("old.txt"), root.join("twin.txt")).unwrap();
    let before = fs::read(root.join("old.txt")).unwrap();
    stage.text(&["--store", "sqlite:notes.txt", "agents", "run", "mallory", "look"]);
    for (id, answer) in stage.answers() {
        assert!(answer.contains("belongs to a context store"), "{id}: {answer}");
    }
    assert_eq!(fs::read(root.join("old.txt")).unwrap(), before);
    for store in ["sqlite:notes.txt", "sqlite:old.txt"] {
        assert_eq!(stage.run(&["--store", store, "store", "check"]).code, 0, "{store}");
    }
}
