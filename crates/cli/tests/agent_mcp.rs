//! Tools of a real MCP server, installed from its registry.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use contexture_testkit::provider::{Protocol, Reply};
use serde_json::json;

use crate::agent_support::{PROTOCOLS, Stage, is_gone, model};

/// Installs the server where that was not done yet; returns its program.
fn installed() -> String {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let output = Command::new("bash").arg(project.join("scripts/mcp-server")).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

const CLOCK: &str = "\
---
kind: agent
name: clock
title: Clock
tools:
  allow: [mcp__time__convert_time]
mcp:
  servers: [time]
---
Tell the time.
";

fn stage(protocol: Protocol) -> Stage {
    let convert = r#"{"source_timezone":"Asia/Shanghai","time":"09:30","target_timezone":"UTC"}"#;
    let stage = Stage::new(
        protocol,
        [
            Reply::call("t1", "mcp__time__convert_time", convert)
                // Not on the list: refused, though the server has it.
                .tool_call("t2", "mcp__time__get_current_time", r#"{"timezone":"UTC"}"#),
            Reply::text("It is half past one."),
        ],
    );
    stage.agent("clock", CLOCK);
    stage.settings(&json!({
        "agents": { "defaultModel": model(protocol) },
        "mcpServers": { "time": { "command": installed() } },
    }));
    stage
}

// M-09: `mcp.servers` names servers whose tools the agent uses; its lists hold for them too.
#[test]
fn a_real_mcp_server_is_a_source_of_tools() {
    for protocol in PROTOCOLS {
        let stage = stage(protocol);
        stage.text(&["init"]);
        let answer = stage.text(&["agents", "run", "clock", "--trust-mcp", "when is it?"]);
        assert_eq!(answer, "It is half past one.\n");
        let offered = stage.offered(protocol);
        assert!(offered.contains(&"mcp__time__convert_time".to_owned()), "{offered:?}");
        assert!(!offered.contains(&"mcp__time__get_current_time".to_owned()), "{offered:?}");
        let last = stage.last_request();
        assert!(last.contains("01:30"), "the server's answer: {last}");
        assert!(last.contains("permission denied: "), "{last}");
    }
}

// A server that the project's own files define starts no program unless the user says so.
#[test]
fn a_projects_server_is_not_started_unasked() {
    let stage = stage(Protocol::OpenAi);
    stage.text(&["init"]);
    let ran = stage.run(&["agents", "run", "clock", "when is it?"]);
    assert!(ran.err.contains("MCP server 'time' comes with the project's files"), "{}", ran.err);
    let offered = stage.offered(Protocol::OpenAi);
    assert!(!offered.iter().any(|name| name.starts_with("mcp__")), "{offered:?}");
}

// A server's program is told no key that is not its own, whatever the key is called.
#[cfg(unix)]
#[test]
fn a_server_inherits_no_keys() {
    let stage = Stage::openai([Reply::text("done")]);
    stage.agent("clock", CLOCK);
    let time = json!({
        "command": "sh",
        "args": ["-c", "env > seen.txt"],
        "env": { "TIME_API_KEY": "given" },
    });
    let config = stage.sandbox.path().join("home/.config/contexture");
    std::fs::create_dir_all(config).unwrap();
    stage.sandbox.write(
        "home/.config/contexture/settings.json",
        json!({
            "providers": { "mine": { "apiKeyEnv": "MY_TOKEN" } },
            "mcpServers": { "time": time },
        })
        .to_string(),
    );
    let run = ["agents", "run", "clock", "when is it?"];
    let mut command = stage.command(&run);
    for name in ["GROQ_API_KEY", "TIME_API_KEY", "MY_TOKEN", "HARMLESS"] {
        command.env(name, "inherited");
    }
    let store =
        format!("sqlite:{}", stage.sandbox.path().join(".contexture/contexture.db").display());
    let ran = command.env("CONTEXTURE_STORE", store).output().unwrap();
    // It says nothing that a server says, so it is left out; it ran all the same.
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(err.contains("MCP server 'time' is left out"), "{err}");
    let seen = std::fs::read_to_string(stage.sandbox.path().join("seen.txt")).unwrap();
    let value = |name: &str| seen.lines().find_map(|line| line.strip_prefix(&format!("{name}=")));
    assert_eq!(value("HARMLESS"), Some("inherited"));
    assert_eq!(value("TIME_API_KEY"), Some("given"));
    for name in ["GROQ_API_KEY", "OPENAI_API_KEY", "MY_TOKEN", "CONTEXTURE_STORE"] {
        assert_eq!(value(name), None, "{name}");
    }
}

/// A server that does what it is asked for and dies of it.
const DYING: &str = r#"
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "initialize":
        answer["result"] = {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "dying", "version": "1"},
        }
    elif request["method"] == "tools/list":
        ring = {"name": "ring", "description": "Rings.", "inputSchema": {"type": "object"}}
        answer["result"] = {"tools": [ring]}
    elif request["method"] == "tools/call":
        with open("rung.txt", "a") as file:
            file.write("ding ")
        os._exit(1)
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"#;

// A server that dies after its tool took effect: the model is told that nobody knows, once and for
// all, and the call is not made again.
#[test]
fn a_server_that_dies_may_have_done_it() {
    let replies = [Reply::call("t1", "mcp__time__ring", "{}"), Reply::status(400)];
    let stage = Stage::openai(replies);
    stage.agent(
        "clock",
        "---\nkind: agent\nname: clock\ntitle: Clock\nmcp:\n  servers: [time]\n---\nx\n",
    );
    stage.settings(&json!({
        "agents": { "defaultModel": model(Protocol::OpenAi) },
        "mcpServers": { "time": { "command": "python3", "args": ["-c", DYING] } },
    }));
    let failed = stage.run(&["agents", "run", "clock", "--trust-mcp", "ring once"]);
    assert_eq!(failed.code, 1, "{}", failed.err);
    let unknown = "whether the call took effect is unknown. Check before you repeat it.";
    assert!(stage.last_request().contains(unknown), "{}", stage.last_request());
    assert!(!stage.last_request().contains("did not run the call"));
    let rung = || std::fs::read_to_string(stage.sandbox.path().join("rung.txt")).unwrap();
    assert_eq!(rung(), "ding ");
    let resumed = stage.run(&["agents", "run", "clock", "--trust-mcp", "--resume"]);
    assert!(resumed.err.contains("no reply is left in the script"), "{}", resumed.err);
    let again = stage.server.requests().pop().unwrap();
    assert!(again.body.contains(unknown), "{}", again.body);
    assert_eq!(rung(), "ding ");
}

// Ctrl-C does not wait for a server that never starts.
#[test]
fn a_server_that_hangs_can_be_stopped() {
    let stage = Stage::new(Protocol::OpenAi, []);
    stage.agent("clock", CLOCK);
    let silent = stage.sandbox.path().join("began");
    let script = format!("sleep 1000 & echo $! > {0}.tmp; mv {0}.tmp {0}; wait", silent.display());
    stage.settings(&json!({
        "agents": { "defaultModel": model(Protocol::OpenAi) },
        "mcpServers": { "time": { "command": "sh", "args": ["-c", script] } },
    }));
    stage.text(&["init"]);
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("contexture"));
    command.env_clear().envs(stage.environment()).env("PATH", "/usr/bin:/bin");
    command.current_dir(stage.sandbox.path());
    command.args(["agents", "run", "clock", "--trust-mcp", "when is it?"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while !silent.exists() {
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("stopped before the run began"), "{err}");
    assert_eq!(stage.requests().len(), 0);
    // Neither the server nor what it started is left.
    let started = std::fs::read_to_string(&silent).unwrap();
    assert!(is_gone(&started), "process {started} is left");
}

// An address of the project's settings is asked when it is this machine's, with a key or without.
#[test]
fn a_projects_address_on_this_machine_is_asked() {
    let stage = Stage::new(Protocol::OpenAi, [Reply::text("here")]);
    stage.settings(&json!({
        "agents": { "defaultModel": "corner/m" },
        "providers": { "corner": { "baseUrl": format!("{}/v1", stage.server.url()) } },
    }));
    stage.text(&["init"]);
    let mut command = stage.command(&["agents", "run", "code-reviewer", "there?"]);
    let ran = crate::support::Ran::of(command.env("CORNER_API_KEY", "loopback-key"));
    assert_eq!((ran.code, ran.out.as_str()), (0, "here\n"), "{}", ran.err);
}
