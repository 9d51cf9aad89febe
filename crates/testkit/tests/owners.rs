//! A process that owns a server and is killed leaves neither the server nor its files.
//!
//! This program starts itself as the owner; without arguments it is the test.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "owners tell where their server is; the test how it went")]

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use contexture_testkit::server::{PostgresServer, S3Server};

/// How long a test waits for what it knows must come: a failure, never a measure.
const PATIENCE: Duration = Duration::from_secs(60);

const SERVERS: [&str; 2] = ["postgres", "s3"];

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("postgres") => return own(PostgresServer::start().url()),
        Some("s3") => return own(S3Server::start().endpoint()),
        _ => {}
    }
    for server in SERVERS {
        a_killed_owner_leaves_nothing(server);
        println!("test a_killed_owner_leaves_nothing ({server}) ... ok");
    }
    println!("\ntest result: ok. {} passed; 0 failed", SERVERS.len());
}

/// Tells where the server is, then waits to be killed.
fn own(url: &str) {
    println!("{url}");
    loop {
        thread::park();
    }
}

fn a_killed_owner_leaves_nothing(server: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .arg(server)
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let rest = url.trim().split_once("://").unwrap().1;
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let address = rest.split_once('/').map_or(rest, |(address, _)| address);
    TcpStream::connect(address).unwrap();
    // One keeps everything in memory; the other has files, and nowhere else than it is told.
    assert_eq!(entries(folder.path()) > 0, server == "postgres", "{server}");

    // On Unix this is SIGKILL.
    owner.kill().unwrap();
    owner.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_ok() || entries(folder.path()) > 0 {
        assert!(Instant::now() < deadline, "the server of {server} is still there");
        thread::sleep(Duration::from_millis(10));
    }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}
