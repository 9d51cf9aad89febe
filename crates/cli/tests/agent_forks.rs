//! Forks by the command line: processes that begin, die and go on with them.

use std::{
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use contexture_testkit::provider::{Protocol, ProviderServer, Reply};
use serde_json::json;

use crate::agent_support::{PROTOCOLS, Stage};

const HELPER: &str = "\
---
kind: agent
name: helper
title: Helper
contextMode: fork
publishResult: none
tools:
  allow: [read_file]
---
You check what others did.
";

/// A project with a helper that forks, and a provider that never answers one of the requests.
fn stage(protocol: Protocol, held: usize) -> Stage {
    let come = AtomicUsize::new(0);
    let server = ProviderServer::answering(move |_| {
        let number = come.fetch_add(1, Ordering::SeqCst) + 1;
        let reply = match number {
            2 => Reply::call("call_1", "read_file", r#"{"path":"a.txt"}"#),
            number => Reply::text(format!("Answer {number}.")),
        };
        if number == held { Reply::hang() } else { reply }
    });
    let stage = Stage::with(protocol, server);
    stage.agent("helper", HELPER);
    stage.sandbox.write("a.txt", "alpha\n");
    stage.text(&["init"]);
    stage
}

fn start(stage: &Stage, args: &[&str]) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).current_dir(stage.sandbox.path()).args(args);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn chat(stage: &Stage, line: &str) {
    let mut command = stage.command(&["chat"]);
    command.write_stdin(format!("{line}\n")).assert().success();
}

/// Returns a request up to where messages may be added, without cache marks.
fn prefix(body: &str) -> String {
    let body = unmarked(body);
    body[..body.rfind("}]").unwrap()].to_owned()
}

fn unmarked(body: &str) -> String {
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

// The parent is what the assistant of `chat` sees: killed at each request, the fork goes on as it was,
// whatever the chat did meanwhile.
#[test]
fn a_fork_of_the_chat_survives_kill_9() {
    for protocol in PROTOCOLS {
        for held in [2, 3] {
            let stage = stage(protocol, held);
            chat(&stage, "Remember the launch.");
            let mut child = start(&stage, &["agents", "run", "helper", "Check it."]);
            stage.server.wait_for_requests(held);
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().code(), None, "it was killed");
            stage.server.release();
            // The chat goes on, and takes back what it had said before.
            chat(&stage, "CANARY-LATER");
            stage.text(&["page", "remove", "usr-1"]);
            let undone = stage.text(&["undo"]);
            assert!(undone.contains("undone"), "{undone}");
            stage.text(&["page", "update", "usr-1", "--name", "CANARY-RENAMED"]);
            let ran = stage.run(&["agents", "run", "helper", "--resume"]);
            assert_eq!(ran.code, 0, "{protocol:?} {held}: {}", ran.err);
            assert!(ran.err.contains("helper · fork · "), "{}", ran.err);
            chat(&stage, "And the helper?");
            let requests: Vec<String> =
                stage.server.requests().into_iter().map(|request| request.body).collect();
            assert_eq!(stage.server.violations(), Vec::<String>::new());
            let told = format!("{protocol:?}, killed at request {held}");
            assert!(unmarked(&requests[1]).starts_with(&prefix(&requests[0])), "{told}");
            assert!(requests[1].contains("you are the agent `helper`"), "{told}");
            let chats: Vec<&String> = requests
                .iter()
                .filter(|body| !body.contains("you are the agent `helper`"))
                .collect();
            assert_eq!(chats.len(), 3, "{told}");
            assert!(!chats.iter().any(|body| body.contains("Check it.")), "{told}");
            let forks = requests.iter().filter(|body| body.contains("you are the agent `helper`"));
            for body in forks {
                assert!(!body.contains("CANARY"), "{told}: {body}");
                assert!(unmarked(body).starts_with(&prefix(&requests[0])), "{told}");
            }
            // Its window shows the latest fork, from another process too.
            let seen = stage.text(&["--as", "helper", "window", "--format", "openai"]);
            assert!(seen.contains("Remember the launch.") && !seen.contains("CANARY"), "{seen}");
            let checked = stage.text(&["store", "check"]);
            assert!(checked.ends_with(": no problems found\n"), "{told}: {checked}");
        }
    }
}

#[test]
fn parents_are_named_and_refused() {
    let stage = stage(Protocol::OpenAi, usize::MAX);
    stage.agent(
        "deep",
        "---\nkind: agent\nname: deep\ntitle: Deep\ncontextParent: helper\n---\nDig.\n",
    );
    let run = |args: &[&str]| {
        let ran = stage.run(&[&["agents", "run"], args].concat());
        (ran.code, ran.err)
    };
    let refused = |args: &[&str], words: &str| {
        let (code, said) = run(args);
        assert!(code != 0 && said.contains(words), "{args:?}: {said}");
    };
    // It names a parent that has not forked yet.
    refused(&["deep", "go"], "agent 'helper' runs as a fork, and has no fork here yet");
    refused(&["helper", "go", "--parent", "helper"], "agent 'helper' cannot fork itself");
    refused(&["helper", "go", "--parent", "nobody"], "Agent 'nobody' not found");
    refused(&["code-reviewer", "go", "--parent", "helper"], "--parent is for forks");
    refused(&["helper", "--resume", "--parent", "deep"], "cannot be used with");
    assert_eq!(stage.server.requests().len(), 0, "nothing was sent");
    let tree = stage.text(&["page", "tree"]);
    assert!(!tree.contains("fork-"), "nothing was made: {tree}");
    // The host's own view, then a fork of that, then of an agent that is named.
    assert_eq!(run(&["helper", "first"]).0, 0);
    assert_eq!(run(&["deep", "second"]).0, 0);
    assert_eq!(run(&["deep", "third", "--parent", "bug-fixer"]).0, 0);
    let context = stage.text(&["agents", "context", "deep"]);
    assert!(
        context.contains("Context Mode: fork\nLinked to: fork of helper (fork-deep)"),
        "{context}"
    );
    let graph = stage.text(&["agents", "context", "--graph"]);
    assert!(
        graph.contains("Forks of helper") && graph.contains("begins as what is seen here"),
        "{graph}"
    );
    // What settings forbid.
    stage.settings(
        &json!({ "agents": { "allowSharedContext": false, "defaultModel": "openai/gpt-4o" } }),
    );
    refused(&["code-reviewer", "go", "--context", "fork"], "cannot run as a fork");
    refused(&["helper", "go", "--parent", "bug-fixer"], "shared contexts are forbidden by");
    let (code, said) = run(&["helper", "go"]);
    assert!(code == 0 && said.contains("it runs isolated"), "{said}");
    let mode = stage.run(&["agents", "context", "helper", "--mode", "fork"]);
    assert!(mode.code != 0 && mode.err.contains("cannot run as a fork"), "{}", mode.err);
}

#[test]
fn a_chat_forks_itself() {
    let stage = stage(Protocol::Anthropic, usize::MAX);
    let script = "Remember the launch.\n@code-reviewer --fork Check it.\nWell?\n/quit\n";
    let mut command = stage.command(&["chat"]);
    command.write_stdin(script).assert().success();
    let requests: Vec<String> =
        stage.server.requests().into_iter().map(|request| request.body).collect();
    assert!(unmarked(&requests[1]).starts_with(&prefix(&requests[0])));
    let tree = stage.text(&["page", "tree"]);
    assert!(tree.contains("fork-code-reviewer-2  Check it.  turn"), "{tree}");
    assert!(tree.contains("usr-2  Check it.  turn"), "it is published: {tree}");
}

// What the fork's requests take from its parent is kept with it.
#[test]
fn a_fork_is_resumed_though_its_parents_file_is_gone() {
    let stage = stage(Protocol::OpenAi, 2);
    stage.agent(
        "critic",
        &HELPER.replace("helper", "critic").replace("fork\n", "fork\ncontextParent: bug-fixer\n"),
    );
    stage.text(&["agents", "run", "bug-fixer", "Look around."]);
    let mut child = start(&stage, &["agents", "run", "critic", "Check it."]);
    stage.server.wait_for_requests(2);
    child.kill().unwrap();
    child.wait().unwrap();
    stage.server.release();
    std::fs::remove_file(stage.sandbox.path().join(".gemini/agents/bug-fixer.md")).unwrap();
    let ran = stage.run(&["agents", "run", "critic", "--resume"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let requests: Vec<String> =
        stage.server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!(unmarked(&requests[2]), unmarked(&requests[1]), "the same tools, the same bytes");
    let new = stage.run(&["agents", "run", "critic", "Again."]);
    let said = "agent 'critic' forks 'bug-fixer', which has no agent file";
    assert!(new.code != 0 && new.err.contains(said), "{}", new.err);
}
