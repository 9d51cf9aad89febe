//! `contexture serve` as a process of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use super::client::Client;

pub(crate) struct Serving {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) owner: String,
}

/// Returns the program, with a home of its own.
pub(crate) fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_contexture"));
    command.current_dir(folder).env("HOME", folder).env("XDG_CONFIG_HOME", folder);
    command.env_remove("CONTEXTURE_STORE").env("CONTEXTURE_LOG", "warn");
    command
}

impl Serving {
    /// Starts a server on a store, by default a new one in the folder, and waits until it listens.
    pub(crate) fn start(folder: &Path, store: Option<&str>) -> Self {
        let mut command = program(folder);
        if let Some(store) = store {
            command.args(["--store", store]);
        }
        command.args(["serve", "--port", "0", "--json"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["url"].as_str().unwrap().trim_start_matches("http://").parse().unwrap();
        let mut server = Self { child, address, owner: String::new() };
        let file = folder.join(said["tokenFile"].as_str().unwrap());
        server.owner = fs::read_to_string(file).unwrap().trim().to_owned();
        server
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address, &self.owner)
    }

    /// Makes a session, and a token for an agent of it.
    pub(crate) fn session(&self, session: &str, agent: &str) -> String {
        let mut client = self.client();
        client.must(201, "PUT", &format!("/v1/sessions/{session}"), Some(&json!({})));
        let path = format!("/v1/sessions/{session}/tokens");
        let token = client.must(201, "POST", &path, Some(&json!({ "holder": agent })));
        token["token"].as_str().unwrap().to_owned()
    }

    /// Returns the memory that it holds, and the most that it ever held, in megabytes.
    pub(crate) fn memory(&self) -> (f64, f64) {
        memory(self.child.id())
    }

    /// Returns what it counts as held by sessions, in megabytes.
    pub(crate) fn counted(&self) -> f64 {
        let text = self.client().send("GET", "/metrics", &[], None).unwrap();
        let text = String::from_utf8(text.body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("contexture_memory_bytes "));
        line.map_or(0.0, |bytes| bytes.parse::<f64>().unwrap() / (1 << 20) as f64)
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Returns how many requests a route was asked, and how many seconds the server took for them.
    pub(crate) fn took(&self, method: &str, route: &str) -> (f64, f64) {
        let text = self.client().send("GET", "/metrics", &[], None).unwrap();
        let text = String::from_utf8(text.body).unwrap();
        let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"200\"}} ");
        let value = |name: &str| {
            let begin = format!("contexture_request_seconds_{name}{labels}");
            let line = text.lines().find_map(|line| line.strip_prefix(&begin));
            line.map_or(0.0, |value| value.parse().unwrap())
        };
        (value("count"), value("sum"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the memory that a process holds, and the most that it ever held, in megabytes.
pub(crate) fn memory(process: u32) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.map_or(0.0, |kilobytes| kilobytes.parse::<f64>().unwrap() / 1024.0)
    };
    (value("VmRSS:"), value("VmHWM:"))
}
