//! Versions of a Context: made by the engine, or merely claimed by some text.

use std::fmt;

use serde::Serialize;

/// The version of what a Context was rendered from (D-15). Only the engine makes one (D-30).
///
/// The order is that of time: a state that came later has the greater version.
///
/// ```compile_fail
/// let forged = contexture_core::context::ContextVersion { major: 9, minor: 9, patch: 9 };
/// ```
///
/// ```compile_fail
/// let forged: contexture_core::context::ContextVersion = serde_json::from_str("{}").unwrap();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ContextVersion {
    major: u64,
    minor: u64,
    patch: u64,
}

impl ContextVersion {
    /// The version of nothing: for errors about a state that could not be read at all.
    pub const NONE: Self = Self::new(0, 0, 0);

    /// Makes a version of the source data's, the level state's and the rendering's own.
    pub(crate) const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch }
    }

    /// Returns the version of the source data.
    pub fn major(self) -> u64 {
        self.major
    }

    /// Returns the version of the level state.
    pub fn minor(self) -> u64 {
        self.minor
    }

    /// Returns the version of the details of rendering.
    pub fn patch(self) -> u64 {
        self.patch
    }

    /// Tells whether both show the same source data, be it at other levels.
    pub fn is_compatible_with(self, other: Self) -> bool {
        self.major == other.major
    }
}

impl fmt::Display for ContextVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Names what a rendering depends on beside its version: the view, the filter, the level or budget
/// of one call, the tokenizer. Equal version and key, equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RenderKey(String);

impl RenderKey {
    /// Names what these bytes say.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut key = hasher.finalize().to_hex().to_string();
        key.truncate(32);
        Self(key)
    }

    /// Keeps a key that some text claims; it is never compared for reuse.
    pub(super) fn claimed(text: String) -> Self {
        Self(text)
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The version some text says a Context has. Anyone can make one, so nothing is reused for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct ClaimedVersion {
    /// Of the source data.
    pub major: u64,
    /// Of the level state.
    pub minor: u64,
    /// Of the details of rendering.
    pub patch: u64,
}

impl ClaimedVersion {
    /// Tells whether it claims the same source data as the other.
    pub fn is_compatible_with(self, other: Self) -> bool {
        self.major == other.major
    }
}

impl From<ContextVersion> for ClaimedVersion {
    fn from(version: ContextVersion) -> Self {
        Self { major: version.major, minor: version.minor, patch: version.patch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // D-15, D-16, vector 3: a change of minor is compatible, a change of major is not.
    #[test]
    fn compatible_means_the_same_major() {
        let [v1, v2, v3] = [(1, 0, 0), (1, 1, 0), (2, 0, 0)]
            .map(|(major, minor, patch)| ContextVersion::new(major, minor, patch));
        assert!(v1.is_compatible_with(v2) && v2.is_compatible_with(v1));
        assert!(!v1.is_compatible_with(v3) && !v3.is_compatible_with(v2));
        let claimed = ClaimedVersion::from(v1);
        assert!(claimed.is_compatible_with(v2.into()) && !claimed.is_compatible_with(v3.into()));
        assert_eq!((v2.major(), v2.minor(), v2.patch()), (1, 1, 0));
    }
}
