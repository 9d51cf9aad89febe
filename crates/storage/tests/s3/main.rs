//! S3 storage on a real server over HTTP.
//!
//! The suites with their full counts run on a store in memory, with the storage's own tests; here
//! every request takes milliseconds, so the counts are smaller.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod old_stores;
mod refused;
mod suite;

use std::sync::Arc;

use contexture_storage::{S3Options, S3Storage, S3Tuning};
use contexture_testkit::server::S3Server;
use futures::executor::block_on;

/// Returns how to reach a server.
fn options(server: &S3Server) -> S3Options {
    S3Options {
        endpoint: Some(server.endpoint().to_owned()),
        access_key: Some(server.access_key().to_owned()),
        secret_key: Some(server.secret_key().to_owned()),
        region: Some(server.region().to_owned()),
        allow_http: true,
        ..S3Options::default()
    }
}

fn url(server: &S3Server, prefix: &str) -> String {
    format!("s3://{}/{prefix}", server.bucket())
}

/// Opens a prefix of the shared server.
fn open(prefix: &str, tuning: S3Tuning) -> Arc<S3Storage> {
    let server = S3Server::shared();
    let options = S3Options { tuning, ..options(server) };
    Arc::new(block_on(S3Storage::open(&url(server, prefix), options)).unwrap())
}

/// Records move on after a few changes, so that short tests see all of it.
fn small() -> S3Tuning {
    S3Tuning {
        inline_bytes: 4_000,
        deltas: 3,
        chunk_bytes: 16_000,
        level_bytes: 64_000,
        pack_bytes: 16_000,
        large_content: 8_000,
        collect_every: 2,
        ..S3Tuning::default()
    }
}
