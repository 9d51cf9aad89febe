//! Shares of a window: what files and calls say about them, whose word holds, and where each value
//! came from.
//!
//! A share is written as a fraction of 1 with at most three decimals, `held` as a whole number. Value
//! by value the call decides, then the agent's file, the project's settings, the user's, the default.

use std::{collections::BTreeMap, fmt, str::FromStr};

use contexture_core::window::FoldShares;
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::{
    AgentDefinition, AgentsError, Result,
    definition::nearest,
    settings::{Settings, Source, Sourced},
};

/// What `1` is in the thousandths that the core counts in.
const WHOLE: u64 = 1_000;

/// The most folds that a view counts for an expanded page.
const MOST_HELD: u64 = u8::MAX as u64;

/// One of the values that shape folds, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Share {
    /// [`FoldShares::requests`].
    Requests,
    /// [`FoldShares::recent`].
    Recent,
    /// [`FoldShares::high_water`].
    HighWater,
    /// [`FoldShares::low_water`].
    LowWater,
    /// [`FoldShares::lines`].
    Lines,
    /// [`FoldShares::part`].
    Part,
    /// [`FoldShares::held`].
    Held,
}

impl Share {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Share; 7] = [
        Share::Requests,
        Share::Recent,
        Share::HighWater,
        Share::LowWater,
        Share::Lines,
        Share::Part,
        Share::Held,
    ];

    /// Returns the name that files and flags use.
    pub fn as_str(self) -> &'static str {
        match self {
            Share::Requests => "requests",
            Share::Recent => "recent",
            Share::HighWater => "highWater",
            Share::LowWater => "lowWater",
            Share::Lines => "lines",
            Share::Part => "part",
            Share::Held => "held",
        }
    }

    /// Says which values are allowed.
    pub fn wanted(self) -> &'static str {
        match self {
            Share::Held => "a whole number from 0 to 255",
            _ => "a number from 0 to 1 with at most three decimals",
        }
    }

    /// Reads a value; none where it is not allowed.
    pub fn read(self, text: &str) -> Option<u64> {
        if self == Share::Held {
            return text.parse().ok().filter(|folds| *folds <= MOST_HELD);
        }
        let share: f64 = text.parse().ok().filter(|share| (0.0..=1.0).contains(share))?;
        let thousandths = share * WHOLE as f64;
        let is_exact = (thousandths - thousandths.round()).abs() < 1e-6;
        is_exact.then_some(thousandths.round() as u64)
    }

    /// Returns a value as files and flags write it.
    pub fn write(self, value: u64) -> String {
        self.number(value).to_string()
    }

    fn number(self, value: u64) -> serde_json::Number {
        if self == Share::Held {
            return value.into();
        }
        match value % WHOLE {
            0 => (value / WHOLE).into(),
            _ => serde_json::Number::from_f64(value as f64 / WHOLE as f64)
                .expect("a quotient of whole numbers is finite"),
        }
    }

    fn of(self, shares: &mut FoldShares) -> &mut u64 {
        match self {
            Share::Requests => &mut shares.requests,
            Share::Recent => &mut shares.recent,
            Share::HighWater => &mut shares.high_water,
            Share::LowWater => &mut shares.low_water,
            Share::Lines => &mut shares.lines,
            Share::Part => &mut shares.part,
            Share::Held => &mut shares.held,
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(share) = Share::ALL.into_iter().find(|share| share.as_str() == text) {
            return Ok(share);
        }
        let names = Share::ALL.map(Share::as_str);
        let meant = nearest(text, names).map(|meant| format!("; did you mean '{meant}'?"));
        let (text, names) = (crate::definition::quoted(text), names.join(", "));
        Err(format!(
            "there is no share '{text}'; the shares are {names}{}",
            meant.unwrap_or_default()
        ))
    }
}

/// What one place says about shares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShareSettings(BTreeMap<Share, u64>);

impl ShareSettings {
    /// Sets a share to a value that [`Share::read`] returned; returns what was set before.
    pub fn set(&mut self, share: Share, value: u64) -> Option<u64> {
        self.0.insert(share, value)
    }

    /// Lists what is set.
    pub fn iter(&self) -> impl Iterator<Item = (Share, u64)> + '_ {
        self.0.iter().map(|(share, value)| (*share, *value))
    }

    /// Tells whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses a low water above the high water, where both are set.
    ///
    /// # Errors
    ///
    /// Says what is wrong, without naming the file.
    pub fn check(&self) -> Result<(), String> {
        match (self.0.get(&Share::LowWater), self.0.get(&Share::HighWater)) {
            (Some(low), Some(high)) if low > high => Err(format!(
                "lowWater ({}) must not be above highWater ({})",
                Share::LowWater.write(*low),
                Share::HighWater.write(*high)
            )),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for ShareSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (share, value)) in self.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{share} {}", share.write(value))?;
        }
        Ok(())
    }
}

impl Serialize for ShareSettings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (share, value) in self.iter() {
            map.serialize_entry(&share, &share.number(value))?;
        }
        map.end()
    }
}

/// The shares that hold, each with where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedShares(BTreeMap<Share, Sourced<u64>>);

impl ResolvedShares {
    /// Returns the shares as windows take them.
    pub fn shares(&self) -> FoldShares {
        let mut shares = FoldShares::default();
        for (share, set) in &self.0 {
            *share.of(&mut shares) = set.value;
        }
        shares
    }

    /// Lists all shares, as they are written, and where each came from.
    pub fn iter(&self) -> impl Iterator<Item = (Share, serde_json::Number, &Source)> {
        self.0.iter().map(|(share, set)| (*share, share.number(set.value), &set.source))
    }
}

/// Resolves the shares of a window: value by value the call, the agent's file, the project's settings,
/// the user's, the default.
///
/// # Errors
///
/// A low water above the high water, with who says which.
pub fn resolve(
    call: &ShareSettings,
    agent: Option<&AgentDefinition>,
    settings: &Settings,
) -> Result<ResolvedShares> {
    let mut default = FoldShares::default();
    let resolved = Share::ALL.map(|share| {
        let flag = call.0.get(&share).map(|value| (*value, Source::Flag));
        let file = || {
            let agent = agent?;
            Some((*agent.shares.0.get(&share)?, Source::Definition(agent.file.clone())))
        };
        let set = || settings.shares.get(&share).map(|set| (set.value, set.source.clone()));
        let said = flag.or_else(file).or_else(set);
        let (value, source) = said.unwrap_or_else(|| (*share.of(&mut default), Source::Default));
        (share, Sourced { value, source })
    });
    let resolved = BTreeMap::from(resolved);
    let (low, high) = (&resolved[&Share::LowWater], &resolved[&Share::HighWater]);
    if low.value > high.value {
        return Err(AgentsError::Invalid {
            what: format!(
                "lowWater is set to {} by {}, above highWater, which is set to {} by {}",
                Share::LowWater.write(low.value),
                low.source,
                Share::HighWater.write(high.value),
                high.source
            ),
            hint: "set both, with lowWater at most as large as highWater".to_owned(),
        });
    }
    Ok(ResolvedShares(resolved))
}

#[cfg(test)]
#[path = "shares_tests.rs"]
mod tests;
