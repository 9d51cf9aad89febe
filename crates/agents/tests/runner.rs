//! The tests of the agents crate: one binary, a module per topic.

#![allow(clippy::unwrap_used)]

mod providers;
mod runs;
mod tools;
