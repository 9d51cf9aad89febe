//! One binary for all of the storage's tests.

// Clippy knows test functions, but not their helpers.
#![allow(clippy::unwrap_used)]

mod backends;
mod build;
mod canary;
mod conflicts;
mod copy;
mod damage;
mod files;
mod five_methods;
mod grouping;
mod model;
mod old_stores;
mod purge;
mod repair;
mod ring;
mod salvage;
mod suite;
mod windows;
