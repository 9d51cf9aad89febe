//! A model provider on loopback: OpenAI-compatible, Anthropic and Gemini on one port.
//!
//! The path says which of them is spoken. What it answers is scripted once, as a [`Reply`], and
//! written in the way of whoever asks. It is stricter than the real ones: every request is checked,
//! one that breaks a rule is answered with 400 and remembered in [`ProviderServer::violations`].
//!
//! Plain threads, so that tests with and without a runtime can use it. It stops when dropped.

mod check;
mod encode;
mod http;
mod reply;
pub mod scripts;

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

pub use http::HttpRequest;
pub use reply::{Charged, Reply, Stop};

use reply::Kind;

/// How long a test waits for what it knows must come: a failure, never a measure.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a held connection looks whether it may go on.
const LOOK: Duration = Duration::from_millis(5);

/// A provider's way of speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `/v1/chat/completions`, and `/v1/embeddings`.
    OpenAi,
    /// `/v1/messages`.
    Anthropic,
    /// `/v1beta/models/NAME:generateContent`.
    Gemini,
}

/// A provider on loopback.
pub struct ProviderServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

type Decide = dyn Fn(&HttpRequest) -> Reply + Send + Sync;

struct Shared {
    decide: Box<Decide>,
    state: Mutex<ProviderState>,
    changed: Condvar,
}

#[derive(Default)]
struct ProviderState {
    requests: Vec<HttpRequest>,
    violations: Vec<String>,
    /// The key a request must carry.
    key: Option<String>,
    /// The sizes that bodies are cut into, in turn.
    chunks: Vec<usize>,
    /// Connections that the other side closed before their answer was whole.
    closed: usize,
    /// Whether held answers may go on.
    released: bool,
    stopping: bool,
}

impl ProviderServer {
    /// Starts a server that gives these replies, in order. Asking once more is a violation.
    pub fn scripted(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        Self::answering(move |_| lock(&replies).pop_front().unwrap_or_else(Reply::nothing_left))
    }

    /// Starts a server that decides by the request.
    pub fn answering(decide: impl Fn(&HttpRequest) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = ProviderState { chunks: vec![61], ..ProviderState::default() };
        let shared = Arc::new(Shared {
            decide: Box::new(decide),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        let listening = thread::spawn({
            let shared = shared.clone();
            move || listen(&listener, &shared)
        });
        Self { address, shared, listening: Some(listening) }
    }

    /// Refuses requests that do not carry this key in their provider's header.
    #[must_use]
    pub fn requiring_key(self, key: &str) -> Self {
        self.shared.state().key = Some(key.to_owned());
        self
    }

    /// Sends bodies in chunks of these sizes, in turn: characters and lines are cut anywhere.
    #[must_use]
    pub fn chunked(self, sizes: &[usize]) -> Self {
        assert!(!sizes.is_empty() && !sizes.contains(&0), "a chunk has at least one byte");
        self.shared.state().chunks = sizes.to_vec();
        self
    }

    /// Returns its address, `http://127.0.0.1:PORT`: what `ANTHROPIC_BASE_URL` and
    /// `GOOGLE_GEMINI_BASE_URL` take; `OPENAI_BASE_URL` takes it with or without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns every request so far, in the order they came.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.shared.state().requests.clone()
    }

    /// Returns the rules that requests broke, in words.
    pub fn violations(&self) -> Vec<String> {
        self.shared.state().violations.clone()
    }

    /// Waits until that many requests have come.
    pub fn wait_for_requests(&self, count: usize) {
        self.wait_until("requests", |state| state.requests.len() >= count);
    }

    /// Waits until that many connections were closed by the other side before their answer was
    /// whole.
    pub fn wait_for_closed(&self, count: usize) {
        self.wait_until("closed connections", |state| state.closed >= count);
    }

    /// Lets answers go on that are held, now and from now on.
    pub fn release(&self) {
        self.shared.state().released = true;
        self.shared.changed.notify_all();
    }

    fn wait_until(&self, what: &str, met: impl Fn(&ProviderState) -> bool) {
        let state = self.shared.state();
        let waited = self.shared.changed.wait_timeout_while(state, PATIENCE, |state| !met(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let came = met(&state);
        drop(state);
        assert!(came, "the {what} waited for did not come");
    }
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        self.shared.state().stopping = true;
        self.shared.changed.notify_all();
        // Wakes the listener, which then sees that it is to stop.
        drop(TcpStream::connect(self.address));
        if let Some(listening) = self.listening.take() {
            listening.join().ok();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ProviderState> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn listen(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.state().stopping {
            return;
        }
        if let Ok(stream) = stream {
            let shared = shared.clone();
            thread::spawn(move || serve(stream, &shared));
        }
    }
}

/// Answers the one request of a connection.
fn serve(mut stream: TcpStream, shared: &Shared) {
    stream.set_nodelay(true).ok();
    stream.set_read_timeout(Some(PATIENCE)).ok();
    let Ok(Some(request)) = http::read(&mut stream) else { return };
    if request.method == "GET" && request.path.ends_with("/models") {
        let body = r#"{"object":"list","data":[{"id":"loopback","object":"model"}]}"#;
        http::write_whole(&mut stream, 200, "application/json", &[], body).ok();
        return;
    }
    let key = shared.state().key.clone();
    let checked = check::check(&request, key.as_deref());
    let mut reply = match &checked {
        Ok(_) => (shared.decide)(&request),
        Err(check::Refusal::Key) => Reply::refused_key(),
        Err(check::Refusal::Rule(rule)) => Reply::broken_rule(rule),
    };
    {
        let mut state = shared.state();
        let number = state.requests.len() + 1;
        if let Kind::Violation(what) = &reply.kind {
            state.violations.push(format!("request {number}: {what}"));
        }
        state.requests.push(request.clone());
    }
    shared.changed.notify_all();
    let protocol = checked.ok().or_else(|| request.protocol()).unwrap_or(Protocol::OpenAi);
    if reply.sent(&mut stream, shared, protocol, &request).is_err() {
        shared.state().closed += 1;
        shared.changed.notify_all();
    }
}

impl Reply {
    /// Sends it; an error means that the other side was gone first.
    fn sent(
        &mut self,
        stream: &mut TcpStream,
        shared: &Shared,
        protocol: Protocol,
        request: &HttpRequest,
    ) -> io::Result<()> {
        if self.hang_after == Some(0) {
            hold(stream, shared)?;
        }
        let json = "application/json";
        match &self.kind {
            Kind::Answer if request.wants_stream() => {
                let events = encode::stream(protocol, self, request);
                self.send_stream(stream, shared, &events)
            }
            Kind::Answer => {
                let body = encode::plain(protocol, self, request);
                http::write_whole(stream, 200, json, &[], &body)
            }
            Kind::Status { status, message } => {
                let body = encode::error(protocol, *status, message);
                let headers = self.retry_after.iter().map(|it| ("retry-after", it.clone()));
                let headers: Vec<(&str, String)> = headers.collect();
                http::write_whole(stream, *status, json, &headers, &body)
            }
            Kind::ContextLength => {
                let (status, body) = encode::context_length(protocol);
                http::write_whole(stream, status, json, &[], &body)
            }
            Kind::Raw { status, content_type, body } => {
                let headers = self.location.iter().map(|it| ("location", it.clone()));
                let headers: Vec<(&str, String)> = headers.collect();
                http::write_whole(stream, *status, content_type, &headers, body)
            }
            Kind::Chatter { content_type, line } => {
                http::begin_chunks(stream, content_type)?;
                while !shared.state().stopping {
                    http::write_chunk(stream, line.as_bytes())?;
                    thread::sleep(LOOK);
                }
                Ok(())
            }
            Kind::Violation(what) => {
                http::write_whole(stream, 400, json, &[], &encode::error(protocol, 400, what))
            }
        }
    }

    fn send_stream(
        &self,
        stream: &mut TcpStream,
        shared: &Shared,
        events: &[String],
    ) -> io::Result<()> {
        http::begin_chunks(stream, "text/event-stream; charset=utf-8")?;
        let sizes = shared.state().chunks.clone();
        let whole = self.cut_after.unwrap_or(events.len()).min(events.len());
        let held = self.hang_after.unwrap_or(events.len()).min(whole);
        let mut sizes = sizes.iter().copied().cycle();
        send_chunks(stream, &events[..held].concat(), &mut sizes)?;
        if self.hang_after.is_some_and(|after| after > 0) {
            hold(stream, shared)?;
        }
        send_chunks(stream, &events[held..whole].concat(), &mut sizes)?;
        if self.cut_after.is_some() {
            return Ok(());
        }
        http::end_chunks(stream)
    }
}

fn send_chunks(
    stream: &mut TcpStream,
    text: &str,
    sizes: &mut impl Iterator<Item = usize>,
) -> io::Result<()> {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let size = sizes.next().unwrap_or(1).min(rest.len());
        http::write_chunk(stream, &rest[..size])?;
        rest = &rest[size..];
    }
    stream.flush()
}

/// Holds an answer until it is released; an error means that the other side has gone.
fn hold(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(LOOK))?;
    let mut byte = [0];
    loop {
        {
            let state = shared.state();
            if state.released || state.stopping {
                return Ok(());
            }
        }
        match stream.read(&mut byte) {
            Ok(0) => return Err(io::ErrorKind::ConnectionAborted.into()),
            Ok(_) => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
    }
}
