//! `contexture mcp`: a client starts it, talks to it, and kills it.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::Sandbox;

/// A client with the program at the other end.
struct Client {
    child: Child,
    write: ChildStdin,
    read: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(sandbox: &Sandbox, options: &[&str]) -> Self {
        let program = assert_cmd::cargo::cargo_bin!("contexture");
        let mut command = Command::new(program);
        command.env_clear().env("TMPDIR", sandbox.path()).current_dir(sandbox.path());
        command.args(options).arg("mcp");
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = piped.spawn().unwrap();
        let write = child.stdin.take().unwrap();
        let read = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { child, write, read, next: 0 };
        let info = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        client.ask("initialize", params);
        client
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.write, "{request}").unwrap();
        let mut line = String::new();
        self.read.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_killed_server_loses_nothing_that_it_acknowledged() {
    let sandbox = Sandbox::empty();
    let mut client = Client::start(&sandbox, &[]);
    for number in 1..=20 {
        let note = json!({"action": "create", "name": format!("Note {number}"), "text": "x"});
        let made = client.call("write", note);
        assert_eq!(made["isError"], false, "{made}");
    }
    client.child.kill().unwrap();
    client.child.wait().unwrap();
    assert_eq!(sandbox.json(&["page", "show", "usr-20"])["name"], "Note 20");
    let mut again = Client::start(&sandbox, &[]);
    let found = again.call("read", json!({"page": "usr-20"}));
    assert!(found.to_string().contains("Note 20"), "{found}");
}

#[test]
fn with_as_everything_happens_as_that_agent_in_that_session() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox, &["--as", "fixer"]);
    client.call("write", json!({"action": "create", "name": "Plan", "text": "x"}));
    assert_eq!(sandbox.json(&["page", "show", "usr-1"])["author"], "fixer");
    for wrong in [json!({"agent": "other"}), json!({"session": "other"})] {
        let refused = client.call("window", wrong);
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.to_string().contains("permission denied"), "{refused}");
    }
}

#[test]
fn it_ends_with_its_input_and_prints_nothing_of_its_own() {
    let sandbox = Sandbox::empty();
    let ran = sandbox.shell("contexture mcp </dev/null").output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "");
    assert_eq!(sandbox.json(&["session", "list"])["items"][0]["id"], "default");
}
