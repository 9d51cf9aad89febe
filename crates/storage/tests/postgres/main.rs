//! PostgreSQL, for real: a server of its own, a fresh database for each test.
//!
//! This program starts itself as the child processes of some tests.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod support;

mod suite;
