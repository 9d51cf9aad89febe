//! PostgreSQL on loopback.

use std::sync::{
    Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use super::script::Script;

/// A PostgreSQL of its own files and port. It goes when dropped.
///
/// The user `postgres` needs no password. Up to 400 connections; UTF-8, sorted by bytes.
pub struct PostgresServer {
    script: Mutex<Script>,
    url: String,
    databases: AtomicUsize,
}

impl PostgresServer {
    /// Starts a server that does not wait for the disk: what is committed outlives a crash of the
    /// server, not of the machine.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server that waits for the disk at every commit, as in production: for figures.
    pub fn start_durable() -> Self {
        Self::start_with(&["--durable"])
    }

    /// Returns the server that tests share: the one that `scripts/with-servers` started for many test
    /// programs, else one of this process, started by the first who asks.
    ///
    /// It is for everybody: a test that stops a server starts one of its own.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<PostgresServer> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("CONTEXTURE_TEST_POSTGRES") {
            Ok(url) => Self::start_with(&["--at", &url]),
            Err(_) => Self::start(),
        })
    }

    fn start_with(options: &[&str]) -> Self {
        let mut script = Script::start("postgres-server", options);
        let url = script.line();
        Self { script: Mutex::new(script), url, databases: AtomicUsize::new(0) }
    }

    /// Returns the URL of the database `postgres`. It stays the same when the server is stopped
    /// and started again.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes an empty database; returns its URL.
    pub fn fresh_database(&self) -> String {
        // Other processes make databases on the same server.
        let number = self.databases.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("test_{}_{number}", std::process::id());
        self.script().order(&format!("database {name}"), "made");
        let server = self.url.strip_suffix("/postgres").expect("the script prints this database");
        format!("{server}/{name}")
    }

    /// Stops the server in good order, though connections are open; returns when it is gone.
    pub fn stop(&self) {
        self.script().order("stop", "stopped");
    }

    /// Stops the server as a crash would; returns when it is gone.
    pub fn kill(&self) {
        self.script().order("kill", "stopped");
    }

    /// Starts the stopped server again on the same port; returns when it accepts connections.
    pub fn start_again(&self) {
        self.script().order("start", "started");
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
