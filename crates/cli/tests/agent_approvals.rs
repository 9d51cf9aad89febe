//! Calls that wait for an approval, answered by other processes.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use contexture_testkit::provider::Reply;
use serde_json::{Value, json};

use crate::agent_support::{Stage, is_gone};

const WRITER: &str = "---\nkind: agent\nname: writer\ntitle: Writer\n---\nWrite.\n";

const RUNNER: &str = "\
---
kind: agent
name: runner
title: Runner
tools:
  allow: [run_command]
---
Run commands.
";

fn stage(replies: impl IntoIterator<Item = Reply>) -> Stage {
    let stage = Stage::openai(replies);
    stage.agent("writer", WRITER);
    stage.agent("runner", RUNNER);
    stage.text(&["init"]);
    stage
}

fn write(id: &str, path: &str) -> Reply {
    Reply::call(id, "write_file", &format!(r#"{{"path":"{path}","content":"x"}}"#))
}

fn run(command: &str) -> Reply {
    Reply::call("c1", "run_command", &json!({ "command": command }).to_string())
}

/// Writes the settings of the user.
fn users_settings(stage: &Stage, settings: &Value) {
    let folder = stage.sandbox.path().join("home/.config/contexture");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.json"), settings.to_string()).unwrap();
}

fn exists(stage: &Stage, path: &str) -> bool {
    stage.sandbox.path().join(path).exists()
}

fn start(stage: &Stage, args: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).current_dir(stage.sandbox.path()).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

// With nobody at standard input, and where nobody is to be asked now.
#[test]
fn a_call_waits_for_another_process() {
    for ask in [&["--ask"][..], &["--ask", "later"], &["--ask=later"]] {
        let stage = stage([write("c1", "a.txt"), Reply::text("written")]);
        let ran = stage.run(&[&["agents", "run", "writer"], ask, &["write it"]].concat());
        assert_eq!(ran.code, 4, "{ask:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("writer/1  c1  waits since "), "{}", ran.err);
        assert!(ran.err.contains("`contexture agents approve writer/1 all`"), "{}", ran.err);
        assert!(!exists(&stage, "a.txt"));
        let listed = stage.text(&["agents", "approvals"]);
        let question = "  write_file a.txt: creates a new file of 1 byte\n    content: x\n";
        assert!(listed.contains(question), "{listed}");
        assert_eq!(stage.text(&["agents", "approvals", "runner"]), "");
        let shown = stage.text(&["agents", "context", "writer"]);
        assert!(shown.contains("\nWaiting for approval: run 1, isolated, since "), "{shown}");
        // It does not go on, and says for what it waits.
        let still = stage.run(&["agents", "run", "writer", "--resume", "--json"]);
        assert_eq!(still.code, 4, "{}", still.err);
        let still: Value = serde_json::from_str(&still.out).unwrap();
        assert_eq!(
            (&still["ending"], &still["waiting"][0]["call"]),
            (&json!("waiting"), &json!("c1"))
        );
        assert_eq!(stage.requests().len(), 1);

        let said = stage.text(&["--by", "anna", "agents", "approve", "writer/1", "c1"]);
        assert!(said.ends_with("approved c1 of writer/1\n") && said.contains(question), "{said}");
        let (kind, message) = stage.refused(&["agents", "deny", "writer/1", "c1"]);
        assert_eq!(kind, "conflict");
        assert!(
            message.starts_with("call c1 of run writer/1 was approved by user:anna"),
            "{message}"
        );
        let ran = stage.run(&["agents", "run", "writer", "--resume"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, "written\n"), "{}", ran.err);
        assert!(ran.err.contains("write_file (c1) was approved by user:anna"), "{}", ran.err);
        assert!(exists(&stage, "a.txt"));
        let (kind, message) = stage.refused(&["agents", "approve", "writer/1", "all"]);
        assert_eq!(
            (kind.as_str(), message.as_str()),
            ("not-found", "run writer/1 has ended or does not exist")
        );
    }
}

#[test]
fn a_denied_call_is_answered_with_the_reason() {
    let stage = stage([write("c1", "a.txt"), Reply::text("then not")]);
    stage.run(&["agents", "run", "writer", "write it", "--ask", "later"]);
    let denied = stage.json(&["agents", "deny", "writer/1", "all", "--reason", "not on a Friday"]);
    assert_eq!(denied["decision"], "denied");
    assert_eq!(stage.text(&["agents", "run", "writer", "--resume"]), "then not\n");
    let answers = stage.answers();
    assert_eq!(
        answers["c1"],
        "permission denied: the user did not allow this call: not on a Friday"
    );
    assert!(!exists(&stage, "a.txt"));
}

// What a call would do is looked up when it is shown: an edit may have become impossible.
#[test]
fn the_question_is_about_the_present() {
    let edit = r#"{"path":"a.txt","old_text":"one","new_text":"two"}"#;
    let stage = stage([Reply::call("c1", "edit_file", edit)]);
    stage.sandbox.write("a.txt", "one\n");
    let ran = stage.run(&["agents", "run", "writer", "edit it", "--ask", "later"]);
    assert!(ran.err.contains("  edit_file a.txt\n    - one\n    + two\n"), "{}", ran.err);
    stage.sandbox.write("a.txt", "three\n");
    let approved = stage.text(&["agents", "approve", "writer/1", "c1"]);
    let fails = "  edit_file a.txt: it will fail: old_text does not occur in a.txt";
    assert!(approved.contains(fails), "{approved}");
}

#[test]
fn bad_answers_are_refused() {
    let stage = stage([write("c1", "a.txt")]);
    stage.run(&["agents", "run", "writer", "write it", "--ask", "later"]);
    for (args, kind) in [
        (&["agents", "approve", "writer/1", "c9"][..], "not-found"),
        (&["agents", "approve", "writer/7", "c1"], "not-found"),
        (&["agents", "approve", "nobody/1", "c1"], "not-found"),
        (&["agents", "approve", "writer", "c1"], "invalid"),
        (&["--as", "writer", "agents", "approve", "writer/1", "c1"], "permission-denied"),
        (&["--as", "writer", "agents", "approvals"], "permission-denied"),
    ] {
        assert_eq!(stage.refused(args).0, kind, "{args:?}");
    }
    // As with runs that were interrupted.
    let (kind, _) = stage.refused(&["page", "purge", "agent-writer-1"]);
    assert_eq!(kind, "conflict");
    let cleared = stage.text(&["agents", "clear", "writer"]);
    assert!(cleared.contains("gave up 1 interrupted run"), "{cleared}");
    assert_eq!(stage.text(&["agents", "approvals"]), "");
}

// The approval outlives every process; the call is made once, whenever a process dies.
#[test]
fn an_approved_call_is_made_once_whatever_dies() {
    let command = "echo made >> made.txt; sleep 1000 & echo $! > pid.tmp; mv pid.tmp pid; wait";
    let stage = stage([run(command), Reply::text("who knows")]);
    let waits = stage.run(&["agents", "run", "runner", "go"]);
    assert_eq!(waits.code, 4, "{}", waits.err);
    stage.text(&["agents", "approve", "runner/1", "all"]);
    let mut child = start(&stage, &["agents", "run", "runner", "--resume"]);
    while !exists(&stage, "pid") {
        std::thread::yield_now();
    }
    // While a process drives the run, nobody else answers.
    let (kind, _) = stage.refused(&["agents", "approve", "runner/1", "all"]);
    assert_eq!(kind, "conflict");
    child.kill().unwrap();
    child.wait().unwrap();
    // Nobody could end what it had started.
    let left = fs::read_to_string(stage.sandbox.path().join("pid")).unwrap();
    Command::new("kill").args(["-KILL", left.trim()]).status().unwrap();
    assert_eq!(stage.text(&["agents", "run", "runner", "--resume"]), "who knows\n");
    assert!(stage.answers()["c1"].starts_with("interrupted: whether this call took effect"));
    let made = fs::read_to_string(stage.sandbox.path().join("made.txt")).unwrap();
    assert_eq!(made, "made\n");
}

// A process may die before it has begun the call, or after: at its MCP server, and at the model.
#[test]
fn an_approval_outlives_the_process_that_was_to_act_on_it() {
    let stage = stage([write("c1", "a.txt"), Reply::hang(), Reply::text("written")]);
    stage.agent("writer", &WRITER.replace("title: W", "mcp:\n  servers: [slow]\ntitle: W"));
    stage.settings(&json!({
        "agents": { "defaultModel": "openai/gpt-4o" },
        "mcpServers": { "slow": { "command": "sh", "args": ["-c", "echo > begun; read line"] } },
    }));
    stage.run(&["agents", "run", "writer", "write it", "--ask", "later"]);
    stage.text(&["agents", "approve", "writer/1", "c1"]);
    let kill = |mut child: Child| {
        child.kill().unwrap();
        child.wait().unwrap();
    };
    let child = start(&stage, &["agents", "run", "writer", "--resume", "--trust-mcp"]);
    while !exists(&stage, "begun") {
        std::thread::yield_now();
    }
    kill(child);
    assert!(!exists(&stage, "a.txt"));
    let child = start(&stage, &["agents", "run", "writer", "--resume"]);
    stage.server.wait_for_requests(2);
    kill(child);
    assert!(exists(&stage, "a.txt"));
    fs::write(stage.sandbox.path().join("a.txt"), "changed since").unwrap();
    assert_eq!(stage.text(&["agents", "run", "writer", "--resume"]), "written\n");
    // It was made before, and not again.
    assert_eq!(fs::read_to_string(stage.sandbox.path().join("a.txt")).unwrap(), "changed since");
}

#[test]
fn commands_wait_unless_the_users_settings_allow_them() {
    let replies = || [run("printf 'one\\ntwo\\n'; exit 3"), Reply::text("ran")];
    // The project's settings do not decide it.
    let stage_asks = stage(replies());
    let settings = json!({ "agents": { "defaultModel": "openai/gpt-4o" }, "tools": { "runCommand": "allow" } });
    stage_asks.settings(&settings);
    let ran = stage_asks.run(&["agents", "run", "runner", "go"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(
        ran.err.contains("tools.runCommand is ignored: only your own settings decide"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("  run_command printf 'one\\ntwo\\n'; exit 3\n"), "{}", ran.err);

    let stage = stage(replies());
    let settings = json!({ "tools": { "runCommand": ["printf 'one\\ntwo\\n'; exit 3"] } });
    users_settings(&stage, &settings);
    assert_eq!(stage.text(&["agents", "run", "runner", "go"]), "ran\n");
    assert_eq!(stage.answers()["c1"], "exit code 3\none\ntwo\n");
}

#[test]
fn a_tool_that_is_not_named_is_not_there() {
    let stage = stage([run("touch made.txt"), Reply::text("no")]);
    assert_eq!(stage.text(&["agents", "run", "writer", "go"]), "no\n");
    assert!(stage.answers()["c1"].contains("permission denied: tool 'run_command' is not allowed"));
    assert!(!exists(&stage, "made.txt"));
}

// Ctrl-C ends the command with all it started, and keeps what there is.
#[test]
fn a_command_is_stopped_with_its_run() {
    let stage = stage([run("sh -c 'sleep 1000 & echo $! > pid.tmp; mv pid.tmp pid; wait'; true")]);
    let settings = json!({ "tools": { "runCommand": "allow" } });
    users_settings(&stage, &settings);
    let child = start(&stage, &["agents", "run", "runner", "go"]);
    while !exists(&stage, "pid") {
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let pid = fs::read_to_string(stage.sandbox.path().join("pid")).unwrap();
    assert!(is_gone(&pid), "process {pid} is left");
}

// What a command wrote is stored whole, and a window shows the beginning and the end of it.
#[test]
fn long_output_is_stored_whole_and_shown_cut() {
    let stage = stage([run("seq 1 60000"), Reply::text("counted")]);
    let settings = json!({ "tools": { "runCommand": "allow" } });
    users_settings(&stage, &settings);
    assert_eq!(stage.text(&["agents", "run", "runner", "go"]), "counted\n");
    let shown = &stage.answers()["c1"];
    assert!(
        shown.starts_with("exit code 0\n1\n2\n") && shown.ends_with("59999\n60000\n"),
        "{}",
        shown.len()
    );
    assert!(!shown.contains("\n30000\n"), "{}", shown.len());
    let stored = stage.text(&["page", "show", "agent-runner-1"]);
    for number in [1, 30_000, 60_000] {
        assert!(stored.contains(&format!("\n{number}\n")), "{number}");
    }
}
