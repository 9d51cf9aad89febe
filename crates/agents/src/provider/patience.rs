//! How long a stream is waited for: what only keeps it alive is no progress.

use std::time::Duration;

use tokio::time::Instant;

use super::Timeouts;

/// How long a stream is still waited for.
pub(super) struct Patience {
    timeouts: Timeouts,
    /// When it must have said something, and after how long.
    next: (Instant, Duration),
    /// When it must have said something new: one that only says that it lives does not go on for ever.
    new: (Instant, Duration),
    last: Vec<u8>,
}

impl Patience {
    /// Models that reason may begin late, also behind the headers.
    pub(super) fn new(timeouts: Timeouts) -> Self {
        let until = |wait| (Instant::now() + wait, wait);
        let (next, new) = (until(timeouts.first_byte), until(timeouts.plain));
        Self { timeouts, next, new, last: Vec::new() }
    }

    /// Notes an event.
    pub(super) fn heard(&mut self, data: Vec<u8>) {
        if data.trim_ascii().is_empty() {
            return;
        }
        let Timeouts { idle, plain, .. } = self.timeouts;
        let now = Instant::now();
        self.next = (now + idle, idle);
        if data != self.last {
            self.new = (now + plain, plain);
            self.last = data;
        }
    }

    /// Returns when it is over.
    pub(super) fn ends(&self) -> Instant {
        self.next.0.min(self.new.0)
    }

    /// Returns how long was waited, once it is over.
    pub(super) fn spent(&self) -> Duration {
        if self.next.0 <= self.new.0 { self.next.1 } else { self.new.1 }
    }
}
