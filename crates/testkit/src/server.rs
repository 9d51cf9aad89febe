//! The servers that storages need: PostgreSQL and S3, started by the tests themselves.
//!
//! `scripts/postgres-server` and `scripts/s3-server` install what is missing, pick a free port on
//! loopback and run until their stdin closes: when a server is dropped, and also when the process
//! that owns it is killed. Nothing of them is left then. What is handed on to other processes is
//! a URL, never the server.
//!
//! A server that does not start, or does not do as it is told, is a panic with what it said: a
//! test without its server has failed. Calls block; there is no runtime in here.

mod postgres;
mod s3;
mod script;

pub use postgres::PostgresServer;
pub use s3::S3Server;
