use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
};

use contexture_testkit::provider::Reply;
use serde_json::Value;

use crate::{agent_support::Stage, support::Sandbox};

/// A server that was started as its users start it.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) token: String,
}

impl Serving {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        Self::with(sandbox, Vec::new())
    }

    /// Starts it with more in its environment.
    pub(crate) fn with(sandbox: &Sandbox, environment: Vec<(&str, String)>) -> Self {
        let program = assert_cmd::cargo::cargo_bin!("contexture");
        let mut command = Command::new(program);
        command.env_clear().env("TMPDIR", sandbox.path()).current_dir(sandbox.path());
        command.envs(environment).args(["serve", "--port", "0", "--json"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let serving: Value = serde_json::from_str(&line).unwrap();
        let address = serving["url"].as_str().unwrap().trim_start_matches("http://").to_owned();
        let token_file = sandbox.path().join(serving["tokenFile"].as_str().unwrap());
        let token = fs::read_to_string(token_file).unwrap();
        Self { child, address, token: token.trim().to_owned() }
    }

    /// Sends a request; returns its status and body.
    pub(crate) fn send(&self, token: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        self.send_with(token, method, path, "", body)
    }

    fn send_with(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// A server that is killed loses nothing that it acknowledged, and the next one takes the same tokens.
#[test]
fn a_killed_server_loses_nothing() {
    let sandbox = Sandbox::new();
    let mut first = Serving::start(&sandbox);
    let file = sandbox.path().join(".contexture/contexture.db.token");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let made = sandbox.json(&["token", "create", "--agent", "fixer"]);
    let agent = made["token"].as_str().unwrap().to_owned();
    for number in 1..=20 {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"number {number}"}}]}}"#);
        let path = "/v1/sessions/default/append";
        let (status, answer) = first.send(&agent, "POST", path, &body);
        assert_eq!(status, 200, "{answer}");
    }
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let second = Serving::start(&sandbox);
    assert_eq!(first.token, second.token);
    let path = "/v1/sessions/default/pages/usr-20";
    let (status, page) = second.send(&agent, "GET", path, "");
    assert!(status == 200 && page.contains("number 20"), "{page}");
    // The command line and the server work on one store at once.
    assert_eq!(sandbox.json(&["page", "show", "usr-20"])["author"], "fixer");
    let revoked = sandbox.json(&["token", "revoke", made["id"].as_str().unwrap()]);
    assert_eq!(revoked["holder"], "fixer");
    assert_eq!(second.send(&agent, "GET", path, "").0, 401);
    assert_eq!(sandbox.json(&["token", "list"])["items"].as_array().unwrap().len(), 0);
}

#[test]
fn only_this_machine_is_served_unless_a_proxy_stands_in_front() {
    let sandbox = Sandbox::new();
    let (kind, message) = sandbox.refused(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert_eq!(kind, "permission-denied", "{message}");
    assert_eq!(sandbox.refused(&["--as", "fixer", "serve"]).0, "permission-denied");
    assert_eq!(sandbox.refused(&["--as", "fixer", "token", "list"]).0, "permission-denied");
}

// The lines of docs/server.md work when pasted.
#[test]
fn the_page_on_the_server_works_when_pasted() {
    pasted(
        "docs/server.md",
        &["\"usr-1\"", "\"number\":1", "\"reported\":1", "On Friday", "\"Plan\"", "event: change"],
    );
}

#[test]
fn what_the_readme_says_of_the_server_works_when_pasted() {
    pasted("README.md", &["\"usr-1\"", "\"On Friday.\"", "usr-1 \\\"When is the launch?\\\""]);
}

/// Runs what a page says of the server, on a free port. Its output must have what is expected.
fn pasted(page: &str, expected: &[&str]) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let page = fs::read_to_string(page).unwrap();
    let (_, after) = page.split_once("<!-- server: begin -->").unwrap();
    let (block, _) = after.split_once("<!-- server: end -->").unwrap();
    let script = block.trim().trim_start_matches("```sh").trim_end_matches("```");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let script = script.replace("contexture serve &", &format!("contexture serve --port {port} &"));
    let script = script.replace("sleep 1", "until [ -s .contexture/contexture.db.token ] && curl -sf -o ready $READY; do sleep 0.1; done");
    let script = script.replace("127.0.0.1:7373", &format!("127.0.0.1:{port}"));
    let ready = format!("READY=http://127.0.0.1:{port}/readyz");
    let sandbox = Sandbox::empty();
    // However it ends, the server does not outlive it.
    let script = format!("set -e\ntrap 'kill -TERM $!; wait' EXIT\n{ready}\n{script}");
    let output = sandbox.shell(&script).output().unwrap();
    let (said, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{log}");
    for expected in expected {
        assert!(said.contains(expected), "{expected} is not in:\n{said}");
    }
    // No token is in the log or the output, but for the file that it is in.
    let token = fs::read_to_string(sandbox.path().join(".contexture/contexture.db.token")).unwrap();
    assert!(!said.contains(token.trim()) && !log.contains(token.trim()));
}

// The lines that the demo prints work when pasted.
#[test]
fn the_demo_prints_lines_that_work() {
    let sandbox = Sandbox::empty();
    let program = assert_cmd::cargo::cargo_bin!("contexture");
    let mut command = Command::new(program);
    command.env_clear().env("TMPDIR", sandbox.path()).current_dir(sandbox.path());
    command.args(["serve", "--demo", "--port", "0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let is_last = line.contains("/events");
        lines.extend(line.strip_prefix("  ").filter(|_| !is_last).map(str::to_owned));
        if is_last {
            break;
        }
    }
    let script = format!("set -e\n{}", lines.join("\n")).replace("curl -s ", "curl -sf ");
    let output = sandbox.shell(&script).output().unwrap();
    let _ = child.kill();
    let _ = child.wait();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{script}\n{said}");
    assert!(said.contains("parses_empty_line") && said.contains("\"score\""), "{said}");
}

// An agent runs on the project's models and tools; a call that changes something waits for an approval.
#[test]
fn agents_run_and_wait_over_http() {
    let edit = r#"{"path":"a.txt","old_text":"teh","new_text":"the"}"#;
    let stage = Stage::openai([
        Reply::text("Two issues."),
        Reply::call("call_1", "edit_file", edit),
        Reply::text("Fixed."),
    ]);
    stage.sandbox.write("a.txt", "teh end");
    let server = Serving::with(&stage.sandbox, stage.environment());
    let agents = "/v1/sessions/default/agents";
    let send = |method: &str, path: &str, body: &str| {
        let (status, answer) = server.send(&server.token, method, path, body);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        (status, answer)
    };
    let (status, listed) = send("GET", agents, "");
    assert_eq!((status, listed["items"].as_array().unwrap().len()), (200, 2), "{listed}");
    let asked = r#"{"prompt":"Review it."}"#;
    let (status, answer) = send("POST", &format!("{agents}/code-reviewer/runs"), asked);
    assert_eq!((status, &answer["text"]), (200, &Value::from("Two issues.")), "{answer}");

    let asked = r#"{"prompt":"Fix it.","options":{"ask":true}}"#;
    let (status, waits) = send("POST", &format!("{agents}/bug-fixer/runs"), asked);
    assert_eq!((status, waits["waiting"].as_array().unwrap().len()), (200, 1), "{waits}");
    let approvals = "/v1/sessions/default/approvals";
    let (_, pending) = send("GET", approvals, "");
    let run = pending["items"][0]["run"].as_str().unwrap().to_owned();
    let (status, decided) =
        send("POST", approvals, &format!(r#"{{"run":"{run}","approve":true}}"#));
    assert_eq!((status, &decided["decision"]), (200, &Value::from("approved")), "{decided}");
    let (status, events) = {
        let path = format!("{agents}/bug-fixer/resume");
        server.send_with(&server.token, "POST", &path, "accept: text/event-stream\r\n", "{}")
    };
    assert_eq!(status, 200, "{events}");
    let done = events.split("event: done").nth(1).unwrap_or_else(|| panic!("{events}"));
    assert!(done.contains("Fixed.") && events.contains("event: tool-result"), "{events}");
    assert_eq!(fs::read_to_string(stage.sandbox.path().join("a.txt")).unwrap(), "the end");
    // An agent's token starts no agents.
    let made = stage.sandbox.json(&["token", "create", "--agent", "helper"]);
    let token = made["token"].as_str().unwrap();
    assert_eq!(server.send(token, "GET", agents, "").0, 403);
}
