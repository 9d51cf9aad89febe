//! What tables hold of a page beside its data, so that it can be found: the same columns in SQLite and
//! in PostgreSQL.

use std::fmt::Display;

use contexture_core::{
    Page,
    storage::{PageStanding, StorageError, StorageResult},
};

/// A page's row but for its key and its data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageColumns {
    pub(crate) parent: Option<i64>,
    pub(crate) place: i64,
    pub(crate) standing: i64,
    pub(crate) version: i64,
    pub(crate) turn_author: Option<String>,
}

impl PageColumns {
    pub(crate) const LISTED: i64 = 0;
    pub(crate) const COLD_ARCHIVED: i64 = 1;
    pub(crate) const MOVED: i64 = 2;

    pub(crate) fn of(page: &Page) -> StorageResult<Self> {
        let parent = page.parent.as_ref().map(|parent| {
            if parent.segment() != page.index.segment() {
                let reason = format!("its parent {parent} is in another segment");
                return Err(StorageError::Corrupt { what: page.index.to_string(), reason });
            }
            integer(parent.number(), "page number")
        });
        Ok(Self {
            parent: parent.transpose()?,
            place: integer(page.place.0, "place")?,
            standing: match page.standing {
                PageStanding::InTree | PageStanding::HotArchived => Self::LISTED,
                PageStanding::ColdArchived => Self::COLD_ARCHIVED,
                PageStanding::Moved(_) => Self::MOVED,
            },
            version: integer(page.version.0, "version")?,
            turn_author: page.turn.as_ref().map(|_| page.author.to_string()),
        })
    }

    /// Returns the number of the directory that lists the page.
    #[cfg(feature = "sqlite")]
    pub(crate) fn listed_in(&self) -> Option<i64> {
        self.parent.filter(|_| self.standing == Self::LISTED)
    }
}

/// Converts a number to one that a table can hold.
pub(crate) fn integer(number: u64, what: impl Display) -> StorageResult<i64> {
    i64::try_from(number).map_err(|_| StorageError::ReadOnly {
        what: format!("{what} {number}"),
        reason: format!("the largest number a table can hold is {}", i64::MAX),
    })
}

/// Converts a limit; what a table cannot count to is no limit.
pub(crate) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
