//! Tokens for users and agents: records of their session.
//!
//! A record holds the hash of the secret and never the secret. It is a run record of the session: outside
//! the history, so that no undo brings a revoked token back, and in no export. Every process reads it at
//! every request, so a token that is revoked anywhere is refused by the next request everywhere.

use contexture_core::{
    Actor, ContextSystem, PageStorage, SessionId, Timestamp,
    storage::{RunKey, RunPut, RunRecord},
};
use serde::{Deserialize, Serialize};

use super::{Caller, TokenId, TokenText};
use crate::{Result, ServerError};

/// What the keys of these records begin with.
const PREFIX: &str = "token.";

/// The longest label.
const LABEL: usize = 200;

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// The hash of its secret, as hexadecimal digits.
    hash: String,
    /// Who its holder is.
    actor: Actor,
    /// When it was made.
    created_at: Timestamp,
    /// From when on it is refused; none for a token that lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    /// What its maker calls it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    label: String,
}

/// A token as it is listed. It holds nothing of the secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenObject {
    /// Its id, by which it is revoked.
    pub id: String,
    /// Who its holder is: an agent's name, or user:NAME.
    pub holder: Actor,
    /// What its maker calls it.
    pub label: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is refused; none for a token that lasts.
    pub expires_at: Option<Timestamp>,
    /// Whether it is refused because its time is over.
    pub expired: bool,
    /// The token itself, which is shown only once: when it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// How long a token is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is revoked.
    UntilRevoked,
    /// So many seconds.
    Seconds(u64),
}

/// A token to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// Who its holder is: a user or an agent.
    pub holder: Actor,
    /// What its maker calls it.
    pub label: String,
    /// How long it is valid.
    pub lifetime: Lifetime,
}

/// The tokens of one session.
#[derive(Debug, Clone)]
pub struct Tokens {
    system: ContextSystem,
}

impl Tokens {
    /// Looks at a session's tokens.
    pub fn of(system: ContextSystem) -> Self {
        Self { system }
    }

    /// Makes a token; its text is in the object that is returned, and nowhere else.
    pub async fn create(&self, new: NewToken) -> Result<TokenObject> {
        if new.holder == Actor::System {
            return Err(ServerError::invalid(
                "a token needs a holder: an agent or a user",
                "name one; the owner's token stands for the system side",
            ));
        }
        let label = new.label.trim();
        if label.chars().count() > LABEL || label.chars().any(char::is_control) {
            return Err(ServerError::invalid(
                "invalid label: it must have at most 200 characters and no control characters",
                "choose a shorter label on one line",
            ));
        }
        let now = self.system.now();
        let expires_at = match new.lifetime {
            Lifetime::UntilRevoked => None,
            Lifetime::Seconds(seconds) => {
                let millis = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000);
                Some(Timestamp::from_millis(now.as_millis().saturating_add(millis)))
            }
        };
        let token = TokenText::random().map_err(|error| {
            ServerError::unavailable(error.to_string(), "try again, or restart the machine")
        })?;
        let record = TokenRecord {
            hash: token.hash().to_hex().to_string(),
            actor: new.holder,
            created_at: now,
            expires_at,
            label: label.to_owned(),
        };
        let value = serde_json::to_string(&record).expect("a record has only string keys");
        self.system.keep_run(&RunPut::first(key(token.id()), value, now)).await?;
        Ok(TokenObject { token: Some(token.to_string()), ..record.object(token.id(), now) })
    }

    /// Lists the tokens, oldest first.
    pub async fn list(&self) -> Result<Vec<TokenObject>> {
        let now = self.system.now();
        let records = self.system.runs(PREFIX).await?;
        let mut tokens: Vec<TokenObject> = records
            .iter()
            .filter_map(|record| Some(read(record)?.object(&id(record)?, now)))
            .collect();
        tokens.sort_by(|one, other| (one.created_at, &one.id).cmp(&(other.created_at, &other.id)));
        Ok(tokens)
    }

    /// Revokes a token: every process refuses it from its next request on. Returns what it was.
    pub async fn revoke(&self, token: &TokenId) -> Result<TokenObject> {
        let now = self.system.now();
        let records = self.system.runs(key(token).as_str()).await?;
        let found = records.iter().find(|record| record.key == key(token));
        let Some((record, read)) = found.and_then(|record| Some((record, read(record)?))) else {
            return Err(ServerError::not_found(
                format!("token {token} not found in this session"),
                "`contexture token list` and GET /tokens show the tokens",
            ));
        };
        self.system.keep_run(&record.removal(now)).await?;
        Ok(read.object(token, now))
    }
}

impl TokenRecord {
    fn object(&self, id: &TokenId, now: Timestamp) -> TokenObject {
        TokenObject {
            id: id.to_string(),
            holder: self.actor.clone(),
            label: self.label.clone(),
            created_at: self.created_at,
            expires_at: self.expires_at,
            expired: self.is_expired(now),
            token: None,
        }
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }

    /// Returns whether a token is the one that was recorded, and still valid.
    fn admits(&self, token: &TokenText, now: Timestamp) -> bool {
        // Comparing hashes of this type takes the same time wherever they differ.
        let kept = blake3::Hash::from_hex(&self.hash);
        let is_same = kept.is_ok_and(|kept| kept == token.hash());
        is_same && !self.is_expired(now) && self.actor != Actor::System
    }
}

/// Returns whose token it is, if it is valid in a session. A session that does not exist has no tokens.
pub(crate) async fn holder(
    storage: &dyn PageStorage,
    session: &SessionId,
    token: &TokenText,
    now: Timestamp,
) -> Result<Option<Caller>> {
    let record = find(storage, session, token.id()).await?;
    Ok(record.filter(|record| record.admits(token, now)).map(|record| Caller::Member {
        session: session.clone(),
        token: token.id().clone(),
        actor: record.actor,
    }))
}

/// Returns who the holder of a token is, if it was neither revoked nor has expired.
pub(crate) async fn still_held_by(
    storage: &dyn PageStorage,
    session: &SessionId,
    token: &TokenId,
    now: Timestamp,
) -> Result<Option<Actor>> {
    let record = find(storage, session, token).await?;
    Ok(record.filter(|record| !record.is_expired(now)).map(|record| record.actor))
}

async fn find(
    storage: &dyn PageStorage,
    session: &SessionId,
    token: &TokenId,
) -> Result<Option<TokenRecord>> {
    let key = key(token);
    let records = storage.runs(session, key.as_str()).await?;
    Ok(records.iter().find(|record| record.key == key).and_then(read))
}

fn key(id: &TokenId) -> RunKey {
    format!("{PREFIX}{id}").parse().expect("it is short and plain")
}

fn id(record: &RunRecord) -> Option<TokenId> {
    record.key.as_str().strip_prefix(PREFIX)?.parse().ok()
}

fn read(record: &RunRecord) -> Option<TokenRecord> {
    serde_json::from_str(&record.value).ok()
}
