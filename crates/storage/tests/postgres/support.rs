//! Databases to test on, and short ways to say what tests say often.

use std::sync::Arc;

use contexture_core::PageStorage;
use contexture_storage::{PostgresOptions, PostgresStorage};
use contexture_testkit::server::PostgresServer;
use futures::executor::block_on;

/// Makes an empty database; returns its URL.
pub(crate) fn database() -> String {
    PostgresServer::shared().fresh_database()
}

pub(crate) fn open(url: &str) -> Arc<PostgresStorage> {
    Arc::new(block_on(PostgresStorage::open(url, options())).unwrap())
}

/// Few connections: many storages are open at once.
pub(crate) fn options() -> PostgresOptions {
    PostgresOptions { max_connections: 4, ..PostgresOptions::default() }
}

pub(crate) fn dynamic(url: &str) -> Arc<dyn PageStorage> {
    open(url)
}
