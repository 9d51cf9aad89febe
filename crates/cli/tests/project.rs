//! A project is found from any folder below it.

use std::fs;

use serde_json::json;

use crate::support::{Ran, Sandbox};

/// Runs a command in a folder of the sandbox.
fn text_in(sandbox: &Sandbox, folder: &str, args: &[&str]) -> String {
    let mut command = sandbox.command(args);
    let ran = Ran::of(command.current_dir(sandbox.path().join(folder)));
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out
}

// In a subfolder the store and the agents of the project are those of its root; `init` makes a project
// where it is run, and a store that is named wins.
#[test]
fn a_subfolder_belongs_to_its_project() {
    let sandbox = Sandbox::with_talk(1);
    for folder in [".contexture/agents", "src/deep"] {
        fs::create_dir_all(sandbox.path().join(folder)).unwrap();
    }
    sandbox.write(
        ".contexture/agents/helper.md",
        "---\nkind: agent\nname: helper\ntitle: Helper\n---\nHelp.\n",
    );
    let window = sandbox.text(&["window"]);
    assert_eq!(text_in(&sandbox, "src/deep", &["window"]), window);
    text_in(&sandbox, "src", &["turn", "add", "--user", "from below"]);
    assert!(sandbox.text(&["window"]).contains("from below"));
    assert!(text_in(&sandbox, "src/deep", &["agents", "list"]).contains("helper"));
    assert!(!sandbox.path().join("src/.contexture").exists());

    text_in(&sandbox, "src/deep", &["init"]);
    assert!(sandbox.path().join("src/deep/.contexture/contexture.db").exists());
    assert!(!text_in(&sandbox, "src/deep", &["window"]).contains("from below"));
    assert!(text_in(&sandbox, "src", &["window"]).contains("from below"));
    let named = ["--store", "sqlite:../../.contexture/contexture.db", "window"];
    assert!(text_in(&sandbox, "src/deep", &named).contains("from below"));
}

// Conversations are not committed by accident; what somebody wrote there stays.
#[test]
fn init_keeps_conversations_out_of_git() {
    let sandbox = Sandbox::new();
    let read = || fs::read_to_string(sandbox.path().join(".contexture/.gitignore")).unwrap();
    let ignored = read();
    assert!(ignored.lines().any(|line| line == "/*.db*"), "{ignored}");
    sandbox.write(".contexture/.gitignore", "mine\n");
    sandbox.json(&["init"]);
    assert_eq!(read(), "mine\n");
    let elsewhere = Sandbox::empty();
    let made = elsewhere.json(&["--store", "sqlite:data.db", "init"]);
    assert_eq!(made["created"], json!(true));
    assert_eq!(elsewhere.files().iter().filter(|file| file.contains("gitignore")).count(), 0);
}
