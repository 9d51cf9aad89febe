//! PostgreSQL, for real: a server of its own, a fresh database for each test.
//!
//! Some tests start this program again, as other processes: see [`children`].

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout, reason = "tests tell what they measured")]

mod children;
mod proxy;
mod support;

mod cut;
mod damage;
mod encryption;
mod following;
mod imports;
mod old_stores;
mod opening;
mod outage;
mod processes;
mod suite;
mod texts;
mod writers;
