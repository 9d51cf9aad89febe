//! The deep tests of the core: one binary, a module per topic.

#![allow(clippy::unwrap_used)]

#[path = "runner/concurrency.rs"]
mod concurrency;
#[path = "runner/conformance.rs"]
mod conformance;
#[path = "runner/permission_matrix.rs"]
mod permission_matrix;
#[path = "runner/properties.rs"]
mod properties;
#[path = "runner/seed_flow.rs"]
mod seed_flow;
#[path = "runner/structure.rs"]
mod structure;
#[path = "runner/turns.rs"]
mod turns;
#[path = "runner/undo.rs"]
mod undo;
#[path = "runner/views.rs"]
mod views;
