//! kill -9 at any moment of a run of five tool calls, one of which edits a file.

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use contexture_testkit::provider::{Protocol, ProviderServer, scripts::five_calls};

use crate::agent_support::{PROTOCOLS, Stage};

const WORKER: &str = "\
---
kind: agent
name: worker
title: Worker
---
Do what you are asked.
";

/// When a process is killed: so many requests have come, and then so many milliseconds passed. The
/// steps of a run take a few each, so all of them are met over the whole.
const WAITS: [u64; 7] = [0, 2, 5, 9, 14, 20, 30];

fn start(stage: &Stage, args: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).current_dir(stage.sandbox.path()).args(args);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

// Nothing acknowledged is lost, no edit happens twice, the session stays valid for each provider, and
// the run goes on.
#[test]
fn a_run_survives_kill_9_at_any_moment() {
    let (mut killed, mut resumed) = (0, 0);
    for (at, wait) in WAITS.iter().enumerate() {
        for requests in 1..=6 {
            let protocol: Protocol = PROTOCOLS[(at + requests) % 3];
            let stage = Stage::with(protocol, ProviderServer::answering(five_calls));
            stage.agent("worker", WORKER);
            stage.sandbox.write("count.txt", "n=\n");
            stage.text(&["init"]);
            let mut child = start(&stage, &["agents", "run", "worker", "do all five"]);
            stage.server.wait_for_requests(requests);
            thread::sleep(Duration::from_millis(*wait));
            child.kill().unwrap();
            if child.wait().unwrap().code().is_none() {
                killed += 1;
            }
            resumed += u32::from(goes_on(&stage));
            let told = format!("{protocol:?}, {requests} requests and {wait} ms");
            check(&stage, &told);
        }
    }
    // Most die in the middle; the last few may have been done already.
    assert!(killed >= 30 && resumed >= 25, "{killed} killed, {resumed} resumed");
}

/// Goes on with the run; tells whether there was one to go on with.
fn goes_on(stage: &Stage) -> bool {
    let ran = stage.run(&["agents", "run", "worker", "--resume"]);
    match ran.code {
        0 => {
            assert!(ran.out.ends_with("All five are done.\n"), "{}{}", ran.out, ran.err);
            true
        }
        _ => {
            assert!(ran.err.contains("no interrupted run"), "{}", ran.err);
            false
        }
    }
}

fn check(stage: &Stage, told: &str) {
    let shown = stage.text(&["--as", "worker", "window", "--format", "openai"]);
    let file = fs::read_to_string(stage.sandbox.path().join("count.txt")).unwrap();
    match file.as_str() {
        "n=1\n" => {}
        "n=\n" => assert!(shown.contains("interrupted"), "{told}: {shown}"),
        other => panic!("{told}: {other}"),
    }
    for step in 1..=5 {
        let step = format!("Now step-{step}-call.");
        assert_eq!(shown.matches(&step).count(), 1, "{told}: {shown}");
    }
    // Every rendering is validated before it is printed.
    for format in ["responses", "anthropic", "gemini"] {
        stage.text(&["--as", "worker", "window", "--format", format]);
    }
    // Once in its own segment, once recorded in the main session.
    let all = stage.text(&["window", "--format", "openai"]);
    assert_eq!(all.matches("All five are done.").count(), 2, "{told}: {all}");
    let checked = stage.text(&["store", "check"]);
    assert!(checked.contains("ok") || checked.contains("in order"), "{told}: {checked}");
    assert_eq!(stage.server.violations(), Vec::<String>::new(), "{told}");
}
