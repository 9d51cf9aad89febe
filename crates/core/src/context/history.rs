//! The rounds a Context carries.

use serde::Serialize;

use crate::Timestamp;

/// Rounds, oldest first, each number once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct History(Vec<Round>);

/// One round: what was done and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Its number.
    pub round: u64,
    /// What was done.
    pub action: String,
    /// What came of it.
    pub result: String,
    /// When.
    pub timestamp: Timestamp,
}

impl History {
    /// How many rounds a Context shows unless asked otherwise; the store keeps them all (D-36).
    pub const SHOWN: usize = 50;

    /// Makes a history of the last `most` rounds, given in any order. Of two with one number the
    /// first given stands.
    pub fn latest(mut rounds: Vec<Round>, most: usize) -> Self {
        rounds.sort_by_key(|round| round.round);
        rounds.dedup_by_key(|round| round.round);
        rounds.drain(..rounds.len().saturating_sub(most));
        Self(rounds)
    }

    /// Returns the rounds, oldest first.
    pub fn rounds(&self) -> &[Round] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(round: u64) -> Round {
        let (action, result) = (format!("press {round}"), "done".to_owned());
        Round { round, action, result, timestamp: Timestamp::from_millis(0) }
    }

    // D-06, D-36: oldest first, the last fifty.
    #[test]
    fn the_latest_rounds_stand_oldest_first() {
        let history = History::latest((1..=60).rev().map(round).collect(), History::SHOWN);
        let numbers: Vec<u64> = history.rounds().iter().map(|round| round.round).collect();
        assert_eq!(numbers, (11..=60).collect::<Vec<_>>());
        assert_eq!(History::latest(vec![round(2), round(1), round(2)], 9).rounds().len(), 2);
        assert!(History::latest(vec![round(1)], 0).rounds().is_empty());
    }
}
