//! MCP over standard input and output: how long a call takes.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    process::{memory, program},
    times,
};

const CALLS: usize = 1_000;

struct Peer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

/// Measures `contexture mcp`, and another server if one is named: one that takes `create_entities` and `open_nodes`.
pub(crate) fn measure(other: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    assert!(program(folder.path()).arg("init").output().unwrap().status.success());
    import(folder.path());
    let mut command = program(folder.path());
    let mut ours = Peer::start(command.arg("mcp"));
    let read = json!({ "name": "read", "arguments": { "page": "usr-500" } });
    let answer = ours.call("tools/call", &read);
    assert!(
        answer["result"]["content"][0]["text"].as_str().unwrap().contains("lantern 499"),
        "{answer}"
    );
    ours.measure("MCP over stdio, read of a resident page", &read);
    ours.measure("MCP over stdio, the list of tools", &Value::Null);
    let Some(other) = other else { return };
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec {other}")]).current_dir(folder.path());
    let file = folder.path().join("memory.jsonl");
    let mut other = Peer::start(command.env("MEMORY_FILE_PATH", file));
    let entities: Vec<Value> = (0..1_000)
        .map(|at| {
            json!({ "name": format!("e{at}"), "entityType": "note",
            "observations": [format!("we spoke of lantern {at}"), "Noted."] })
        })
        .collect();
    other.call(
        "tools/call",
        &json!({ "name": "create_entities", "arguments": { "entities": entities } }),
    );
    let open = json!({ "name": "open_nodes", "arguments": { "names": ["e499"] } });
    let answer = other.call("tools/call", &open);
    assert!(answer.to_string().contains("lantern 499"), "{answer}");
    other.measure("the other server, open_nodes", &open);
    other.measure("the other server, the list of tools", &Value::Null);
}

/// Imports a thousand turns.
fn import(folder: &Path) {
    let mut lines = String::new();
    for at in 0..1_000 {
        let asked = json!({ "role": "user", "content": format!("we spoke of lantern {at}") });
        let answer = json!({ "role": "assistant", "content": "Noted." });
        lines.push_str(&format!("{asked}\n{answer}\n"));
    }
    std::fs::write(folder.join("talk.jsonl"), lines).unwrap();
    let done = program(folder).args(["import", "talk.jsonl"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

impl Peer {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut peer = Self { child, input, output: BufReader::new(output), next: 0 };
        peer.call(
            "initialize",
            &json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" } }),
        );
        peer.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        peer
    }

    fn line(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).unwrap();
        self.input.flush().unwrap();
    }

    /// Sends a request and waits for its answer.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{answer}");
                return answer;
            }
        }
    }

    /// Measures calls of a tool; without arguments, of the list of tools.
    fn measure(&mut self, what: &str, params: &Value) {
        let took: Vec<Duration> = (0..CALLS)
            .map(|_| {
                let begun = Instant::now();
                match params.is_null() {
                    true => self.call("tools/list", &json!({})),
                    false => self.call("tools/call", params),
                };
                begun.elapsed()
            })
            .collect();
        times(what, took);
        println!("  it holds {:.1} MB", memory(self.child.id()).0);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
