//! How a server proves that it knows the owner's token before a program sends it the token.
//!
//! The port of a server that was killed may belong to any other program by now. So a program asks first, and
//! sends the token only on a connection whose other end has proved that it knows it already.

use super::{OwnerToken, TokenText};
use crate::{Result, ServerError};

/// What the proof is about, so that no other hash can stand in for it.
const PURPOSE: &str = "contexture: the server of this store";

/// A question that only somebody who knows the owner's token can answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge(String);

impl Challenge {
    /// Makes a question that was never asked before.
    pub fn random() -> Result<Self> {
        let random = TokenText::random().map_err(|error| {
            ServerError::unavailable(error.to_string(), "try again, or restart the machine")
        })?;
        Ok(Self(random.hash().to_hex().to_string()))
    }

    /// Returns the question as it is sent.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether an answer comes from somebody who knows the owner's token.
    pub fn is_met(&self, owner: &OwnerToken, proof: &str) -> bool {
        // Comparing hashes of this type takes the same time wherever they differ.
        let wanted = prove(&owner.text().hash(), &self.0);
        blake3::Hash::from_hex(proof).is_ok_and(|proof| proof == wanted)
    }
}

/// Answers a question with the hash of the owner's token, from which nobody learns either.
pub(crate) fn prove(owner: &blake3::Hash, challenge: &str) -> blake3::Hash {
    blake3::keyed_hash(owner.as_bytes(), format!("{PURPOSE}\n{challenge}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owners_token_meets_a_challenge() {
        let (owner, other) = (OwnerToken::random().unwrap(), OwnerToken::random().unwrap());
        let (asked, later) = (Challenge::random().unwrap(), Challenge::random().unwrap());
        let proof = prove(&owner.text().hash(), asked.as_str()).to_hex();
        assert!(asked.is_met(&owner, &proof));
        assert!(!later.is_met(&owner, &proof), "an old answer answers nothing");
        assert!(!asked.is_met(&other, &proof));
        for wrong in ["", "0", asked.as_str(), &owner.text().hash().to_hex()] {
            assert!(!asked.is_met(&owner, wrong), "{wrong}");
        }
    }
}
