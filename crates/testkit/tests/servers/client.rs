//! As much of a client as these tests need.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
};

use contexture_testkit::server::S3Server;

/// A connection to PostgreSQL.
pub(crate) struct Postgres {
    stream: TcpStream,
}

impl Postgres {
    /// Connects to what a URL names. An error's text begins with its SQLSTATE, if it has one.
    pub(crate) fn connect(url: &str) -> Result<Self, String> {
        let (user, rest) = url.strip_prefix("postgres://").unwrap().split_once('@').unwrap();
        let (address, database) = rest.split_once('/').unwrap();
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        let mut this = Self { stream };
        let body = format!("\0\x03\0\0user\0{user}\0database\0{database}\0\0");
        this.send(&[], body.as_bytes()).unwrap();
        this.rows()?;
        Ok(this)
    }

    /// Runs a statement; returns the first column of its rows.
    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<String>, String> {
        self.send(b"Q", format!("{sql}\0").as_bytes()).map_err(|error| error.to_string())?;
        self.rows()
    }

    fn send(&mut self, kind: &[u8], body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        self.stream.write_all(&[kind, &length, body].concat())
    }

    /// Reads until the server is ready for the next statement.
    fn rows(&mut self) -> Result<Vec<String>, String> {
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            let (kind, body) = match self.receive() {
                Ok(message) => message,
                Err(error) => return Err(failure.unwrap_or(error.to_string())),
            };
            match kind {
                b'D' => {
                    let length = u32::from_be_bytes(body[2..6].try_into().unwrap()) as usize;
                    rows.push(String::from_utf8(body[6..6 + length].to_vec()).unwrap());
                }
                b'E' => failure = Some(explained(&body)),
                b'Z' => return failure.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    fn receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        self.stream.read_exact(&mut body)?;
        Ok((head[0], body))
    }
}

fn explained(body: &[u8]) -> String {
    let fields: Vec<&[u8]> = body.split(|byte| *byte == 0).collect();
    let field = |kind: &[u8]| {
        let found = fields.iter().find_map(|field| field.strip_prefix(kind)).unwrap();
        String::from_utf8_lossy(found).into_owned()
    };
    format!("{} {}", field(b"C"), field(b"M"))
}

/// What an S3 server answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) etag: String,
    pub(crate) body: String,
}

/// Makes one request for a key of the server's bucket.
pub(crate) fn request(
    server: &S3Server,
    method: &str,
    key: &str,
    header: &str,
    body: &str,
) -> Answer {
    let address = server.endpoint().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let (bucket, length) = (server.bucket(), body.len());
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    // No signature is checked, but an account must be named.
    let account = format!(
        "Authorization: AWS4-HMAC-SHA256 Credential={}/20260101/{}/s3/aws4_request, \
         SignedHeaders=host, Signature=0\r\n",
        server.access_key(),
        server.region()
    );
    let head = format!(
        "{method} /{bucket}/{key} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{account}{header}\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let etag = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("etag").then(|| value.to_owned())
    });
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        etag: etag.unwrap_or_default(),
        body: body.to_owned(),
    }
}
