//! The system's clock, which the core takes as an argument.

use std::time::{SystemTime, UNIX_EPOCH};

use contexture_core::{Clock, Timestamp};

/// Tells the system's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let millis =
            |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Timestamp::from_millis(match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            // A clock set before 1970 is wrong, but it still goes forward.
            Err(before) => -millis(before.duration()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_past_the_day_this_was_written() {
        assert!(SystemClock.now() > "2025-01-01T00:00:00Z".parse().unwrap());
    }
}
