//! Texts that are validated once, when they are made: names, descriptions, ids of sessions and agents.

use std::{fmt, str::FromStr, sync::Arc};

use crate::{Error, index::shorten};

/// Implements serde for types whose JSON form is their `Display` text, read back by `FromStr`.
macro_rules! serde_as_text {
    ($($type:ty),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
pub(crate) use serde_as_text;

/// Declares a text type with one validating constructor.
macro_rules! text_type {
    ($(#[$doc:meta])* $type:ident, $what:literal, $normalise:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(Arc<str>);

        impl $type {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $type {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self, Error> {
                $normalise(text).map(|text| Self(text.into())).map_err(|reason| {
                    Error::InvalidText { what: $what, text: shorten(text), reason }
                })
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
        serde_as_text!($type);
    };
}

text_type!(
    /// A page's or segment's name: 1 to 200 characters after trimming, no control characters.
    PageName, "name", name_text
);
text_type!(
    /// A page's or segment's description: up to 2,000 characters, possibly none.
    Description, "description", description_text
);
text_type!(
    /// Names a session: letters, digits, `.`, `_`, `-`; begins with a letter or digit; at most 128.
    SessionId, "session name", session_text
);
text_type!(
    /// Names an agent: lower case, digits, single `-` or `_` between; at most 48; some words are reserved.
    AgentName, "agent name", agent_text
);
text_type!(
    /// Names a person: letters, digits, `.`, `_`, `-`, `+`, `@`; begins with a letter or digit; at most 128.
    UserName, "user name", user_text
);
text_type!(
    /// A key of the session's custom state: 1 to 100 characters, no control characters.
    CustomKey, "key", key_text
);

text_type!(
    /// A host's key of something it appends: 1 to 200 characters, no control characters.
    AppendKey, "append key", run_key_text
);

text_type!(
    /// Names a run's record: 1 to 200 characters, no control characters.
    RunKey, "run key", run_key_text
);

impl RunKey {
    /// Keys that begin with this name runs that have not ended. A purge is refused while there is one
    /// that it does not end itself: its record may quote what is to be destroyed, and whoever resumed
    /// it would bring that back.
    pub const UNFINISHED: &str = "run.";
}

impl Description {
    /// Tells whether there is no description.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for Description {
    fn default() -> Self {
        Self("".into())
    }
}

impl PageName {
    /// Makes a name from any text: its first line, trimmed and shortened, or `fallback`.
    pub fn from_first_line(text: &str, fallback: &str) -> Self {
        const MOST: usize = 80;
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or(fallback);
        let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut name: String = clean.chars().take(MOST).collect();
        if clean.chars().count() > MOST {
            name.truncate(name.trim_end().len());
            name.push('…');
        }
        name.parse().unwrap_or_else(|_| Self(fallback.into()))
    }
}

fn name_text(text: &str) -> Result<&str, &'static str> {
    bounded_line(text, 200, "it is longer than 200 characters")
}

fn key_text(text: &str) -> Result<&str, &'static str> {
    bounded_line(text, 100, "it is longer than 100 characters")
}

fn run_key_text(text: &str) -> Result<&str, &'static str> {
    bounded_line(text, 200, "it is longer than 200 characters")
}

fn bounded_line<'a>(
    text: &'a str,
    most: usize,
    too_long: &'static str,
) -> Result<&'a str, &'static str> {
    let text = text.trim();
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.chars().any(char::is_control) {
        return Err("it has control characters");
    }
    if text.chars().all(is_invisible) {
        return Err("it has no visible characters");
    }
    if text.chars().count() > most { Err(too_long) } else { Ok(text) }
}

/// Tells whether a character takes no ink: such a name could not be told from none.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}'
            | '\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

fn description_text(text: &str) -> Result<&str, &'static str> {
    let text = text.trim();
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err("it has control characters other than line breaks and tabs");
    }
    if text.chars().count() > 2_000 { Err("it is longer than 2,000 characters") } else { Ok(text) }
}

fn session_text(text: &str) -> Result<&str, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > 128 {
        return Err("it is longer than 128 characters");
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if !text.bytes().all(allowed) || !text.as_bytes()[0].is_ascii_alphanumeric() {
        return Err(
            "it may contain only letters, digits, '.', '_' and '-', and must begin with a letter or digit",
        );
    }
    Ok(text)
}

fn user_text(text: &str) -> Result<&str, &'static str> {
    if text.is_empty() {
        return Err("it is empty");
    }
    if text.len() > 128 {
        return Err("it is longer than 128 characters");
    }
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '@');
    if !text.chars().all(allowed) || !text.starts_with(char::is_alphanumeric) {
        return Err(
            "it may contain only letters, digits, '.', '_', '-', '+' and '@', and must begin with a letter or digit",
        );
    }
    Ok(text)
}

const RESERVED_AGENTS: [&str; 8] =
    ["default", "system", "main", "all", "user", "assistant", "tool", "agents"];

fn agent_text(text: &str) -> Result<&str, &'static str> {
    if text.len() > 48 {
        return Err("it is longer than 48 characters");
    }
    if RESERVED_AGENTS.contains(&text) {
        return Err("it is reserved");
    }
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) || !text.split(['-', '_']).all(word) {
        return Err(
            "it must begin with a lower-case letter and contain only lower-case letters and digits, joined by single '-' or '_'",
        );
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-27: names are trimmed, bounded, free of control characters, in any script.
    #[test]
    fn names_are_validated_once() {
        assert_eq!(" goroutine原理 ".parse::<PageName>().unwrap().as_str(), "goroutine原理");
        assert!("界".repeat(200).parse::<PageName>().is_ok());
        for bad in ["", "  ", "a\nb", "a\u{7}b", "\u{200b}\u{feff}", &"x".repeat(201)] {
            assert!(bad.parse::<PageName>().is_err(), "{bad:?}");
        }
        assert!("line one\nline two".parse::<Description>().is_ok());
        assert!("x".repeat(2_001).parse::<Description>().is_err());
    }

    #[test]
    fn names_from_text_are_always_valid() {
        assert_eq!(
            PageName::from_first_line("\n  hello\tworld \nmore", "x").as_str(),
            "hello world"
        );
        assert_eq!(PageName::from_first_line(" \n ", "untitled").as_str(), "untitled");
        let long = PageName::from_first_line(&"字".repeat(500), "x");
        assert_eq!(long.as_str().chars().count(), 81);
    }

    #[test]
    fn agent_names_follow_their_pattern() {
        for good in ["a", "code-reviewer", "bug_fixer2"] {
            assert!(good.parse::<AgentName>().is_ok(), "{good}");
        }
        for bad in ["", "A", "-a", "a--b", "a_", "system", "main", "2a", &"a".repeat(49)] {
            assert!(bad.parse::<AgentName>().is_err(), "{bad:?}");
        }
    }
}
