//! Numbers that must not be confused: revisions, versions, places, tokens, times.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Error;

macro_rules! number_type {
    ($($(#[$doc:meta])* $type:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(pub u64);

        impl $type {
            /// Returns the number after this one.
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

number_type! {
    /// Counts the committed edits of a session; 0 before the first.
    Revision;
    /// Counts the changes of one page or segment; only grows, also through undo.
    Version;
    /// Orders siblings: grows through a session and is never reused, so a page that comes back
    /// from the archive finds its old place free.
    Place;
    /// An amount of tokens.
    Tokens;
}

/// Returns so many thousandths of an amount, however large it is.
pub(crate) fn thousandths(amount: u64, part: u64) -> u64 {
    let share = u128::from(amount) * u128::from(part) / 1_000;
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// A point in time, to the millisecond, in UTC. It always comes in as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Makes a time from milliseconds since 1970, clamped to the years jiff can represent.
    pub fn from_millis(millis: i64) -> Self {
        let nearest = if millis < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        Self(jiff::Timestamp::from_millisecond(millis).unwrap_or(nearest))
    }

    /// Returns the milliseconds since 1970.
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let time: jiff::Timestamp = text.parse().map_err(|_| Error::InvalidText {
            what: "time",
            text: crate::index::shorten(text),
            reason: "it is not RFC 3339, such as 2025-02-06T10:00:00Z",
        })?;
        Ok(Self::from_millis(time.as_millisecond()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

crate::text::serde_as_text!(Timestamp);

/// Where the time comes from. The core never asks a clock by itself.
pub trait Clock: Send + Sync {
    /// Returns the present time.
    fn now(&self) -> Timestamp;
}

impl<F: Fn() -> Timestamp + Send + Sync> Clock for F {
    fn now(&self) -> Timestamp {
        self()
    }
}

/// A clock that stands still until it is told otherwise.
#[derive(Debug, Default)]
pub struct ManualClock(std::sync::atomic::AtomicI64);

impl ManualClock {
    /// Makes a clock that shows `millis` since 1970.
    pub fn at_millis(millis: i64) -> Self {
        Self(millis.into())
    }

    /// Moves the clock forward.
    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(std::sync::atomic::Ordering::Relaxed))
    }
}
