//! `run_command`: what it runs, what it reports, and that no process outlives it.

#![cfg(unix)]

use std::{fs, path::Path, sync::Arc, time::Duration};

use contexture_agents::{
    Tool,
    definition::ToolRules,
    tool::Effect,
    tools::{
        Toolbox,
        workspace::{CommandApproval, CommandOptions, Workspace, run_command},
    },
};
use serde_json::json;

use super::{call, right, wrong};

fn tool_with(folder: &Path, options: CommandOptions) -> Arc<dyn Tool> {
    run_command(&Arc::new(Workspace::open(folder).unwrap()), options)
}

fn tool(folder: &Path) -> Arc<dyn Tool> {
    tool_with(folder, CommandOptions::default())
}

/// Tells whether a process runs; one that has ended may still be listed.
fn runs(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, state)| !matches!(state.trim().chars().next(), Some('Z' | 'X')))
}

/// Waits until a process is gone: killing is asked for, and the system takes a moment to do it.
fn is_gone(process: &str) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        !runs(process)
    })
}

#[tokio::test]
async fn a_command_reports_how_it_ended_and_what_it_wrote_in_order() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    let tool = tool(folder.path());
    let script = "echo one; echo two >&2; echo three; cat; pwd | sed 's|.*/||'";
    let ran = right(tool.call(&json!({"command": script, "cwd": "src"})).await);
    assert_eq!(ran, "exit code 0\none\ntwo\nthree\nsrc\n");
    assert_eq!(wrong(tool.call(&json!({"command": "exit 3"})).await), "exit code 3\n(no output)");
    let killed = wrong(tool.call(&json!({"command": "kill -TERM $$"})).await);
    assert_eq!(killed, "killed by signal 15\n(no output)");
    std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
    for (cwd, said) in [
        ("..", "permission denied: .. lies outside the project folder"),
        ("root/tmp", "permission denied: root/tmp leads out of the project"),
        ("none", "no folder none"),
    ] {
        assert_eq!(wrong(tool.call(&json!({"command": "pwd", "cwd": cwd})).await), said);
    }
    for seconds in [0, 601] {
        let refused = tool.call(&json!({"command": "pwd", "timeout_seconds": seconds})).await;
        assert_eq!(wrong(refused), "timeout_seconds must be 1 to 600");
    }
}

#[tokio::test]
async fn a_command_inherits_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    // A variable that every run of the tests has.
    let withheld = vec!["CARGO_MANIFEST_DIR".to_owned()];
    let options = CommandOptions { withheld, ..CommandOptions::default() };
    let ran = right(tool_with(folder.path(), options).call(&json!({"command": "env"})).await);
    assert!(ran.contains("\nPATH=") && !ran.contains("CARGO_MANIFEST_DIR"), "{ran}");
}

// Its own children, and theirs.
#[tokio::test]
async fn every_process_ends_at_the_time_limit_and_with_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let tool = tool(folder.path());
    let script = "sh -c 'sleep 1000 & echo $! > deep; wait' & echo begun; wait";
    let ran = tool.call(&json!({"command": script, "timeout_seconds": 1})).await;
    assert_eq!(wrong(ran), "killed at its time limit of 1 s\nbegun\n");
    let deep = fs::read_to_string(folder.path().join("deep")).unwrap();
    assert!(is_gone(&deep), "{deep}");

    let ran = tool.call(&json!({"command": "sleep 1000 & echo $! > left; echo done"})).await;
    assert_eq!(right(ran), "exit code 0\ndone\n");
    let left = fs::read_to_string(folder.path().join("left")).unwrap();
    assert!(is_gone(&left), "{left}");
}

// As when a run is stopped: the call is dropped.
#[tokio::test]
async fn every_process_ends_when_the_call_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let tool = tool(folder.path());
    let script = "sh -c 'sleep 1000 & echo $! > deep.tmp; mv deep.tmp deep; wait' & wait";
    let arguments = json!({ "command": script });
    let begun = async {
        while !folder.path().join("deep").exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        ran = tool.call(&arguments) => panic!("{ran:?}"),
        () = begun => {}
    }
    let deep = fs::read_to_string(folder.path().join("deep")).unwrap();
    assert!(is_gone(&deep), "{deep}");
}

#[tokio::test]
async fn commands_are_asked_about_unless_the_user_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let named = ToolRules { allow: Some(vec!["run_command".to_owned()]), deny: Vec::new() };
    let listed = CommandApproval::Listed(vec!["git status".to_owned()]);
    for (approval, status, other) in [
        (CommandApproval::Ask, true, true),
        (CommandApproval::Allow, false, false),
        (listed, false, true),
    ] {
        let options = CommandOptions { approval: approval.clone(), ..CommandOptions::default() };
        let toolbox = Toolbox::new(vec![tool_with(folder.path(), options)], &named);
        let asks = |command: &str, every_change: bool| {
            toolbox.needs_approval(&call("run_command", &json!({"command": command})), every_change)
        };
        assert_eq!(asks("git status", false), status, "{approval:?}");
        // A list names commands, not how they begin.
        assert_eq!(asks("git status; rm -rf .", false), other, "{approval:?}");
        assert!(asks("git status", true), "a run that asks about changes asks about commands");
    }
    assert_eq!(tool(folder.path()).effect(), Effect::Changes);
}

#[tokio::test]
async fn agents_run_commands_only_if_their_file_names_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let rules = |allow: Option<&[&str]>| ToolRules {
        allow: allow.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        deny: Vec::new(),
    };
    for (allow, offered) in
        [(None, false), (Some(&["*"][..]), false), (Some(&["run_command"][..]), true)]
    {
        let toolbox = Toolbox::new(vec![tool(folder.path())], &rules(allow));
        assert_eq!(toolbox.specs().len(), usize::from(offered), "{allow:?}");
        let ran = toolbox.run(&call("run_command", &json!({"command": "echo hi"}))).await;
        assert_eq!(ran.error, !offered, "{}", ran.text);
    }
}

// Somebody who allows a command must have seen all of it.
#[tokio::test]
async fn the_question_shows_the_whole_command() {
    let folder = tempfile::tempdir().unwrap();
    let named = ToolRules { allow: Some(vec!["run_command".to_owned()]), deny: Vec::new() };
    let toolbox = Toolbox::new(vec![tool(folder.path())], &named);
    let command = format!("echo {}; rm -rf /; echo {}", "a".repeat(500), "b".repeat(500));
    let question = toolbox.question(&call("run_command", &json!({ "command": command }))).await;
    assert_eq!(question.unwrap().lines(), [format!("run_command {command}")]);
}
