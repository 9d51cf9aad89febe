//! Keys: secrets that go into one header and nowhere else.
//!
//! A provider may quote the key it was sent, in an error or in an answer. It is taken out of both
//! before anything is stored or shown ([`super::redact`]).

use std::fmt;

/// What stands where a key was.
pub(super) const REDACTED: &str = "[key redacted]";

/// How many characters of a key make a text in an error its beginning.
const BEGINNING: usize = 8;

/// The shortest key that is taken out of answers: shorter ones are no secrets, and may be words.
const SHORTEST: usize = 8;

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

    /// Returns the secret where it is to be looked for in answers. What local servers are given for a
    /// key is often a plain word, which an answer may well use.
    pub(super) fn secret(&self) -> Option<&str> {
        let is_word = self.0.chars().all(char::is_alphabetic);
        (self.0.chars().count() >= SHORTEST && !is_word).then_some(&self.0)
    }

    /// Takes the key out of an error that may quote it, in whole or its beginning: providers mask the
    /// rest, as in `sk-abc12***wxyz`.
    pub(super) fn redact(&self, text: &str) -> String {
        let Some((end, _)) = self.0.char_indices().nth(BEGINNING) else {
            return text.replace(&self.0, REDACTED);
        };
        let beginning = &self.0[..end];
        let (mut redacted, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find(beginning) {
            redacted.push_str(&rest[..at]);
            redacted.push_str(REDACTED);
            rest = behind_mask(self.behind(&rest[at..]));
        }
        redacted.push_str(rest);
        redacted
    }

    /// Returns what follows in a text that begins as the key does, as far as it goes on so.
    fn behind<'a>(&self, text: &'a str) -> &'a str {
        let differs =
            text.char_indices().zip(self.0.chars()).find(|((_, one), other)| one != other);
        match differs {
            Some(((at, _), _)) => &text[at..],
            None => text.get(self.0.len()..).unwrap_or_default(),
        }
    }
}

/// Steps over what stands for the middle of a key, and over the end of the key behind it.
fn behind_mask(text: &str) -> &str {
    let rest = text.trim_start_matches(['*', '•', '…', '.']);
    let mask = &text[..text.len() - rest.len()];
    if mask.is_empty() || mask == "." {
        return text;
    }
    rest.trim_start_matches(|it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_')
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(key)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_lose_a_key_and_its_beginning() {
        let key = Key::new("sk-abc12345-wxyz").unwrap();
        for (text, shown) in [
            ("bad key sk-abc12345-wxyz!", "bad key [key redacted]!"),
            ("bad key sk-abc12***wxyz, see /keys", "bad key [key redacted], see /keys"),
            ("sk-abc12...yz and sk-abc1234… end", "[key redacted] and [key redacted] end"),
            ("it begins sk-abc12. Look", "it begins [key redacted]. Look"),
            ("sk-abc12345-wxyzsk-abc12345-wxyz", "[key redacted][key redacted]"),
            ("sk-abc12345-wx", "[key redacted]"),
            ("sk-abc1 is too little to tell", "sk-abc1 is too little to tell"),
            ("", ""),
        ] {
            assert_eq!(key.redact(text), shown);
        }
        assert_eq!(Key::new("sk-47").unwrap().redact("sk-4 sk-47"), "sk-4 [key redacted]");
        let foreign = Key::new("schlüßel-kürzel").unwrap();
        assert_eq!(foreign.redact("schlüßel-kürze! schlüßel-x"), "[key redacted]! [key redacted]x");
    }

    #[test]
    fn words_are_no_secrets() {
        for word in ["key", "ollama", "placeholder", "sk-1"] {
            assert_eq!(Key::new(word).unwrap().secret(), None);
        }
        assert_eq!(Key::new(" loopback-key ").unwrap().secret(), Some("loopback-key"));
    }
}
