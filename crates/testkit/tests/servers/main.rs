//! The servers that storages are tested on do what the tests of storages count on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod postgres;
mod s3;
