//! What does not open says why, and never tells a secret.

use contexture_core::storage::{StorageError, StorageResult};
use contexture_storage::{CreateMode, S3Options, S3Storage};
use contexture_testkit::server::S3Server;
use futures::executor::block_on;
use std::time::Duration;

use super::{options, url};

/// Opens what does not open. The servers here take any secret.
fn refusal(url: &str, mut options: S3Options) -> StorageError {
    options.secret_key = options.secret_key.map(|_| "hush-hush".to_owned());
    let opened: StorageResult<S3Storage> = block_on(S3Storage::open(url, options));
    let error = opened.unwrap_err();
    let told = format!("{error} {error:?} {}", error.advice());
    assert!(!told.contains("hush"), "{told}");
    error
}

// B-33: a server that ignores conditional writes is refused with an explanation.
#[test]
fn a_server_that_ignores_conditions_is_refused() {
    let server = S3Server::start_ignoring_conditions();
    let error = refusal(&url(&server, &server.fresh_prefix()), options(&server));
    assert!(matches!(error, StorageError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains("conditional writes"), "{error}");
}

#[test]
fn what_is_missing_is_named() {
    let server = S3Server::shared();
    let url = url(server, &server.fresh_prefix());
    let refused = |change: fn(&mut S3Options)| {
        let mut options = options(server);
        change(&mut options);
        refusal(&url, options).to_string()
    };
    let told = refused(|options| options.secret_key = None);
    assert!(told.contains("AWS_SECRET_ACCESS_KEY"), "{told}");
    let told = refused(|options| {
        options.endpoint = None;
        options.region = None;
    });
    assert!(told.contains("AWS_REGION"), "{told}");
    let told = refused(|options| options.allow_http = false);
    assert!(told.contains("plain http"), "{told}");
    let told = refused(|options| options.create = CreateMode::MustExist);
    assert!(told.contains("there is no store at"), "{told}");
    let told = refusal("s3://no-such-bucket-here/x", options(server)).to_string();
    assert!(told.contains("the bucket does not exist"), "{told}");
    let told = refused(|options| {
        options.endpoint = Some("http://127.0.0.1:1".to_owned());
        options.retry_timeout = Duration::from_millis(200);
    });
    assert!(told.contains("unavailable"), "{told}");
}
