//! A server on loopback and a client of its own making: one request per connection, every byte as it is sent.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use contexture_agents::{
    Tool,
    runner::{StopSignal, Watcher},
    setup,
    team::StoredRun,
};
use contexture_core::{
    Actor, ContextSystem, Engine, ManualClock, MemoryStorage, PageStorage, Timestamp,
};
use contexture_search::LazyIndex;
use contexture_server::{
    AgentRuns, Host, HostParts, Lifetime, NewToken, OwnerToken, Project, Rate, RunDone, RunWanted,
    ServeSettings, Server, ServerError, Tokens,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};

/// The session that every server begins with.
pub(crate) const SESSION: &str = "demo";

/// A server that answers, with a session `demo`.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) owner: String,
    pub(crate) engine: Engine,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) host: Arc<Host>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// Runs no agents.
struct Fake;

impl AgentRuns for Fake {
    fn is_alive(&self, _: &StoredRun, _: Timestamp) -> bool {
        false
    }

    fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ServerError> {
        Ok(Vec::new())
    }

    fn run(
        &self,
        _: ContextSystem,
        wanted: RunWanted,
        watcher: &mut dyn Watcher,
        _: StopSignal,
    ) -> Result<RunDone, ServerError> {
        watcher.text("thinking aloud");
        Err(ServerError::unavailable(format!("no model for {}", wanted.agent), "name one"))
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Running {
    /// Starts a server over a storage in memory.
    pub(crate) async fn start() -> Self {
        Self::over(Arc::new(MemoryStorage::new())).await
    }

    /// Starts a server over a storage.
    pub(crate) async fn over(storage: Arc<dyn PageStorage>) -> Self {
        Self::with(storage, ServeSettings::default(), Rate::default()).await
    }

    pub(crate) async fn with(
        storage: Arc<dyn PageStorage>,
        settings: ServeSettings,
        rate: Rate,
    ) -> Self {
        let clock = Arc::new(ManualClock::at_millis(1_760_000_000_000));
        let engine = Engine::new(storage.clone(), clock.clone());
        let session = SESSION.parse().unwrap();
        let by = contexture_core::Principal::System;
        setup::prepare(&engine, &session, by, Some("You are careful.")).await.unwrap();
        let owner = OwnerToken::random().unwrap();
        let parts = HostParts {
            engine: engine.clone(),
            index: LazyIndex::new(storage, None),
            project: Arc::new(|| Ok(Project::default())),
            owner: owner.clone(),
            rate,
            runs: Arc::new(Fake),
            commands: None,
        };
        let host = Arc::new(Host::new(parts));
        let serving = host.clone();
        let server = Server::bind("127.0.0.1:0".parse().unwrap(), settings).await.unwrap();
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(async move {
            server
                .run(serving, async {
                    let _ = stopped.await;
                })
                .await;
        });
        let owner = owner.to_string();
        Self { address, owner, engine, clock, host, stop: Some(stop), task }
    }

    /// Makes a token of the session `demo`.
    pub(crate) async fn token(&self, holder: &str) -> String {
        self.token_for(SESSION, holder, Lifetime::UntilRevoked).await
    }

    pub(crate) async fn token_for(
        &self,
        session: &str,
        holder: &str,
        lifetime: Lifetime,
    ) -> String {
        let holder: Actor = holder.parse().unwrap();
        let system = self.engine.open(&session.parse().unwrap()).await.unwrap();
        let new = NewToken { holder, label: String::new(), lifetime };
        Tokens::of(system).create(new).await.unwrap().token.unwrap()
    }

    /// Sends a request with a token and a body, if there is one.
    pub(crate) async fn send(
        &self,
        token: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Answer {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.address);
        if !token.is_empty() {
            head.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            ));
        }
        let answer = self.raw(format!("{head}\r\n{}", body.unwrap_or_default()).as_bytes()).await;
        let kind = answer.header("content-type");
        crate::document::judge(method, path, answer.status, kind, &answer.body);
        answer
    }

    /// Sends bytes and reads until the server closes the connection.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(60), read).await.expect("it answers").unwrap();
        Answer::parse(&answer)
    }

    pub(crate) async fn get(&self, token: &str, path: &str) -> Answer {
        self.send(token, "GET", path, &[], None).await
    }

    pub(crate) async fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.send(token, "POST", path, &[], Some(&body.to_string())).await
    }

    /// Ends the server and waits until it has.
    pub(crate) async fn end(mut self) {
        let _ = self.stop.take().unwrap().send(());
        self.task.await.unwrap();
    }
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a whole head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap_or((line, "")))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        if headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked") {
            body = unchunked(&body);
        }
        Self { status, headers, body: String::from_utf8(body).unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body of an answer that must have this status.
    pub(crate) fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Returns the kind of the error it must be.
    pub(crate) fn refused(&self, status: u16) -> String {
        let body = self.json(status);
        let error = &body["error"];
        assert!(!error["message"].as_str().unwrap().is_empty(), "{body}");
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{body}");
        error["kind"].as_str().unwrap().to_owned()
    }
}

/// Joins the pieces of a body that was sent in pieces.
fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|it| it == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let begin = end + 2;
        body.extend_from_slice(&rest[begin..begin + size]);
        rest = &rest[begin + size + 2..];
        if size == 0 {
            break;
        }
    }
    body
}

/// Runs a test on a runtime of its own.
pub(crate) fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}
