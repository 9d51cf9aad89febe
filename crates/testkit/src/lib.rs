//! The test kit: what Contexture's own tests are made of. A dev-dependency, never shipped.
//!
//! - [`fixture`]: sessions to begin with, short ways to say what tests say often.
//! - [`image`]: everything a storage holds of a session, read in few calls.
//! - [`state`]: snapshots of everything a session holds.
//! - [`model`]: a naive model that says what an edit must do.
//! - [`edits`], [`random`]: random edits; a seed names a whole run.
//! - [`property`], [`undoing`], [`concurrency`]: drivers that any storage can be put through.
//! - [`window`]: random sessions for tests of windows.
//! - [`backend`]: a kind of storage, with empty places to try it in.
//! - [`conformance`]: the suite every storage must pass, with the memory storage as the model.
//! - [`provider`]: a server on loopback that speaks like OpenAI, Anthropic and Gemini.
//! - [`server`]: PostgreSQL and S3 on loopback, installed where they are missing.
//! - [`fault`], [`faults`]: a storage that fails, and a run in which every write does.
//! - [`fake`]: storages that count, or hold back what they were told.

pub mod backend;
pub mod concurrency;
pub mod conformance;
pub mod edits;
pub mod fake;
pub mod fault;
pub mod faults;
pub mod filled;
pub mod fixture;
pub mod image;
pub mod model;
pub mod old_store;
pub mod property;
pub mod provider;
pub mod random;
pub mod server;
pub mod state;
pub mod undoing;
pub mod window;
