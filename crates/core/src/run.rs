//! Run records: what the loop of an agent keeps between its steps.
//!
//! A record is a small text under a key of its session. It lies outside the history, so that no undo
//! brings back a step that was already taken; it is durable when acknowledged; and it may move on in
//! the same commit as an edit ([`crate::ContextSystem::apply_with_runs`]), so that neither is ever
//! ahead of the other. The text is the loop's own: nothing here reads it.

use crate::{
    Timestamp,
    storage::{RunKey, Version},
};

/// A run's record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Which.
    pub key: RunKey,
    /// Counts its changes, from 1.
    pub version: Version,
    /// What it says: JSON, by custom.
    pub value: String,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A change of a run's record. It is refused unless the record is what the caller read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPut {
    /// Which.
    pub key: RunKey,
    /// The version it must have; none when there must be no such record.
    pub expect: Option<Version>,
    /// What it says from now on; none removes it.
    pub value: Option<String>,
    /// When.
    pub at: Timestamp,
}

impl RunRecord {
    /// Moves it on.
    pub fn next(&self, value: impl Into<String>, at: Timestamp) -> RunPut {
        let (key, expect) = (self.key.clone(), Some(self.version));
        RunPut { key, expect, value: Some(value.into()), at }
    }

    /// Removes it.
    pub fn removal(&self, at: Timestamp) -> RunPut {
        RunPut { key: self.key.clone(), expect: Some(self.version), value: None, at }
    }
}

impl RunPut {
    /// Makes a record that is not there yet.
    pub fn first(key: RunKey, value: impl Into<String>, at: Timestamp) -> Self {
        Self { key, expect: None, value: Some(value.into()), at }
    }

    /// Returns the version it gives the record.
    pub fn version(&self) -> Version {
        self.expect.map_or(Version(1), Version::next)
    }

    /// Returns the record it leaves; none where it removes it.
    pub fn record(&self) -> Option<RunRecord> {
        let value = self.value.clone()?;
        Some(RunRecord {
            key: self.key.clone(),
            version: self.version(),
            value,
            updated_at: self.at,
        })
    }
}
