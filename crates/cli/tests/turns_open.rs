//! Open exchanges and keys: calls stored before their results, in processes that may be killed.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Ran, Sandbox};

const QUESTION: &str = r#"[{"role":"user","content":"What is there?"},
    {"role":"assistant","content":"Looking.","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}},
        {"id":"c2","type":"function","function":{"name":"pwd","arguments":"{}"}}]}]"#;

const OPEN: [&str; 4] = ["turn", "open", "--messages", "-"];

fn anthropic(sandbox: &Sandbox) -> Vec<Value> {
    let body = sandbox.json(&["window", "--format", "anthropic"]);
    // Marks for the cache are no part of what was said.
    let text = body["messages"].to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    serde_json::from_str(&text).unwrap()
}

#[test]
fn calls_are_answered_one_by_one() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.json_from(&OPEN, QUESTION), json!({ "pages": ["usr-1"] }));
    let page = sandbox.json(&["page", "show", "usr-1"]);
    assert_eq!(page["openCalls"], json!(["c1", "c2"]));
    let listed = sandbox.json(&["page", "list"]);
    let open = |page: &&Value| page.get("openCalls").is_some();
    assert_eq!(listed["items"].as_array().unwrap().iter().filter(open).count(), 1);

    let (kind, message) = sandbox.unchanged(&["turn", "add", "--user", "too early"]);
    assert_eq!(kind, "invalid");
    assert_eq!(message, "page usr-1 still waits for results of tool calls 'c1', 'c2'");
    let hint = sandbox.run(&["turn", "add", "--user", "too early"]).err;
    assert!(hint.contains("contexture turn result CALL"), "{hint}");
    assert!(hint.contains("contexture turn close --interrupted"), "{hint}");

    sandbox.write("result.txt", "/home\n");
    let answered = sandbox.text(&["turn", "result", "c2", "--text-file", "result.txt"]);
    assert!(answered.ends_with("waits for the results of: c1\n"), "{answered}");
    let shown = sandbox.text(&["page", "show", "usr-1"]);
    assert!(shown.contains("waits for the results of: c1\n"), "{shown}");
    assert_eq!(sandbox.unchanged(&["turn", "result", "c2", "--text", "x"]).0, "conflict");
    assert_eq!(sandbox.unchanged(&["turn", "result", "c3", "--text", "x"]).0, "not-found");
    sandbox.json(&["turn", "result", "c1", "--text", "denied", "--error"]);
    let page = sandbox.json(&["page", "show", "usr-1"]);
    assert_eq!(page.get("openCalls"), None);
    let detail = page["detail"].as_str().unwrap();
    assert!(detail.ends_with("Tool: denied\nTool: /home\n"), "{detail}");
    sandbox.json(&["turn", "add", "--user", "Thanks."]);
    assert_eq!(sandbox.unchanged(&["turn", "close", "--interrupted"]).0, "not-found");
}

#[test]
fn open_calls_are_closed_as_interrupted() {
    let sandbox = Sandbox::new();
    sandbox.json_from(&OPEN, QUESTION);
    let usage = sandbox.run(&["turn", "close"]);
    assert_eq!(usage.code, 2, "{}", usage.err);
    assert_eq!(sandbox.json(&["turn", "close", "--interrupted"]), json!({ "pages": ["usr-1"] }));
    let detail = sandbox.json(&["page", "show", "usr-1"])["detail"].to_string();
    assert_eq!(detail.matches("interrupted: no result was recorded").count(), 2, "{detail}");
    sandbox.text(&["undo"]);
    assert_eq!(sandbox.json(&["page", "show", "usr-1"])["openCalls"], json!(["c1", "c2"]));
}

#[test]
fn a_key_adds_once() {
    let sandbox = Sandbox::new();
    let add = ["turn", "add", "--user", "Hello", "--key", "k1"];
    assert_eq!(sandbox.json(&add), json!({ "pages": ["usr-1"] }));
    assert_eq!(sandbox.json(&add), json!({ "pages": ["usr-1"] }));
    let (kind, message) = sandbox.unchanged(&["turn", "add", "--user", "Bye", "--key", "k1"]);
    assert_eq!(kind, "conflict");
    assert_eq!(message, "key 'k1' was already used to append something else");
    let other = ["--as", "fixer", "turn", "add", "--user", "Bye", "--key", "k1"];
    assert_eq!(sandbox.json(&other), json!({ "pages": ["usr-2"] }));
    let open = [&OPEN[..], &["--key", "k2"]].concat();
    for _ in 0..2 {
        assert_eq!(sandbox.json_from(&open, QUESTION), json!({ "pages": ["usr-3"] }));
    }
    for _ in 0..2 {
        let result = ["turn", "result", "c1", "--text", "a.txt", "--key", "k3"];
        assert_eq!(sandbox.json(&result), json!({ "pages": ["usr-3"] }));
    }
    assert_eq!(sandbox.unchanged(&["turn", "add", "--user", "x", "--key", ""]).0, "invalid");
}

/// Starts a program, and kills it: at once, or when it has said that the messages are stored.
fn open_and_kill(sandbox: &Sandbox, acknowledged: bool) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().env("TMPDIR", sandbox.path()).current_dir(sandbox.path());
    command.args(OPEN).args(["--key", "opening"]).stderr(Stdio::null());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(QUESTION.as_bytes()).unwrap();
    if acknowledged {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("usr-1"), "{line}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

// kill -9 while a tool runs: another process shows what the model said, stores the result and goes on. Where
// the answer did not come, the same is sent again and is there once.
#[test]
fn what_a_model_said_survives_kill_9() {
    for acknowledged in [false, true] {
        let sandbox = Sandbox::new();
        open_and_kill(&sandbox, acknowledged);
        if !acknowledged {
            let again = [&OPEN[..], &["--key", "opening"]].concat();
            assert_eq!(sandbox.json_from(&again, QUESTION), json!({ "pages": ["usr-1"] }));
        }
        let open = anthropic(&sandbox);
        let result = |messages: &[Value], at: usize| {
            messages.last().unwrap()["content"][at]["content"].as_str().unwrap().to_owned()
        };
        assert_eq!(open.len(), 3, "{open:?}");
        assert_eq!(result(&open, 0), "no result yet: the call is still open");
        sandbox.json(&["turn", "result", "c2", "--text", "/home"]);
        let half = anthropic(&sandbox);
        assert_eq!(half[..2], open[..2], "only the last exchange changes");
        assert_eq!(
            [result(&half, 0), result(&half, 1)],
            ["no result yet: the call is still open", "/home"]
        );
        sandbox.json(&["turn", "close", "--interrupted"]);
        let closed = anthropic(&sandbox);
        assert_eq!(closed[..2], open[..2]);
        assert_eq!(result(&closed, 0), "interrupted: no result was recorded");
        assert_eq!(Ran::of(&mut sandbox.command(&["store", "check"])).code, 0);
    }
}
