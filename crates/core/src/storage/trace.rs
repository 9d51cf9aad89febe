//! Traces: bytes of what was destroyed that may still be found, and until when.

use std::fmt;

use serde::Serialize;

/// A place where bytes of what a purge or a removal took may still lie.
///
/// Nothing of it can be read through the storage any more; somebody who reads the files, tables or
/// objects themselves may find it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// Which file, table or object.
    pub place: String,
    /// What must happen before it is gone.
    pub until: String,
}

impl Trace {
    /// Names a place and what must happen.
    pub fn new(place: impl Into<String>, until: impl Into<String>) -> Self {
        Self { place: place.into(), until: until.into() }
    }

    /// Names the quarantine of a storage, which may hold what was destroyed.
    pub fn quarantine(storage: impl fmt::Display) -> Self {
        let until = "a scrub that includes the quarantine empties it";
        Self::new(format!("the quarantine of {storage}"), until)
    }
}

/// What scrubbing does with what repairs set aside because it could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quarantine {
    /// Leaves it alone, and reports it as a trace where there is something in it.
    Keep,
    /// Destroys it for good: nobody can look at it or save something from it any more.
    Empty,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} until {}", self.place, self.until)
    }
}
