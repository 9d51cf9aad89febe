//! One binary for all of the storage's tests.

mod build;
mod conflicts;
mod damage;
mod files;
mod grouping;
mod model;
mod purge;
