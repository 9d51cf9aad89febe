//! Purging while a run has not ended: its record would bring the text back.

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use contexture_testkit::provider::Reply;

use crate::agent_support::Stage;

const PROMPT: &str = "the password is CANARY";

/// Starts a run that quotes the canary in its record.
fn start(stage: &Stage) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).current_dir(stage.sandbox.path());
    command.args(["agents", "run", "code-reviewer", PROMPT]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    stage.server.wait_for_requests(1);
    child
}

/// Tells whether the canary stands in a file of the store.
fn is_stored(stage: &Stage) -> bool {
    let files = fs::read_dir(stage.sandbox.path().join(".contexture")).unwrap();
    files
        .filter_map(|file| fs::read(file.unwrap().path()).ok())
        .any(|bytes| bytes.windows(6).any(|window| window == b"CANARY"))
}

// While the run goes on, and while it can be resumed, nothing is purged; once it has ended all of it is.
#[test]
fn a_run_that_can_be_resumed_stops_a_purge() {
    let stage = Stage::openai([Reply::hang(), Reply::text("resumed")]);
    stage.text(&["init"]);
    let mut child = start(&stage);
    let purge = ["page", "purge", "agent-code-reviewer-1"];
    let (kind, message) = stage.refused(&purge);
    assert_eq!(kind, "conflict");
    assert!(message.contains("agent 'code-reviewer' is running (run 1)"), "{message}");
    child.kill().unwrap();
    child.wait().unwrap();
    let refused = stage.run(&purge);
    assert_eq!(refused.code, 1);
    assert!(
        refused.err.contains("run 1 of agent 'code-reviewer' was interrupted"),
        "{}",
        refused.err
    );
    assert!(
        refused.err.contains("`contexture agents run code-reviewer --resume`"),
        "{}",
        refused.err
    );
    assert_eq!(stage.text(&["agents", "run", "code-reviewer", "--resume"]), "resumed\n");
    // It wrote its exchange to its own segment and recorded it in the main session.
    assert!(stage.text(&["window", "--format", "openai"]).contains("CANARY"));
    for page in ["agent-code-reviewer-1", "usr-1"] {
        assert_eq!(stage.text(&["page", "purge", page]), format!("purged for good: {page}\n"));
    }
    assert!(!stage.text(&["export"]).contains("CANARY"));
    assert!(!is_stored(&stage));
}

// Whoever does not want the run any more ends it with the purge; then nothing brings the text back.
#[test]
fn an_interrupted_run_is_given_up_with_a_purge() {
    let stage = Stage::openai([Reply::hang(), Reply::text("anew")]);
    stage.text(&["init"]);
    let mut child = start(&stage);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_stored(&stage));
    let told = stage.json(&["page", "purge", "agent-code-reviewer-1", "--give-up-runs"]);
    assert_eq!(told["runsGivenUp"], serde_json::json!(["run.code-reviewer.000001"]));
    assert_eq!(told["traces"], serde_json::json!([]));
    assert!(!is_stored(&stage));
    let (kind, message) = stage.refused(&["agents", "run", "code-reviewer", "--resume"]);
    assert_eq!(kind, "not-found", "{message}");
    assert_eq!(stage.text(&["agents", "run", "code-reviewer", "look"]), "anew\n");
    assert!(!stage.last_request().contains("CANARY"));
    assert!(!is_stored(&stage));
}
