//! A client for one command: one connection, two requests, no threads.
//!
//! Building a general client takes longer than a command takes on a server. This one speaks as much HTTP as
//! its own server does, and gives up on anything else.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use contexture_core::ErrorKind;
use contexture_server::{Challenge, OwnerToken};
use serde::Deserialize;

use super::{Answer, Request, message::kind_of};
use crate::job::Job;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_millis(100);

/// How long a server may take to prove who it is.
const PROOF: Duration = Duration::from_millis(500);

/// How long a command may take.
const ANSWER: Duration = Duration::from_secs(120);

/// The longest head of an answer.
const HEAD: usize = 16 << 10;

/// The longest answer.
const BODY: usize = 1 << 30;

/// The route.
const ROUTE: &str = "/command";

/// A server on this machine, and the token that it must know.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) token: OwnerToken,
}

/// Why a server did not run a command, or may have.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not asked: it is out of reach, or not what it should be.
    Unused(String),
    /// It refused, and ran nothing.
    Refused { kind: ErrorKind, message: String, hint: String },
    /// It was asked and did not answer: it may have run the command.
    Lost(String),
}

impl Server {
    /// Runs a command there.
    pub(super) fn run(&self, request: &Request<&Job>) -> Result<Answer, Failure> {
        let unused = |error: io::Error| Failure::Unused(error.to_string());
        let body =
            serde_json::to_vec(request).map_err(|error| Failure::Unused(error.to_string()))?;
        let mut connection = Connection::open(self.address).map_err(unused)?;
        self.meet(&mut connection)?;
        connection.deadline = Instant::now() + ANSWER;
        let head = format!("authorization: Bearer {}\r\n", self.token);
        // What has not arrived whole is not run.
        connection.send("POST", ROUTE, &head, &body).map_err(unused)?;
        let (status, answer) =
            connection.receive(BODY).map_err(|error| Failure::Lost(error.to_string()))?;
        match status {
            200 => serde_json::from_slice(&answer)
                .map_err(|error| Failure::Lost(format!("it cannot be read: {error}"))),
            // It went wrong while it was being run.
            500 => Err(Failure::Lost(refusal(&answer).1)),
            _ => {
                let (kind, message, hint) = refusal(&answer);
                Err(Failure::Refused { kind, message, hint })
            }
        }
    }

    /// Makes sure that the other end knows the token, before it is sent there.
    fn meet(&self, connection: &mut Connection) -> Result<(), Failure> {
        let challenge = Challenge::random().map_err(|error| Failure::Unused(error.to_string()))?;
        let path = format!("{ROUTE}?challenge={}", challenge.as_str());
        let answered =
            connection.send("GET", &path, "", b"").and_then(|()| connection.receive(HEAD));
        let (status, proof) = answered.map_err(|error| Failure::Unused(error.to_string()))?;
        let proof = std::str::from_utf8(&proof).unwrap_or_default();
        match status == 200 && challenge.is_met(&self.token, proof) {
            true => Ok(()),
            false => Err(Failure::Unused("it does not know the owner's token".to_owned())),
        }
    }
}

/// Returns kind, message and hint of a refusal.
fn refusal(body: &[u8]) -> (ErrorKind, String, String) {
    #[derive(Deserialize)]
    struct Refusal {
        error: Reason,
    }
    #[derive(Deserialize)]
    struct Reason {
        kind: String,
        message: String,
        hint: String,
    }
    match serde_json::from_slice(body) {
        Ok(Refusal { error: Reason { kind, message, hint } }) => (kind_of(&kind), message, hint),
        Err(_) => {
            let message = "the server refused for a reason that cannot be read";
            let hint = "see its log, or leave out --server";
            (ErrorKind::Unavailable, message.to_owned(), hint.to_owned())
        }
    }
}

/// A connection that waits for nothing beyond its deadline.
struct Connection {
    stream: TcpStream,
    address: SocketAddr,
    deadline: Instant,
}

impl Connection {
    fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, CONNECT)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, address, deadline: Instant::now() + PROOF })
    }

    fn send(&mut self, method: &str, path: &str, headers: &str, body: &[u8]) -> io::Result<()> {
        let (address, length) = (self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{headers}content-length: {length}\r\n\r\n"
        );
        let message = [head.as_bytes(), body].concat();
        let mut left = &message[..];
        while !left.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            match self.stream.write(left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => left = &left[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(in_words(error)),
            }
        }
        Ok(())
    }

    /// Reads an answer: its status and its body.
    fn receive(&mut self, most: usize) -> io::Result<(u16, Vec<u8>)> {
        let mut bytes = Vec::new();
        let head = loop {
            if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break at;
            }
            if bytes.len() > HEAD {
                return Err(foreign());
            }
            self.more(&mut bytes)?;
        };
        let mut body = bytes.split_off(head + 4);
        let (status, length) = read_head(&bytes[..head]).ok_or_else(foreign)?;
        if length > most {
            return Err(foreign());
        }
        while body.len() < length {
            self.more(&mut body)?;
        }
        body.truncate(length);
        Ok((status, body))
    }

    /// Reads what has arrived.
    fn more(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let mut piece = [0; 64 << 10];
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::Error::other("it closed the connection")),
                Ok(count) => {
                    bytes.extend_from_slice(&piece[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(in_words(error)),
            }
        }
    }

    /// Returns how long it may still take.
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(too_slow()) } else { Ok(left) }
    }
}

/// Reads the status of an answer and the length of its body.
fn read_head(head: &[u8]) -> Option<(u16, usize)> {
    let mut lines = std::str::from_utf8(head).ok()?.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Some((status, length?))
}

fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => too_slow(),
        _ => error,
    }
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it takes too long")
}

fn foreign() -> io::Error {
    io::Error::other("it does not answer as a server of Contexture does")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_answers_are_read() {
        let read = |head: &str| read_head(head.as_bytes());
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 12\r\nx: y"), Some((200, 12)));
        assert_eq!(read("HTTP/1.1 401\r\ncontent-length:0"), Some((401, 0)));
        for foreign in [
            "",
            "SSH-2.0-OpenSSH_9.6",
            "HTTP/1.0 200 OK\r\ncontent-length: 1",
            "HTTP/1.1 200 OK",
            "HTTP/1.1 2\r\ncontent-length: 1",
            "HTTP/1.1 200 OK\r\ncontent-length: -1",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked",
        ] {
            assert_eq!(read(foreign), None, "{foreign}");
        }
    }
}
