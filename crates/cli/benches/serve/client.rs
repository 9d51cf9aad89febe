//! A client that keeps its connection.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Client {
    address: SocketAddr,
    token: String,
    stream: Option<BufReader<TcpStream>>,
}

/// What came back.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, token: &str) -> Self {
        Self { address, token: token.to_owned(), stream: None }
    }

    /// Sends a request. After an error the connection is a new one.
    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        let answer = self.try_send(method, path, headers, body);
        if answer.is_err() {
            self.stream = None;
        }
        answer
    }

    /// Sends a request that must be answered so, and returns the body.
    pub(crate) fn must(
        &mut self,
        status: u16,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Value {
        let answer = self.send(method, path, &[], body).unwrap();
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, status, "{method} {path}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) fn get(&mut self, path: &str) -> Value {
        self.must(200, "GET", path, None)
    }

    fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> io::Result<Answer> {
        let (address, token) = (self.address, &self.token);
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-length: {}\r\n",
            body.len()
        );
        if !body.is_empty() {
            request.push_str("content-type: application/json\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        request.push_str(&body);
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(BufReader::with_capacity(64 << 10, connect(address)?)),
        };
        stream.get_mut().write_all(request.as_bytes())?;
        Answer::read(stream)
    }
}

/// Opens an event stream behind a revision, and reads its head.
pub(crate) fn events(
    address: SocketAddr,
    token: &str,
    session: &str,
    after: Option<u64>,
) -> io::Result<BufReader<TcpStream>> {
    let mut stream = BufReader::with_capacity(512, connect(address)?);
    let last = after.map(|after| format!("last-event-id: {after}\r\n")).unwrap_or_default();
    let request = format!(
        "GET /v1/sessions/{session}/events HTTP/1.1\r\nhost: {address}\r\n\
         authorization: Bearer {token}\r\n{last}\r\n"
    );
    stream.get_mut().write_all(request.as_bytes())?;
    let mut line = String::new();
    stream.read_line(&mut line)?;
    if !line.contains(" 200 ") {
        return Err(io::Error::other(format!("no event stream: {line}")));
    }
    while line.trim() != "" {
        line.clear();
        stream.read_line(&mut line)?;
    }
    Ok(stream)
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

impl Answer {
    fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Self> {
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let status =
            line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
        let (mut length, mut etag) = (0, None);
        loop {
            line.clear();
            if stream.read_line(&mut line)? == 0 {
                return Err(cut());
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name {
                "content-length" => length = value.parse().map_err(|_| cut())?,
                "etag" => etag = Some(value.to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; if status == 304 { 0 } else { length }];
        stream.read_exact(&mut body)?;
        Ok(Self { status, etag, body })
    }
}
