//! Stores: checked, scrubbed and copied.

use contexture_core::storage::{
    Trace,
    copy::{Copied, CopyOutcome},
};
use serde::Serialize;

/// What a check of a store found.
#[derive(Debug, Serialize)]
pub struct CheckedObject {
    /// Whether nothing is wrong.
    pub ok: bool,
    /// What was repaired; left out where nothing could have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repaired: Option<Vec<String>>,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// What remains after a scrub.
#[derive(Debug, Serialize)]
pub struct ScrubbedObject {
    /// Where bytes of what was destroyed remain.
    pub traces: Vec<Trace>,
}

/// Sessions that were copied.
#[derive(Debug, Serialize)]
pub struct CopiedObject {
    /// The store they were copied to.
    pub to: String,
    /// The sessions, in the order in which they were copied.
    pub sessions: Vec<CopiedSessionObject>,
}

/// A session that was copied.
#[derive(Debug, Serialize)]
pub struct CopiedSessionObject {
    /// Its name.
    pub session: String,
    /// The revision that the copy is at.
    pub revision: u64,
    /// `copied`, `brought-forward` or `already-there`.
    pub outcome: &'static str,
    /// How many pages it has.
    pub pages: u64,
    /// How many texts it has.
    pub contents: u64,
    /// How many edits its history has.
    pub edits: u64,
    /// How many windows its ledgers have.
    pub windows: u64,
    /// A checksum of all of it, the same on both sides.
    pub hash: String,
}

impl From<&Copied> for CopiedSessionObject {
    fn from(copied: &Copied) -> Self {
        let outcome = match copied.outcome {
            CopyOutcome::Copied => "copied",
            CopyOutcome::BroughtForward(_) => "brought-forward",
            CopyOutcome::AlreadyThere => "already-there",
        };
        Self {
            session: copied.session.to_string(),
            revision: copied.revision.0,
            outcome,
            pages: copied.digest.pages(),
            contents: copied.digest.contents(),
            edits: copied.digest.entries(),
            windows: copied.digest.windows(),
            hash: copied.checksum().to_string(),
        }
    }
}
