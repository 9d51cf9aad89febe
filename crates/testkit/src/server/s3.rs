//! An S3-compatible server on loopback.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use super::script::Script;

/// An S3-compatible server with one bucket. It goes when dropped.
///
/// Addresses have the bucket in the path. It takes one request at a time, so that conditions hold,
/// and does not check signatures.
pub struct S3Server {
    /// Kept because the server ends with it; none where another process started it.
    _script: Option<Script>,
    endpoint: String,
    bucket: String,
    access_key: String,
    secret_key: String,
    region: String,
    prefixes: AtomicUsize,
}

impl S3Server {
    /// Starts a server that keeps to `If-None-Match: *` and `If-Match` when it writes.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server that overwrites whatever the conditions say, as some do.
    pub fn start_ignoring_conditions() -> Self {
        Self::start_with(&["--ignores-conditions"])
    }

    /// Returns the server that tests share: the one that `scripts/with-servers` started for many test
    /// programs, else one of this process, started by the first who asks. It keeps to conditions.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<S3Server> = OnceLock::new();
        SHARED.get_or_init(|| match std::env::var("CONTEXTURE_TEST_S3") {
            Ok(line) => Self::printed(&line, None),
            Err(_) => Self::start(),
        })
    }

    fn start_with(options: &[&str]) -> Self {
        let mut script = Script::start("s3-server", options);
        let line = script.line();
        Self::printed(&line, Some(script))
    }

    /// Reads the line that the script prints.
    fn printed(line: &str, script: Option<Script>) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [endpoint, bucket, access_key, secret_key, region] = words[..] else {
            panic!("scripts/s3-server printed '{line}'");
        };
        Self {
            endpoint: endpoint.to_owned(),
            bucket: bucket.to_owned(),
            access_key: access_key.to_owned(),
            secret_key: secret_key.to_owned(),
            region: region.to_owned(),
            prefixes: AtomicUsize::new(0),
            _script: script,
        }
    }

    /// Returns the endpoint, as `http://127.0.0.1:PORT`.
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Returns the bucket.
    pub fn bucket(&self) -> &str {
        &self.bucket
    }

    /// Returns the access key.
    pub fn access_key(&self) -> &str {
        &self.access_key
    }

    /// Returns the secret key.
    pub fn secret_key(&self) -> &str {
        &self.secret_key
    }

    /// Returns the region.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Returns a prefix, without a slash, under which nothing stands and that nobody else gets.
    pub fn fresh_prefix(&self) -> String {
        // Other processes use the same bucket.
        let number = self.prefixes.fetch_add(1, Ordering::Relaxed) + 1;
        format!("test-{}-{number}", std::process::id())
    }
}
