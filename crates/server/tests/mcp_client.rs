//! Clients of MCP: one over a pipe with the older revision, one over HTTP with the newer.

use std::sync::Arc;

use contexture_server::{Access, Host, ServerError, serve_mcp_over};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
        duplex, split,
    },
    task::JoinHandle,
};

use crate::client::{Answer, Running, SESSION};

pub(crate) const OLDER: &str = "2025-11-25";
pub(crate) const NEWER: &str = "2026-07-28";

/// A client at the other end of a pipe.
pub(crate) struct Pipe {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    next: u64,
    server: JoinHandle<Result<(), ServerError>>,
}

impl Pipe {
    /// Connects, and says nothing.
    pub(crate) fn new(host: &Arc<Host>, access: Access) -> Self {
        let (here, there) = duplex(1 << 20);
        let (read, write) = split(there);
        let server = tokio::spawn(serve_mcp_over(host.clone(), access, read, write));
        let (read, write) = split(here);
        Self { read: BufReader::new(read), write, next: 0, server }
    }

    /// Connects with the older revision.
    pub(crate) async fn begin(host: &Arc<Host>, access: Access) -> Self {
        let mut pipe = Self::new(host, access);
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": OLDER, "capabilities": {}, "clientInfo": client});
        let answer = pipe.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], OLDER, "{answer}");
        pipe.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        pipe
    }

    /// As the owner of the store, in the session `demo`.
    pub(crate) async fn owner(host: &Arc<Host>) -> Self {
        Self::begin(host, Access::owner(SESSION.parse().unwrap())).await
    }

    /// As an agent in the session `demo`.
    pub(crate) async fn agent(host: &Arc<Host>, agent: &str) -> Self {
        Self::begin(host, Access::confined(SESSION.parse().unwrap(), agent.parse().unwrap())).await
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let mut line = String::new();
        let read = self.read.read_line(&mut line);
        let read = tokio::time::timeout(std::time::Duration::from_secs(60), read).await;
        assert!(read.expect("it answers").unwrap() > 0, "the server has ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns what answers it.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string()).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool; returns its result.
    /// Subscribes to pages, and to the list of them.
    pub(crate) async fn listen(&mut self, pages: &[&str]) {
        let wanted = json!({
            "notifications": {"resourcesListChanged": true, "resourceSubscriptions": pages},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": NEWER,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {}
            }
        });
        let listen =
            json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": wanted});
        self.send(&listen.to_string()).await;
        let heard = self.receive().await;
        assert_eq!(heard["method"], "notifications/subscriptions/acknowledged", "{heard}");
    }

    pub(crate) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments})).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; returns its text.
    pub(crate) async fn right(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert_eq!(result["isError"], false, "{result}");
        text(&result)
    }

    /// Calls a tool that must fail; returns its text.
    pub(crate) async fn wrong(&mut self, name: &str, arguments: Value) -> String {
        let result = self.call(name, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        text(&result)
    }

    /// Closes the pipe and waits until the server has ended.
    pub(crate) async fn end(self) {
        let Self { read, mut write, server, .. } = self;
        write.shutdown().await.unwrap();
        drop((read, write));
        server.await.unwrap().unwrap();
    }
}

/// Returns the text of a tool's result.
pub(crate) fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}

/// Sends a request of the newer revision over HTTP.
pub(crate) async fn post(
    server: &Running,
    token: &str,
    address: &str,
    method: &str,
    mut params: Value,
) -> Answer {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWER,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let mut headers = vec![
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", NEWER),
        ("mcp-method", method),
    ];
    if let Some(name) = &name {
        headers.push(("mcp-name", name.as_str()));
    }
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    server.send(token, "POST", address, &headers, Some(&body.to_string())).await
}

/// Sends such a request that must be answered; returns its result.
pub(crate) async fn result(
    server: &Running,
    token: &str,
    address: &str,
    method: &str,
    params: Value,
) -> Value {
    let answer = post(server, token, address, method, params).await.json(200);
    assert!(answer["result"].is_object(), "{answer}");
    answer["result"].clone()
}
