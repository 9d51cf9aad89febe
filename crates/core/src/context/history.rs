//! The rounds a Context carries.

use serde::{Serialize, Serializer};

use crate::Timestamp;

/// Rounds by number, oldest first (D-06).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History(Vec<Round>);

/// One round: what was done and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Round {
    /// Its number.
    #[serde(skip)]
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

    /// Adds a round, numbered after the last; beyond [`History::SHOWN`] the oldest goes.
    pub fn add(
        &mut self,
        action: impl Into<String>,
        result: impl Into<String>,
        timestamp: Timestamp,
    ) {
        let round = self.0.last().map_or(1, |last| last.round.saturating_add(1));
        self.0.push(Round { round, action: action.into(), result: result.into(), timestamp });
        self.0.drain(..self.0.len().saturating_sub(Self::SHOWN));
    }

    /// Returns the rounds, oldest first.
    pub fn rounds(&self) -> &[Round] {
        &self.0
    }
}

impl Serialize for History {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|round| (round.round, round)))
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

    // D-06: each round by its number, in the order of numbers, also beyond nine.
    #[test]
    fn rounds_are_keyed_by_number() {
        let mut history = History::default();
        for number in 1..=10 {
            history.add(format!("press {number}"), "done", Timestamp::from_millis(number * 1_000));
        }
        let json = serde_json::to_string(&history).unwrap();
        let first =
            r#"{"1":{"action":"press 1","result":"done","timestamp":"1970-01-01T00:00:01Z"}"#;
        assert!(json.starts_with(first), "{json}");
        assert!(json.find(r#""9":{"#).unwrap() < json.find(r#""10":{"#).unwrap(), "{json}");
    }
}
