//! Runs that are stopped, interrupted, resumed.

use std::process::{Child, Command, Stdio};

use contexture_testkit::provider::Reply;

use crate::agent_support::Stage;

/// Starts a run in a process of its own.
fn start(stage: &Stage, args: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).current_dir(stage.sandbox.path()).args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

// Ctrl-C keeps what there is.
#[test]
fn a_run_can_be_stopped() {
    let stage = Stage::openai([Reply::hang(), Reply::text("yes")]);
    let child = start(&stage, &["agents", "run", "code-reviewer", "look"]);
    stage.server.wait_for_requests(1);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("warning: stopped; everything so far is kept\n"), "{err}");
    stage.server.wait_for_closed(1);
    let pages = stage.sandbox.indices(&["page", "children", "agent-code-reviewer-0"]);
    assert_eq!(pages, ["agent-code-reviewer-1"]);
    let shown = stage.text(&["agents", "context", "code-reviewer"]);
    assert!(shown.contains("(run 1: stopped; everything so far is kept)"), "{shown}");
    assert_eq!(stage.text(&["agents", "run", "code-reviewer", "again"]), "yes\n");
    assert!(stage.last_request().contains("again"));
}

// A run whose process was killed can be gone on with, or is closed by the next.
#[test]
fn a_killed_run_is_resumed_or_closed() {
    let stage = Stage::openai([
        Reply::call("c1", "grep", r#"{"pattern":"x"}"#),
        Reply::hang(),
        Reply::text("resumed"),
        Reply::hang(),
        Reply::text("anew"),
    ]);
    let mut child = start(&stage, &["agents", "run", "code-reviewer", "look"]);
    stage.server.wait_for_requests(2);
    let shown = stage.text(&["agents", "context", "code-reviewer"]);
    assert!(shown.contains("\nRunning: run 1, isolated, since "), "{shown}");
    // While it runs it can neither be run again nor cleared.
    for args in
        [&["agents", "run", "code-reviewer", "x"][..], &["agents", "clear", "code-reviewer"]]
    {
        let (kind, message) = stage.refused(args);
        assert_eq!(kind, "conflict", "{message}");
    }
    signal(&child, "-KILL");
    child.wait().unwrap();
    let shown = stage.text(&["agents", "context", "code-reviewer"]);
    assert!(shown.contains("\nInterrupted: run 1, isolated, since "), "{shown}");
    assert!(shown.contains("`contexture agents run code-reviewer --resume`"), "{shown}");
    assert_eq!(stage.text(&["agents", "run", "code-reviewer", "--resume"]), "resumed\n");
    let body = stage.last_request();
    assert!(body.contains("look") && body.contains("c1"), "{body}");

    let mut child = start(&stage, &["agents", "run", "code-reviewer", "once more"]);
    stage.server.wait_for_requests(4);
    signal(&child, "-KILL");
    child.wait().unwrap();
    let ran = stage.run(&["agents", "run", "code-reviewer", "something else"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "anew\n"), "{}", ran.err);
    assert!(ran.err.contains("warning: run 2 of 'code-reviewer' was interrupted"), "{}", ran.err);
    let shown = stage.text(&["agents", "context", "code-reviewer"]);
    assert!(!shown.contains("Interrupted"), "{shown}");
    stage.requests();
}
