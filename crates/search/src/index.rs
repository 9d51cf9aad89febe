//! The index: what the sessions of a store say, derived from the store and rebuilt from it at any time.

mod class;
mod classes;
mod disk;
mod entry;
mod key;
mod merge;
mod postings;
mod range;
mod schema;
mod seen;
mod sight;
mod snapshot;
mod state;
mod tail;
