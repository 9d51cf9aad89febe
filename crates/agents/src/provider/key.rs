//! Keys: secrets that go into one header and nowhere else.

use std::fmt;

/// A provider's key. It prints as `(key)`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Takes a key; space around it is no part of it, and nothing is none.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Returns the secret itself, for the header.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Takes the key out of a text that may quote it.
    pub(super) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "(key)")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(key)")
    }
}
