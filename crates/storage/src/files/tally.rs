//! How many files stand beside a session's head.
//!
//! The head says it, so that a file somebody deleted is missed, and a mixture of two states is not
//! taken for a third. Counts need no look at other files to be kept up to date, and a diff of them can
//! be read.

use serde::{Deserialize, Serialize};

use super::names::Kind;

/// The number of files in each folder of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tally {
    #[serde(skip_serializing_if = "is_zero")]
    segments: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pages: u64,
    #[serde(skip_serializing_if = "is_zero")]
    history: u64,
    #[serde(skip_serializing_if = "is_zero")]
    contents: u64,
    #[serde(skip_serializing_if = "is_zero")]
    views: u64,
    #[serde(skip_serializing_if = "is_zero")]
    custom: u64,
    #[serde(skip_serializing_if = "is_zero")]
    runs: u64,
    #[serde(skip_serializing_if = "is_zero")]
    ledger: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Tally {
    /// Counts one file more.
    pub(crate) fn add(&mut self, kind: Kind) {
        if let Some(count) = self.count(kind) {
            *count = count.saturating_add(1);
        }
    }

    /// Counts one file less.
    pub(crate) fn take(&mut self, kind: Kind) {
        if let Some(count) = self.count(kind) {
            *count = count.saturating_sub(1);
        }
    }

    /// Returns the count of a kind; none for the head, which is not beside itself.
    fn count(&mut self, kind: Kind) -> Option<&mut u64> {
        Some(match kind {
            Kind::Head => return None,
            Kind::Segment => &mut self.segments,
            Kind::Page => &mut self.pages,
            Kind::Entry => &mut self.history,
            Kind::Content => &mut self.contents,
            Kind::View | Kind::Chunk => &mut self.views,
            Kind::Custom => &mut self.custom,
            Kind::Run => &mut self.runs,
            Kind::Sent => &mut self.ledger,
        })
    }

    /// Returns the number of all files.
    pub(crate) fn total(&self) -> u64 {
        self.folders().iter().map(|(_, count)| count).sum()
    }

    /// Says where other files were found than these, from the session's folder on: a place, and what
    /// is wrong with it.
    pub(crate) fn differences(&self, found: &Self) -> Vec<(&'static str, String)> {
        let pairs = self.folders().into_iter().zip(found.folders());
        let other = pairs.filter(|((_, count), (_, found))| count != found);
        other
            .map(|((place, count), (_, found))| {
                let wrong = match (place, found) {
                    ("custom.json", 0) => "the file is missing".to_owned(),
                    ("custom.json", _) => "the file does not belong to this state".to_owned(),
                    _ => format!("this state must have {count} files, but there are {found}"),
                };
                (place, wrong)
            })
            .collect()
    }

    fn folders(&self) -> [(&'static str, u64); 8] {
        [
            ("segments", self.segments),
            ("pages", self.pages),
            ("history", self.history),
            ("contents", self.contents),
            ("views", self.views),
            ("custom.json", self.custom),
            ("runs", self.runs),
            ("ledger", self.ledger),
        ]
    }
}
