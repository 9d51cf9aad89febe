//! The text of a token: `ctx_ID_SECRET`.

use std::{fmt, str::FromStr};

/// What every token begins with, so that scanners for leaked secrets can recognise one.
const PREFIX: &str = "ctx";

/// How many random bytes an id has.
const ID_BYTES: usize = 8;

/// How many random bytes a secret has.
const SECRET_BYTES: usize = 24;

/// Names a token. It is no secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(String);

/// A token as its holder sends it. Its `Debug` form leaves the secret out.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenText {
    id: TokenId,
    secret: String,
}

/// Why a token cannot be made: the system gives no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoRandomness(String);

impl TokenId {
    /// The id of the owner's token.
    pub(crate) fn owner() -> Self {
        Self("owner".to_owned())
    }

    /// Stands for the rights that somebody has who starts a program on this machine.
    pub(crate) fn local() -> Self {
        Self("local".to_owned())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TokenId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        match !text.is_empty() && text.len() <= 32 && text.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err("the id of a token has up to 32 lower-case letters and digits"),
        }
    }
}

impl TokenText {
    /// Makes a token that cannot be guessed.
    pub fn random() -> Result<Self, NoRandomness> {
        Ok(Self { id: TokenId(random(ID_BYTES)?), secret: random(SECRET_BYTES)? })
    }

    /// Makes an owner's token that cannot be guessed.
    pub(crate) fn random_owner() -> Result<Self, NoRandomness> {
        Ok(Self { id: TokenId::owner(), secret: random(SECRET_BYTES)? })
    }

    /// Returns its id.
    pub fn id(&self) -> &TokenId {
        &self.id
    }

    /// Returns the hash of its secret. Comparing two hashes takes the same time wherever they differ.
    pub(crate) fn hash(&self) -> blake3::Hash {
        blake3::hash(self.secret.as_bytes())
    }
}

impl fmt::Display for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}_{}_{}", self.id, self.secret)
    }
}

impl fmt::Debug for TokenText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}_{}_…", self.id)
    }
}

impl FromStr for TokenText {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "a token is written ctx_ID_SECRET";
        let mut parts = text.split('_');
        let (Some(PREFIX), Some(id), Some(secret), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(WRONG);
        };
        let is_secret =
            (16..=128).contains(&secret.len()) && secret.chars().all(|c| c.is_ascii_alphanumeric());
        match is_secret {
            true => Ok(Self { id: id.parse()?, secret: secret.to_owned() }),
            false => Err(WRONG),
        }
    }
}

fn random(bytes: usize) -> Result<String, NoRandomness> {
    let mut buffer = vec![0; bytes];
    getrandom::fill(&mut buffer).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_is_written_and_shows_no_secret() {
        let token = TokenText::random().unwrap();
        let text = token.to_string();
        assert_eq!(text.parse(), Ok(token.clone()));
        let secret = text.rsplit('_').next().unwrap();
        assert!(!format!("{token:?}").contains(secret));
        for wrong in [
            "",
            "ctx",
            "ctx_a",
            "ctx_a_",
            "ctx_A_0123456789abcdef",
            "ctx_a_b_0123456789abcdef",
            "ctx_a_0123456789abcde\u{e9}",
            "key_a_0123456789abcdef",
        ] {
            assert!(wrong.parse::<TokenText>().is_err(), "{wrong}");
        }
    }
}
