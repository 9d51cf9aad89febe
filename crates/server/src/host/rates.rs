//! How fast one token may be used.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use crate::{Caller, SessionToken};

/// How many tokens are remembered. Those that were not used for a while are forgotten first.
const MOST: usize = 16_384;

/// How fast one token may be used.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// How many requests per second, in the long run.
    pub per_second: u32,
    /// How many requests at once after a pause.
    pub burst: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_second: 500, burst: 1_000 }
    }
}

/// How fast each token was used lately. The owner is not limited.
#[derive(Debug)]
pub(super) struct Rates {
    rate: Rate,
    left: Mutex<HashMap<SessionToken, (f64, Instant)>>,
}

impl Rates {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate, left: Mutex::default() }
    }

    /// Counts a request. Returns whether there is room for it.
    pub(super) fn admit(&self, caller: &Caller, now: Instant) -> bool {
        let Caller::Member { session, token, .. } = caller else { return true };
        let (burst, per_second) = (f64::from(self.rate.burst), f64::from(self.rate.per_second));
        let refilled = |left: f64, at: Instant| {
            (left + now.saturating_duration_since(at).as_secs_f64() * per_second).min(burst)
        };
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if left.len() >= MOST {
            left.retain(|_, (left, at)| refilled(*left, *at) < burst);
        }
        let entry = left.entry((session.clone(), token.clone())).or_insert((burst, now));
        *entry = (refilled(entry.0, entry.1), now);
        let is_admitted = entry.0 >= 1.0;
        if is_admitted {
            entry.0 -= 1.0;
        }
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_may_be_used_so_fast_and_no_faster() {
        let rates = Rates::new(Rate { per_second: 10, burst: 2 });
        let holder = |id: &str| Caller::Member {
            session: "demo".parse().unwrap(),
            token: id.parse().unwrap(),
            actor: "fixer".parse().unwrap(),
        };
        let begin = Instant::now();
        let admitted = |id, millis| rates.admit(&holder(id), begin + Duration::from_millis(millis));
        assert!(admitted("one", 0) && admitted("one", 0) && !admitted("one", 0));
        assert!(admitted("two", 0), "each token has its own");
        assert!(!admitted("one", 50) && admitted("one", 150) && !admitted("one", 160));
        assert!((0..100).all(|_| rates.admit(&Caller::Owner, begin)));
    }
}
