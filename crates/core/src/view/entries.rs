//! What a view keeps as entries of the session's custom state: its level, and the last round of an
//! application in it. They are named after the view, and touch no other. Open exchanges are kept in the
//! same place, by author and segment.

use serde::{Deserialize, Serialize};

use super::ViewId;
use crate::{
    Actor, Error, HistoryEntry, Level, Operation, SegmentId,
    storage::{CustomDelta, CustomKey},
};

impl CustomKey {
    /// Entries whose keys begin so are the engine's own: they do not show, and callers do not set them.
    pub const OWN_PREFIX: &str = "contexture.";

    /// Tells whether an entry is the engine's own.
    pub fn is_own(&self) -> bool {
        self.as_str().starts_with(Self::OWN_PREFIX)
    }
}

const LEVEL: &str = "contexture.level.";
const ROUND: &str = "contexture.round.";
const OPEN: &str = "contexture.open.";

/// Names the entry of a view's level.
pub(crate) fn level_key(view: &ViewId) -> CustomKey {
    key(LEVEL, view)
}

/// Names the entry of the last round in a view.
pub(crate) fn round_key(view: &ViewId) -> CustomKey {
    key(ROUND, view)
}

/// Names the entry of an author's open exchange in a segment. Its value is the page that ends with it.
pub(crate) fn open_key(segment: &SegmentId, author: &Actor) -> CustomKey {
    // Names can be too long for a key, so both go in by their hash.
    let hash = blake3::hash(format!("{segment} {author}").as_bytes()).to_hex();
    format!("{OPEN}{}", &hash[..32]).parse().expect("it is short and plain")
}

/// Tells whether an entry is that of an open exchange.
pub(crate) fn is_open_key(key: &CustomKey) -> bool {
    key.as_str().starts_with(OPEN)
}

fn key(prefix: &str, view: &ViewId) -> CustomKey {
    format!("{prefix}{view}").parse().expect("names of agents are short and plain")
}

/// Returns the view an entry belongs to; none for what belongs to the session.
pub(crate) fn view_of(key: &CustomKey) -> Option<ViewId> {
    let name = key.as_str().strip_prefix(LEVEL).or_else(|| key.as_str().strip_prefix(ROUND))?;
    name.parse().ok()
}

/// A round of an application, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AppRound {
    /// How many there were in this view, with this one.
    pub(crate) count: u64,
    pub(crate) action: String,
    pub(crate) result: String,
}

impl AppRound {
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).expect("it holds only text and a number")
    }
}

/// What a view keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ViewEntries {
    /// The level it was switched to.
    pub(crate) level: Level,
    /// How many rounds of applications there were in it.
    pub(crate) rounds: u64,
}

impl ViewEntries {
    /// Finds a view's entries in the custom state.
    pub(crate) fn of(view: &ViewId, custom: &[(CustomKey, String)]) -> Result<Self, Error> {
        let get = |key: CustomKey| custom.iter().find(|(of, _)| *of == key).map(|(_, text)| text);
        let level = get(level_key(view)).map_or(Ok(Level::Full), |text| text.parse())?;
        let rounds = get(round_key(view)).and_then(|text| AppRound::read(text));
        Ok(Self { level, rounds: rounds.map_or(0, |round| round.count) })
    }
}

impl HistoryEntry {
    /// Returns what an application did and what came of it, if this entry is such a round.
    pub fn round(&self) -> Option<(String, String)> {
        let round = self.rounds().next()?.after.as_deref().and_then(AppRound::read)?;
        Some((round.action, round.result))
    }

    /// Returns what the entry says of a round.
    pub(crate) fn rounds(&self) -> impl Iterator<Item = &CustomDelta> {
        let own = round_key(&self.view);
        let is_round = self.operation == Operation::PressAnchor;
        self.inverse.custom.iter().filter(move |delta| is_round && delta.key == own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_named_after_their_view() {
        for name in ["system", "alpha", "a-very-long-name-of-an-agent-that-is-just-allowed-x"] {
            let Ok(view) = name.parse::<ViewId>() else { continue };
            assert_eq!(view_of(&level_key(&view)), Some(view.clone()));
            assert_eq!(view_of(&round_key(&view)), Some(view));
        }
        for other in ["mood", "contexture.level.", "contexture.mode.alpha"] {
            assert_eq!(view_of(&other.parse().unwrap()), None, "{other}");
        }
    }
}
