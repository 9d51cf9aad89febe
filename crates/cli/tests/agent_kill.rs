//! kill -9 at any moment of a run of five tool calls, one of which edits a file.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
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

/// When a process is killed.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// So many requests have come, and the last is not answered.
    Asked(usize),
    /// So many requests have come, and of the last answer so many events.
    Answering(usize, usize),
    /// It has said so many lines: one for each call and one for each result.
    Said(usize),
}

impl Moment {
    /// All that a run of five calls has: while it asks, while it is answered, while it works.
    fn all() -> Vec<Self> {
        let asked = (1..=6).map(Moment::Asked);
        let answering = (1..=6).flat_map(|request| [1, 2].map(|at| Moment::Answering(request, at)));
        asked.chain(answering).chain((1..=10).map(Moment::Said)).collect()
    }

    /// Returns the request that is held, and after how many events of its answer: the run cannot end
    /// before it is killed.
    fn held(self) -> (usize, usize) {
        match self {
            Moment::Asked(request) => (request, 0),
            Moment::Answering(request, events) => (request, events),
            Moment::Said(lines) => (lines.div_ceil(2) + 1, 0),
        }
    }

    /// Waits until it has come.
    fn wait(self, stage: &Stage, child: &mut Child) {
        match self {
            Moment::Asked(requests) | Moment::Answering(requests, _) => {
                stage.server.wait_for_requests(requests);
            }
            Moment::Said(count) => {
                let said = BufReader::new(child.stderr.take().unwrap());
                assert_eq!(said.lines().take(count).map(Result::unwrap).count(), count);
            }
        }
    }
}

fn start(stage: &Stage, args: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).current_dir(stage.sandbox.path()).args(args);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

// Nothing acknowledged is lost, no edit happens twice, the session stays valid for each provider, and
// the run goes on.
#[test]
fn a_run_survives_kill_9_at_any_moment() {
    for (at, moment) in Moment::all().into_iter().enumerate() {
        let protocol: Protocol = PROTOCOLS[at % 3];
        let (request, events) = moment.held();
        let come = AtomicUsize::new(0);
        let server = ProviderServer::answering(move |asked| {
            let reply = five_calls(asked);
            match come.fetch_add(1, Ordering::SeqCst) + 1 == request {
                true => reply.hang_after(events),
                false => reply,
            }
        });
        let stage = Stage::with(protocol, server);
        stage.agent("worker", WORKER);
        stage.sandbox.write("count.txt", "n=\n");
        stage.text(&["init"]);
        let mut child = start(&stage, &["agents", "run", "worker", "do all five"]);
        moment.wait(&stage, &mut child);
        child.kill().unwrap();
        let told = format!("{protocol:?}, {moment:?}");
        assert_eq!(child.wait().unwrap().code(), None, "{told}: it was killed");
        // A request that it had not sent yet is answered when the run is resumed.
        stage.server.release();
        resumes(&stage, &told);
        check(&stage, &told);
    }
}

/// Goes on with the run that was killed.
fn resumes(stage: &Stage, told: &str) {
    let ran = stage.run(&["agents", "run", "worker", "--resume"]);
    assert_eq!(ran.code, 0, "{told}: {}", ran.err);
    assert!(ran.out.ends_with("All five are done.\n"), "{told}: {}{}", ran.out, ran.err);
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
    assert!(checked.ends_with(": no problems found\n"), "{told}: {checked}");
    assert_eq!(stage.server.violations(), Vec::<String>::new(), "{told}");
}
