//! The servers that storages and searches need: PostgreSQL, S3 and a model of texts, started by the tests themselves.
//!
//! `scripts/postgres-server`, `scripts/s3-server` and `scripts/embedding-server` install what is missing, pick a free port on
//! loopback and run until their stdin closes: when a server is dropped, and also when the process
//! that owns it is killed. Nothing of them is left then. What is handed on to other processes is
//! a URL, never the server.
//!
//! A server that does not start, or does not do as it is told, is a panic with what it said: a
//! test without its server has failed. Calls block; there is no runtime in here.

mod embeddings;
mod postgres;
mod s3;
mod script;

pub use embeddings::EmbeddingServer;
pub use postgres::PostgresServer;
pub use s3::S3Server;
