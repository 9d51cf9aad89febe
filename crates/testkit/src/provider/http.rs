//! As much of HTTP/1.1 as a test server needs: one request, one answer, one connection.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde_json::Value;

use super::Protocol;

/// The largest request read.
const LARGEST: u64 = 256 << 20;

/// A request that came.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query, empty where there is none.
    pub query: String,
    /// The headers, their names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl HttpRequest {
    /// Returns a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// Returns who is spoken to, by the path.
    pub fn protocol(&self) -> Option<Protocol> {
        if self.path.ends_with("/chat/completions") || self.wants_embeddings() {
            Some(Protocol::OpenAi)
        } else if self.path.ends_with("/v1/messages") {
            Some(Protocol::Anthropic)
        } else if self.path.contains("/v1beta/") && self.path.contains(":") {
            Some(Protocol::Gemini)
        } else {
            None
        }
    }

    /// Tells whether it asks for vectors of texts.
    pub fn wants_embeddings(&self) -> bool {
        self.path.ends_with("/v1/embeddings")
    }

    /// Returns the texts that vectors are asked for.
    pub fn texts(&self) -> Vec<String> {
        serde_json::from_value(self.json()["input"].clone()).unwrap_or_default()
    }

    /// Returns the model it is for.
    pub fn model(&self) -> String {
        if self.protocol() == Some(Protocol::Gemini) {
            let last = self.path.rsplit('/').next().unwrap_or_default();
            return last.split(':').next().unwrap_or_default().to_owned();
        }
        self.json()["model"].as_str().unwrap_or_default().to_owned()
    }

    /// Tells whether the answer is to be a stream.
    pub fn wants_stream(&self) -> bool {
        self.path.ends_with(":streamGenerateContent") || self.json()["stream"] == true
    }
}

/// Reads a request; nothing if the connection closed before one.
pub(super) fn read(stream: &mut impl Read) -> io::Result<Option<HttpRequest>> {
    let mut reader = BufReader::new(stream.take(LARGEST));
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    let (path, query) = (path.to_owned(), query.to_owned());
    Ok(Some(HttpRequest { method, path, query, headers, body }))
}

/// Writes an answer with its length.
pub(super) fn write_whole(
    stream: &mut impl Write,
    status: u16,
    content_type: &str,
    headers: &[(&str, String)],
    body: &str,
) -> io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} Told\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
         connection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
    stream.flush()
}

/// Begins an answer that comes in chunks.
pub(super) fn begin_chunks(stream: &mut impl Write, content_type: &str) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())
}

/// Writes a chunk.
pub(super) fn write_chunk(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk)
}

/// Ends a stream as it should end.
pub(super) fn end_chunks(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()
}
