//! Checking and repairing a whole storage: what it holds by itself, and every session in it.

use super::{accept_losses, check_session, repair_session};
use crate::{
    ErrorKind, PageStorage, SessionId, Timestamp,
    storage::{StorageError, StorageResult},
};

/// How many sessions are read at a time.
const BATCH: usize = 100;

/// How often storage and sessions are repaired in turn: what one does may leave work for the other.
const ROUNDS: usize = 4;

/// Whether losses are accepted that somebody must decide about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Losses {
    /// They stay problems.
    Report,
    /// They are accepted: agents run without the system prompts that are lost.
    Accept,
}

/// What came of repairing a storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// What was done, a sentence each.
    pub done: Vec<String>,
    /// What is still wrong.
    pub problems: Vec<String>,
}

/// Returns what is wrong with a storage and all its sessions. Nothing is changed.
pub async fn check_storage(storage: &dyn PageStorage) -> StorageResult<Vec<String>> {
    // The storage itself looks at one moment. Not so a snapshot of it: that need not see its files.
    let mut problems = found(storage.verify().await)?;
    // On a snapshot: what others write meanwhile is no damage.
    let still = match storage.snapshot().await {
        Ok(still) => still,
        Err(error) => {
            problems.extend(found(Err(error))?);
            return Ok(problems);
        }
    };
    let sessions = match sessions(&*still).await {
        Ok(sessions) => sessions,
        Err(error) => {
            problems.extend(found(Err(error))?);
            return Ok(problems);
        }
    };
    for session in sessions {
        let wrong = found(check_session(&*still, &session).await)?;
        problems.extend(wrong.iter().map(|wrong| format!("session {session}: {wrong}")));
    }
    Ok(problems)
}

/// Repairs a storage and all its sessions, until nothing is wrong or nothing more can be done.
pub async fn repair_storage(
    storage: &dyn PageStorage,
    losses: Losses,
    at: Timestamp,
) -> StorageResult<Repaired> {
    let mut repaired = Repaired::default();
    for _ in 0..ROUNDS {
        let before = repaired.done.len();
        let mut beyond = Vec::new();
        match storage.repair().await {
            Ok(told) => repaired.done.extend(told),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                // Where the store itself does not hold, nothing is written to it.
                repaired.problems = vec![error.to_string()];
                return Ok(repaired);
            }
            Err(error) => return Err(error),
        }
        for session in sessions(storage).await? {
            let told = match repair_session(storage, &session, at).await {
                Ok(told) => told,
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    beyond.push(error.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            repaired.done.extend(told.iter().map(|told| format!("session {session}: {told}")));
        }
        if losses == Losses::Accept {
            repaired.done.extend(accept_all(storage, at).await?);
        }
        // The edits just made remember what was there before, lost contents included.
        if repaired.done.len() > before {
            repaired.done.extend(storage.repair().await?);
        }
        beyond.extend(check_storage(storage).await?);
        repaired.problems = beyond;
        if repaired.problems.is_empty() || repaired.done.len() == before {
            break;
        }
    }
    Ok(repaired)
}

/// Accepts the losses of every session that can be read; returns what was done, a sentence each.
pub async fn accept_all(storage: &dyn PageStorage, at: Timestamp) -> StorageResult<Vec<String>> {
    let mut done = Vec::new();
    for session in sessions(storage).await? {
        match accept_losses(storage, &session, at).await {
            Ok(told) => done.extend(told.iter().map(|told| format!("session {session}: {told}"))),
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

async fn sessions(storage: &dyn PageStorage) -> StorageResult<Vec<SessionId>> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let batch = storage.sessions(after.as_ref(), BATCH).await?;
        all.extend(batch.iter().map(|info| info.id.clone()));
        if batch.len() < BATCH {
            return Ok(all);
        }
        after = all.last().cloned();
    }
}

/// Counts damage that stops a check as a problem found.
fn found(checked: StorageResult<Vec<String>>) -> StorageResult<Vec<String>> {
    match checked {
        Err(error @ StorageError::Corrupt { .. }) => Ok(vec![error.to_string()]),
        checked => checked,
    }
}
